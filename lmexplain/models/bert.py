"""BERT (Devlin et al. 2019, arXiv:1810.04805). Differs from the Transformer's encoder (Vaswani et al. 2017) in:
learned positions, segment embeddings, a norm and dropout after the embeddings, GELU, and heads for its two objectives.

Whole-word masking (google-research/bert, May 2019; Cui et al. 2019) is this model: it changes what is hidden, not the
network. The pooler, the cloze head's transform and ε = 1e-12 are the released code's; the paper is silent on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..layers import (
    Head,
    MaskedLM,
    MultipleChoice,
    NextSentence,
    Output,
    PreTraining,
    QuestionAnswering,
    Run,
    SequenceClassification,
    TokenClassification,
)
from ..patterns import Pattern
from .base import AttentionConfig, Model
from .inputs import check_ids, shape_of
from .transformer import EncoderLayer

__all__ = ["LARGE", "Bert", "BertConfig", "BertEmbeddings"]

#: What the large sizes of this family share.
LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}


@dataclass(frozen=True, kw_only=True)
class BertConfig(AttentionConfig):
    """BERT's sizes; the defaults are bert-base-uncased's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "bert-base-uncased": {},
        "bert-base-cased": {"vocab_size": 28996},
        "bert-base-chinese": {"vocab_size": 21128},
        "bert-large-uncased": LARGE,
        "bert-large-cased": {**LARGE, "vocab_size": 28996},
        "bert-large-uncased-whole-word-masking": LARGE,
        "bert-large-cased-whole-word-masking": {**LARGE, "vocab_size": 28996},
        "chinese-bert-wwm": {"vocab_size": 21128},
        "chinese-bert-wwm-ext": {"vocab_size": 21128},
    }

    type_vocab_size: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("type_vocab_size", self.type_vocab_size >= 0, "at least 0")


class BertEmbeddings(nn.Module):
    """h_0 = dropout(LN(E_token + E_position + E_segment)) (figure 2)."""

    def __init__(self, config: BertConfig, width: int | None = None) -> None:
        super().__init__()
        H = width or config.hidden_size
        self.token = nn.Embedding(config.vocab_size, H, padding_idx=config.pad_token_id)
        self.position = nn.Embedding(config.max_position_embeddings, H)
        self.segment = nn.Embedding(config.type_vocab_size, H)
        self.norm, self.dropout = nn.LayerNorm(H, config.layer_norm_eps), nn.Dropout(config.hidden_dropout_prob)

    def forward(self, tokens: Tensor, position_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        """Embedded tokens (B, T, H), places and segments (B, T) -> (B, T, H)."""
        return self.dropout(self.norm(tokens + self.segment(token_type_ids) + self.position(position_ids)))


class Bert(Model):
    """The encoder, and the heads of its objectives and of fine-tuning (section 3)."""

    config: BertConfig
    Embeddings: ClassVar[type[Any]] = BertEmbeddings
    Layer: ClassVar[type[Any]] = EncoderLayer
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        "PreTraining": lambda bert: PreTraining(bert.masked_lm(), NextSentence(bert.config.hidden_size)),
        "MaskedLM": lambda bert: bert.masked_lm(),
        "NextSentencePrediction": lambda bert: NextSentence(bert.config.hidden_size),
        "SequenceClassification": lambda bert: SequenceClassification(*bert.classifier()),
        "MultipleChoice": lambda bert: MultipleChoice(bert.config.hidden_size, bert.classifier()[-1]),
        "TokenClassification": lambda bert: TokenClassification(*bert.classifier()),
        "QuestionAnswering": lambda bert: QuestionAnswering(bert.config.hidden_size),
    }

    def __init__(self, config: BertConfig, head: str | None = None, pooler: bool | None = None) -> None:
        super().__init__(config)
        self.embeddings = self.Embeddings(config)
        self.layers = self.own_layers()
        self.finish(head, pooler)

    def own_layers(self) -> nn.ModuleList:
        """The layers that have weights of their own."""
        return nn.ModuleList(self.Layer(self.config) for _ in range(self.config.num_hidden_layers))

    def masked_lm(self) -> MaskedLM:
        c = self.config
        return MaskedLM(c.hidden_size, self.embeddings.token, c.hidden_act, c.layer_norm_eps, c.tie_word_embeddings)

    def position_ids(self, input_ids: Tensor | None, T: int) -> Tensor:
        """(1, T): 0, 1, 2 …, or (B, T) where they depend on the tokens."""
        return torch.arange(T, device=self.embeddings.token.weight.device)[None]

    def told(self, given: dict[str, Any], shape: tuple[int, int], run: Run) -> tuple[Tensor, ...]:
        """What the embeddings get beside tokens, places and segments; taken out of what was `given`, and looked at."""
        return ()

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None, position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None, *, pattern: Pattern | Sequence[Pattern] | None = None,
        output_attentions: bool = False, **targets: Tensor | None,
    ) -> Output:  # fmt: skip
        """Token ids (B, T), or embedded tokens (B, T, H) in their place -> `Output`.

        attention_mask: (B, T), 1 or True at real tokens. token_type_ids: (B, T) segments, 0 where not given.
        pattern: who may attend to whom, for all layers or one for each, instead of the model's own.
        labels and other targets: as the head takes them. Raises ValueError or TypeError before any compute.
        """
        c, shape = self.config, shape_of(input_ids, inputs_embeds, self.embeddings.token.embedding_dim)
        B, T = shape
        run = Run(weights=output_attentions)
        more = self.told(targets, shape, run)
        if input_ids is not None:
            check_ids("input_ids", input_ids, c.vocab_size, shape, "encode the text with the model's own vocabulary")
        places = self.position_ids(input_ids, T) if position_ids is None else position_ids
        rows = 2**31 if self.embeddings.position is None else c.max_position_embeddings
        check_ids("position_ids", places, rows, shape, "the position table ends there: shorten the input")
        segments = torch.zeros_like(places) if token_type_ids is None else token_type_ids
        check_ids("token_type_ids", segments, max(c.type_vocab_size, 1), shape, "number the segments from 0")
        self.check_targets(shape, targets)
        real = self.real(attention_mask, shape)
        grids = self.grids(T, real=real, pattern=pattern)

        tokens = self.embeddings.token(input_ids) if inputs_embeds is None else inputs_embeds    # (B, T, H)
        run.places, run.own = places, pattern is None
        states = self.walk(self.embeddings(tokens, places, segments, *more), grids, run)
        return self.answer(states, grids, run, **targets)
