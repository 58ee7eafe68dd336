"""DeBERTa (He, Liu, Gao & Chen 2020, arXiv:2006.03654). Differs from BERT in: a word's content and its place are told
apart in every layer's attention, and absolute places come in only before the softmax of the masked tokens.

This is the first version. The released code departs from the paper: the index of the third term is δ(i, j), as in the
second, where the paper prints δ(j, i) (`printed_index`). Keys have no bias, positions as queries have one; the authors'
later repository has biases everywhere (`key_bias`). It puts zeros at padding and lets it attend to nothing; no real
token sees it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from ..layers import (
    Head,
    MaskedLM,
    MultiHeadAttention,
    Output,
    QuestionAnswering,
    Run,
    SequenceClassification,
    TokenClassification,
    activation,
    by_key,
    distances,
)
from ..patterns import Grid
from .base import Model
from .bert import LARGE, Bert, BertConfig
from .transformer import EncoderLayer

__all__ = ["Deberta", "DebertaConfig", "DebertaEmbeddings", "DebertaLayer", "DisentangledAttention"]


@dataclass(frozen=True, kw_only=True)
class DebertaConfig(BertConfig):
    """DeBERTa's sizes; the defaults are deberta-base's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "deberta-base": {},
        "deberta-large": LARGE,
        "deberta-xlarge": {**LARGE, "num_hidden_layers": 48},
    }

    vocab_size: int = 50265
    type_vocab_size: int = 0
    layer_norm_eps: float = 1e-7
    embedding_size: int = 0                         # E; 0: hidden_size
    relative_attention: bool = True
    pos_att_type: Sequence[str] = ("c2p", "p2c")    # also "c2p|p2c"
    max_relative_positions: int = -1                # k; below 1: max_position_embeddings
    position_biased_input: bool = False             # absolute places at the input too, as BERT has them
    printed_index: bool = False
    key_bias: bool = False
    pooler_hidden_act: str = "gelu"
    pooler_dropout: float = 0.0

    def __post_init__(self) -> None:
        kinds = self.pos_att_type.split("|") if isinstance(self.pos_att_type, str) else self.pos_att_type
        object.__setattr__(self, "pos_att_type", tuple(kind.strip().lower() for kind in kinds or () if kind))
        object.__setattr__(self, "embedding_size", self.embedding_size or self.hidden_size)
        super().__post_init__()
        self.check("pos_att_type", {*self.pos_att_type} <= {"c2p", "p2c"}, "some of c2p and p2c")
        self.check("embedding_size", self.embedding_size >= 1, "at least 1")
        activation(self.pooler_hidden_act)

    @property
    def span(self) -> int:
        """k: distances beyond it are all alike."""
        return self.max_relative_positions if self.max_relative_positions >= 1 else self.max_position_embeddings


class DebertaEmbeddings(nn.Module):
    """h_0 = dropout(LN(W E_token)); W only where E ≠ H, places and segments only where they are asked for."""

    def __init__(self, c: DebertaConfig, places: bool) -> None:
        super().__init__()
        E, H = c.embedding_size, c.hidden_size
        self.token = nn.Embedding(c.vocab_size, E, padding_idx=c.pad_token_id)
        self.position = nn.Embedding(c.max_position_embeddings, E) if places else None
        self.segment = nn.Embedding(c.type_vocab_size, E) if c.type_vocab_size else None
        self.projection = nn.Linear(E, H, bias=False) if E != H else nn.Identity()
        self.norm, self.dropout = nn.LayerNorm(H, c.layer_norm_eps), nn.Dropout(c.hidden_dropout_prob)
        self.biased = c.position_biased_input

    def forward(self, tokens: Tensor, position_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        """Embedded tokens (B, T, E), places and segments (B, T) -> (B, T, H)."""
        if self.biased and self.position is not None:
            tokens = tokens + self.position(position_ids)
        if self.segment is not None:
            tokens = tokens + self.segment(token_type_ids)
        return self.dropout(self.norm(self.projection(tokens)))


class DisentangledAttention(MultiHeadAttention):
    """softmax(Ã / √(c D)) V, c the number of terms: Ã_ij = Q_i·K_j + Q_i·K^r_δ(i,j) + K_j·Q^r_δ(i,j) (eq. 2 to 4)."""

    def __init__(self, c: DebertaConfig) -> None:
        H, kinds = c.hidden_size, c.pos_att_type if c.relative_attention else ()
        super().__init__(H, c.num_attention_heads, c.attention_probs_dropout_prob)
        self.key = nn.Linear(H, H, bias=c.key_bias)
        self.position_key = nn.Linear(H, H, bias=c.key_bias) if "c2p" in kinds else None
        self.position_query = nn.Linear(H, H) if "p2c" in kinds else None
        self.position_dropout = nn.Dropout(c.hidden_dropout_prob)
        self.scale, self.span, self.printed = (1 + len(c.pos_att_type)) ** -0.5, c.span, c.printed_index

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # distances have a table
        self, x: Tensor, grid: Grid, run: Run, table: Tensor | None, memory: Tensor | None = None
    ) -> Tensor:
        """x (B, T, H) and a table (2k, H) of distances -> (B, T, H); keys from `memory` (B, S, H), else from x."""
        q = self.split(self.query(x)) * self.scale
        k, v = self.keys(x if memory is None else memory)
        bias = None if table is None else self.by_place(q, k, self.position_dropout(table))
        return self.output(self.merge(self.attend(q, k, v, grid, run, bias)))

    def by_place(self, q: Tensor, k: Tensor, table: Tensor) -> Tensor | None:
        """The second and third term (B, N, T, S), scaled: a product with every distance's row, then the shift."""
        T, S = q.shape[2], k.shape[2]
        terms: Any = []
        if self.position_key is not None:
            far = distances(T, S, device=table.device)                                          # (T + S,)
            rows = self.split(self.position_key(table[self.index(far)])[None])                  # (1, N, T + S, D)
            terms.append(by_key(q @ rows.mT, S))
        if self.position_query is not None:
            far = distances(S, T, device=table.device)              # j - i: the rows are keys, the columns queries
            rows = self.split(self.position_query(table[self.index(far if self.printed else -far)])[None]) * self.scale
            terms.append(by_key(k @ rows.mT, T).mT)
        total: Any = sum(terms)
        return total / math.sqrt(q.shape[-1]) if terms else None

    def index(self, distance: Tensor) -> Tensor:
        """δ: 0 up to -k, 2k - 1 from k on, between them distance + k (eq. 3)."""
        return (distance + self.span).clamp(0, 2 * self.span - 1)


