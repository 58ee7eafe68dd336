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
from ..patterns import Pattern, unilm
from .bert import LARGE, Bert, BertConfig
from .inputs import check_ids, real_tokens, shape_of

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
    def write(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, *, mask_token_id: int, eos_token_id: int,
        max_new_tokens: int, use_cache: bool = True,
    ) -> Tensor:  # fmt: skip
        """Sources (B, S), [CLS] … [SEP], padded on the right -> the likeliest targets (B, up to max_new_tokens).

        Each step appends [MASK], predicts there and runs again with the chosen token in its place: the states of [MASK]
        are never kept. The target's places go on from the source's last token. After [SEP] (`eos_token_id`) a target is
        filled with padding. `use_cache=False` computes all anew at each step.
        Raises ValueError without a MaskedLM head, with padding on the left, and for more tokens than places.
        """
        c, shape = self.config, shape_of(input_ids, None, self.config.hidden_size)
        B, S = shape
        if not isinstance(self.head, MaskedLM):
            raise ValueError(f"writing reads [MASK]: the head must be MaskedLM, not {self.head_name}")
        check_ids("input_ids", input_ids, c.vocab_size, shape, "encode the text with the model's own vocabulary")
        real = real_tokens(attention_mask, shape)
        real = torch.ones(shape, dtype=torch.bool, device=input_ids.device) if real is None else real
        lengths = real.sum(1)
        if bool((real != (torch.arange(S, device=real.device) < lengths[:, None])).any()):
            raise ValueError("attention_mask has padding before a source's last token; pad sources on the right")
        if int(lengths.max()) + max_new_tokens > c.max_position_embeddings:
            raise ValueError(
                f"{int(lengths.max())} source tokens and {max_new_tokens} new ones are more than the "
                f"{c.max_position_embeddings} places; lower max_new_tokens or shorten the source"
            )
        pattern, done = unilm("sequence-to-sequence", lengths), torch.zeros(B, 1, dtype=torch.bool, device=real.device)
        ids, past = torch.cat([input_ids, input_ids.new_full((B, 1), mask_token_id)], dim=1), None
        for _ in range(max_new_tokens):
            ahead = past[0][0].shape[2] if past else 0                          # states kept, all of chosen tokens
            states, kept = self.step(ids[:, ahead:], S, lengths, real, pattern, past)
            chosen = self.head.scores(states[:, -1:]).argmax(-1).masked_fill(done, c.pad_token_id or 0)
            done = done | (chosen == eos_token_id)
            ids = torch.cat([ids[:, :-1], chosen, ids[:, -1:]], dim=1)
            if use_cache:
                past = [(k[:, :, :-1], v[:, :, :-1]) for k, v in kept]           # without [MASK]
            if bool(done.all()):
                break
        return ids[:, S:-1]

    def step(
        self, ids: Tensor, S: int, lengths: Tensor, real: Tensor, pattern: Pattern, past: Sequence[KeyValue] | None
    ) -> tuple[Tensor, list[KeyValue]]:
        """The last tokens of source and target (B, T), behind the cached ones -> their states, all keys and values."""
        T, ahead = ids.shape[1], past[0][0].shape[2] if past else 0
        index = torch.arange(ahead, ahead + T, device=ids.device).expand(len(ids), T)
        target = index >= S
        places = torch.where(target, index - S + lengths[:, None], index * (index < lengths[:, None]))
        segments = torch.where(target, *reversed(SEGMENTS["sequence-to-sequence"]))
        keys = torch.cat([real, real.new_ones(len(ids), ahead + T - S)], dim=1)
        grids = self.grids(T, ahead + T, keys, pattern)
        run = Run(past, keep=True)
        states = self.walk(self.embeddings(self.embeddings.token(ids), places, segments), grids, run)
        return states[-1], run.present or []
