"""UniLM v1 (Dong et al. 2019, arXiv:1905.03197). Differs from BERT in: four settings of one Transformer, told apart by
who may attend to whom (eq. 2 and 3) and by their segments; each predicts [MASK] tokens, so it writes by reading one.

The network is BERT-large cased; a setting comes in through `pattern=` and `token_type_ids`, as `setting` gives them.
Released code: ε = 1e-5; segments 0 and 1 are two-sided, 2 left-to-right, 3 right-to-left, 4 and 5 source and target,
begun as copies of BERT's two; keys have no bias (which softmax cancels: a query's scores all move alike).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from ..layers import KeyValue, MaskedLM, Run
from ..patterns import unilm
from .bert import LARGE, Bert, BertConfig
from .generation import positions
from .inputs import check_asked, check_ids, real_tokens, shape_of

__all__ = ["SEGMENTS", "UniLm", "UniLmConfig", "setting"]

#: Segments by setting: of the first part and of the second.
SEGMENTS = {"bidirectional": (0, 1), "left-to-right": (2, 2), "right-to-left": (3, 3), "sequence-to-sequence": (4, 5)}


@dataclass(frozen=True, kw_only=True)
class UniLmConfig(BertConfig):
    """UniLM's sizes; the defaults are unilm1-base-cased's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"unilm1-base-cased": {}, "unilm1-large-cased": LARGE}

    vocab_size: int = 28996
    type_vocab_size: int = 6
    layer_norm_eps: float = 1e-5


def setting(name: str, length: int, first: Tensor | Sequence[int] | int | None = None) -> dict[str, Any]:
    """`pattern` and `token_type_ids` (B, T) of a setting (section 2.3), for texts of `length`.

    first: the length of the first segment, [CLS] and [SEP] in it: one, or one per sample. Two settings have two
    segments: the sequence-to-sequence one needs it; without it a two-sided text is of one.
    """
    pattern = unilm(name, first if name == "sequence-to-sequence" else None)
    ends = torch.as_tensor(length if first is None else first).reshape(-1, 1)
    if not bool(((ends >= 1) & (ends <= length)).all()):
        raise ValueError(f"first is {first}; the first segment holds 1 to all {length} of the tokens")
    a, b = SEGMENTS[name]
    return {"pattern": pattern, "token_type_ids": torch.where(torch.arange(length) < ends, a, b)}


class UniLm(Bert):
    """BERT under a setting's pattern, and its way of writing."""

    config: UniLmConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class

    @classmethod
    def from_bert(cls, bert: Bert) -> Self:
        """UniLM before its training: this BERT, its segments copied: 0 for all but the target's, which is 1."""
        values = {field.name: getattr(bert.config, field.name) for field in fields(bert.config)}
        config = UniLmConfig(**{**values, "type_vocab_size": 6, "layer_norm_eps": UniLmConfig.layer_norm_eps})
        model = cls(config, bert.head_name, bert.pooler is not None).to(bert.embeddings.token.weight)
        state = bert.state_dict()
        table = state["embeddings.segment.weight"]
        model.load_state_dict({**state, "embeddings.segment.weight": table[[0, 1, 0, 0, 0, 1]]})
        return model.train(bert.training)

    @torch.no_grad()
    def generate(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, *, mask_token_id: int, max_new_tokens: int = 20,
        eos_token_id: int | None = None, use_cache: bool = True,
    ) -> Tensor:  # fmt: skip
        """Sources (B, S), [CLS] … [SEP] -> (B, S + at most `max_new_tokens`), the sources and the likeliest targets.

        Each step appends [MASK], predicts there and runs again with the chosen token in its place: of [MASK] nothing is
        kept. Sources may be padded on either side; places count real tokens alone. A target ends at `eos_token_id`,
        [SEP], and is then filled with padding. `use_cache=False` computes all anew for each token.
        Raises ValueError before any compute, where the text would outgrow the position table among others.
        """
        c, shape = self.config, shape_of(input_ids, None, self.config.hidden_size)
        B, S = shape
        check_ids("input_ids", input_ids, c.vocab_size, shape, "encode the text with the model's own vocabulary")
        check_asked(max_new_tokens, c.vocab_size, mask_token_id=mask_token_id, eos_token_id=eos_token_id)
        real = real_tokens(attention_mask, shape)
        real = torch.ones_like(input_ids, dtype=torch.bool) if real is None else real
        if not isinstance(self.head, MaskedLM):
            raise ValueError(f'UniLM writes by reading [MASK]: it needs head "MaskedLM", not {self.head_name}')
        if self.training:
            raise ValueError("the model is in training mode, where dropout makes every text another; call model.eval()")
        longest = int(real.sum(1).max())
        if longest + max_new_tokens > c.max_position_embeddings:
            raise ValueError(
                f"max_new_tokens is {max_new_tokens} after a source of {longest} tokens; ask for no more in all than "
                f"the {c.max_position_embeddings} places"
            )
        pad = next((x for x in (c.pad_token_id, eos_token_id) if x is not None), 0)
        tokens, past, ended = input_ids.long(), None, torch.zeros_like(real[:, :1])
        mask = tokens.new_full((B, 1), mask_token_id)
        for _ in range(max_new_tokens):
            real = torch.cat([real, torch.ones_like(ended)], dim=1)
            cached = past[0][0].shape[2] if past else 0
            states, kept = self.step(torch.cat([tokens[:, cached:], mask], dim=1), real, S, past)
            new = self.head.scores(states[:, -1:]).argmax(-1).masked_fill(ended, pad)       # (B, 1), of [MASK]
            tokens = torch.cat([tokens, new], dim=1)
            past = [(k[:, :, :-1], v[:, :, :-1]) for k, v in kept] if use_cache else None   # without [MASK]
            if eos_token_id is not None:
                ended = ended | (new == eos_token_id)
                if bool(ended.all()):
                    break
        return tokens

    def step(
        self, tokens: Tensor, real: Tensor, source: int, past: Sequence[KeyValue] | None
    ) -> tuple[Tensor, list[KeyValue]]:
        """The last tokens (B, T) of a text that is `real` (B, S) -> their states (B, T, H), and all keys and values."""
        T, S = tokens.shape[1], real.shape[1]
        grids = self.grids(T, S, real, unilm("sequence-to-sequence", source))
        segments = setting("sequence-to-sequence", S, source)["token_type_ids"][:, -T:].to(tokens.device)
        run = Run(past, keep=True)
        x = self.embeddings(self.embeddings.token(tokens), positions(real)[:, -T:], segments)
        return self.walk(x, grids, run)[-1], run.present or []