class DebertaLayer(EncoderLayer):
    """The Transformer's, with disentangled attention."""

    @staticmethod
    def attend(c: DebertaConfig) -> DisentangledAttention:  # pyright: ignore[reportIncompatibleMethodOverride]
        return DisentangledAttention(c)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # distances have a table
        self, x: Tensor, grid: Grid, run: Run, table: Tensor | None, memory: Tensor | None = None
    ) -> Tensor:
        return self.feed_forward(self.attention(x, grid, run, table, memory))


class ContextClassification(SequenceClassification):
    """W act(U h_1 + b) + c: its own layer over the first token in the pooler's place; labels as there."""

    pooled = False

    def __init__(self, c: DebertaConfig, hidden: int, classes: int, dropout: float) -> None:
        super().__init__(hidden, classes, dropout)
        self.pooler, self.act = nn.Linear(hidden, hidden), activation(c.pooler_hidden_act)
        self.pooler_dropout = nn.Dropout(c.pooler_dropout)

    def summary(self, output: Output) -> Tensor:
        return self.act(self.pooler(self.pooler_dropout(output.last_hidden_state[:, 0])))


class EnhancedMaskedLM(MaskedLM):
    """The masked tokens from the enhanced mask decoder's states (section 3.2), which `Deberta.walk` makes."""


class Deberta(Bert):
    """The encoder; with the head EnhancedMaskedLM its last layer works as the decoder (one more of `attentions`)."""

    config: DebertaConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
    Layer = DebertaLayer
    has_pooler = False
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        "MaskedLM": lambda deberta: deberta.masked_lm(),
        "EnhancedMaskedLM": lambda deberta: deberta.masked_lm(EnhancedMaskedLM),
        "SequenceClassification": lambda deberta: ContextClassification(deberta.config, *deberta.classifier()),
        "TokenClassification": lambda deberta: TokenClassification(*deberta.classifier()),
        "QuestionAnswering": lambda deberta: QuestionAnswering(deberta.config.hidden_size),
    }

    def __init__(self, config: DebertaConfig, head: str | None = None) -> None:
        Model.__init__(self, config)
        self.embeddings = DebertaEmbeddings(config, config.position_biased_input or head == "EnhancedMaskedLM")
        self.relative = nn.Embedding(2 * config.span, config.hidden_size) if config.relative_attention else None
        self.layers = self.own_layers()
        self.finish(head)

    def masked_lm(self, kind: type[MaskedLM] = MaskedLM) -> MaskedLM:
        c = self.config
        return kind(c.hidden_size, self.embeddings.token, c.hidden_act, c.layer_norm_eps, c.tie_word_embeddings)

    def walk(self, x: Tensor, grids: Sequence[Grid], run: Run) -> list[Tensor]:
        table, states = None if self.relative is None else self.relative.weight, [x]
        decodes = isinstance(self.head, EnhancedMaskedLM) and not self.config.position_biased_input
        for layer, grid in zip(self.layers[: -1 if decodes else None], grids, strict=False):
            states.append(layer(states[-1], grid, run, table))
        return [*states, self.decode(states[-1], grids[-1], run, table)] if decodes else states

    def decode(self, h: Tensor, grid: Grid, run: Run, table: Tensor | None) -> Tensor:
        """h (B, T, H) of layer L - 1 -> (B, T, H): the last layer twice. Its queries begin as places and h; keys and
        values are of h both times (released code; section 3.2 leaves the number of layers open).
        """
        query = h + self.embeddings.projection(self.embeddings.position(run.places))
        for _ in range(2):
            query = self.layers[-1](query, grid, run, table, h)
        return query
