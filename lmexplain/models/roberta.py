"""RoBERTa (Liu et al. 2019, arXiv:1907.11692). Differs from BERT in: one segment type, no next-sentence head, positions
that count on from the pad id, ε = 1e-5, and a classification head of its own.

What the paper is about, more data, larger batches and masks drawn anew at each feeding, is not in the network. The
positions, the head and the pooler, which no objective trained, are the released code's; the paper is silent on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..layers import Head, MaskedLM, Output, Pooler, SequenceClassification
from .bert import LARGE, Bert, BertConfig, BertEmbeddings

__all__ = ["Roberta", "RobertaConfig"]


@dataclass(frozen=True, kw_only=True)
class RobertaConfig(BertConfig):
    """RoBERTa's sizes; the defaults are roberta-base's.

    The position table's rows up to the pad id are no token's: 514 serve 512.
    """

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"roberta-base": {}, "roberta-large": LARGE}

    vocab_size: int = 50265
    max_position_embeddings: int = 514
    type_vocab_size: int = 1
    layer_norm_eps: float = 1e-5
    pad_token_id: int | None = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("pad_token_id", self.pad_token_id is not None, "a token: positions count on from it")
        self.check("max_position_embeddings", self.max_position_embeddings > self.first_position,
                   f"more than the {self.first_position} rows up to the pad id")  # fmt: skip

    @property
    def first_position(self) -> int:
        """The row of the position table that a sentence's first token takes."""
        return (self.pad_token_id or 0) + 1


class RobertaEmbeddings(BertEmbeddings):
    """BERT's, with a row for padding in the position table, which learns nothing."""

    def __init__(self, config: RobertaConfig) -> None:
        super().__init__(config)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size, config.pad_token_id)


class RobertaClassification(SequenceClassification):
    """W tanh(U h_<s> + b) + c: its own layer in the pooler's place, dropout on both sides of it; labels as there."""

    pooled = False

    def __init__(self, hidden: int, classes: int, dropout: float) -> None:
        super().__init__(hidden, classes, dropout)
        self.pooler = Pooler(hidden)

    def forward(self, output: Output, labels: Tensor | None = None) -> Output:
        pooled = self.pooler(self.dropout(output.last_hidden_state[:, :1]))                      # (B, H)
        answer = super().forward(replace(output, pooler_output=pooled), labels)
        return replace(answer, pooler_output=output.pooler_output)


class Roberta(Bert):
    """BERT's encoder, trained on masked tokens alone."""

    config: RobertaConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
    Embeddings: ClassVar[type[Any]] = RobertaEmbeddings
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        **{name: head for name, head in Bert.heads.items() if name not in ("PreTraining", "NextSentencePrediction")},
        "SequenceClassification": lambda roberta: RobertaClassification(*roberta.classifier()),
    }

    def masked_lm(self) -> MaskedLM:
        """The transform's activation is GELU, whatever the layers use (released code)."""
        c = self.config
        return MaskedLM(c.hidden_size, self.embeddings.token, "gelu", c.layer_norm_eps, c.tie_word_embeddings)

    def position_ids(self, input_ids: Tensor | None, T: int) -> Tensor:
        """(B, T): pads keep the pad id, real tokens count on from it, wherever the pads stand.

        Of embedded tokens it is not known which are pads: all count.
        """
        first = self.config.first_position
        if input_ids is None:
            return torch.arange(first, first + T, device=self.embeddings.position.weight.device)[None]
        real = input_ids != first - 1
        return first - 1 + real.cumsum(1) * real
