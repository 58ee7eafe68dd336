"""ALBERT (Lan et al. 2019, arXiv:1909.11942). Differs from BERT in: embeddings narrower than the layers, layers that
share their weights, and sentence order in place of the next sentence.

Sharing saves parameters, not compute. Version 2 of the released models changes GELU's form and drops dropout. The
number of heads leaves no trace in the weights: xlarge has 16 here, as in the paper, and 32 in some configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from ..layers import Head, Output, PreTraining, SequenceClassification
from .bert import Bert, BertConfig, BertEmbeddings
from .transformer import EncoderLayer

__all__ = ["Albert", "AlbertConfig"]

_SIZES: dict[str, dict[str, Any]] = {
    "base": {},
    "large": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
    "xlarge": {"hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 8192},
    "xxlarge": {"hidden_size": 4096, "num_attention_heads": 64, "intermediate_size": 16384},
}
_V1 = {"hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}


@dataclass(frozen=True, kw_only=True)
class AlbertConfig(BertConfig):
    """ALBERT's sizes; the defaults are albert-base-v2's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **{f"albert-{size}-v1": {**_V1, **fields} for size, fields in _SIZES.items()},
        "albert-xxlarge-v1": {"hidden_act": "gelu", **_SIZES["xxlarge"]},           # trained without dropout
        **{f"albert-{size}-v2": fields for size, fields in _SIZES.items()},
    }

    vocab_size: int = 30000
    embedding_size: int = 128                   # E
    num_hidden_groups: int = 1                  # G: layers with weights of their own
    inner_group_num: int = 1                    # layers within a group, run one after another
    hidden_act: str = "gelu_new"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    classifier_dropout: float | None = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("embedding_size", "inner_group_num"):
            self.check(name, getattr(self, name) >= 1, "at least 1")
        self.check("num_hidden_groups", 1 <= self.num_hidden_groups <= self.num_hidden_layers,
                   f"1 to the {self.num_hidden_layers} layers")  # fmt: skip


class AlbertEmbeddings(BertEmbeddings):
    """h_0 = W dropout(LN(E_token + E_position + E_segment)) + b: V·E + E·H weights for V·H (section 3.1)."""

    def __init__(self, config: AlbertConfig) -> None:
        super().__init__(config, config.embedding_size)
        self.projection = nn.Linear(config.embedding_size, config.hidden_size)

    def forward(self, tokens: Tensor, position_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        """Embedded tokens (B, T, E), places and segments (B, T) -> (B, T, H)."""
        return self.projection(super().forward(tokens, position_ids, token_type_ids))


class SentenceOrder(PreTraining):
    """Masked tokens, and whether two segments of one document were swapped (section 3.1); the losses add up.

    labels (B, T); sentence_order_label (B,): 0 as in the document, 1 swapped.
    """

    def check(  # pyright: ignore[reportIncompatibleMethodOverride]  # the label's name is another
        self, shape: tuple[int, int], *, labels: Tensor | None = None, sentence_order_label: Tensor | None = None
    ) -> None:
        super().check(shape, labels=labels, next_sentence_label=sentence_order_label)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # the label's name is another
        self, output: Output, labels: Tensor | None = None, sentence_order_label: Tensor | None = None
    ) -> Output:
        return super().forward(output, labels, sentence_order_label)


class Albert(Bert):
    """BERT's encoder with few weights: G groups serve all layers."""

    config: AlbertConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
    Embeddings: ClassVar[type[Any]] = AlbertEmbeddings
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        **{name: head for name, head in Bert.heads.items() if name != "NextSentencePrediction"},
        "PreTraining": lambda albert: SentenceOrder(albert.masked_lm(), albert.order()),
    }

    def order(self) -> SequenceClassification:
        width, _, dropout = self.classifier()
        return SequenceClassification(width, 2, dropout)

    def own_layers(self) -> nn.ModuleList:
        c = self.config
        return nn.ModuleList(
            nn.ModuleList(EncoderLayer(c) for _ in range(c.inner_group_num)) for _ in range(c.num_hidden_groups)
        )

    def stack(self) -> Sequence[nn.Module]:
        """x^(l+1) = f_θ(x^(l)), θ of group ⌊l / (L / G)⌋; if G does not divide L, rounded as the library does."""
        L, G = self.config.num_hidden_layers, self.config.num_hidden_groups
        groups: list[Any] = [self.layers[int(i / (L / G))] for i in range(L)]
        return [layer for group in groups for layer in group]
