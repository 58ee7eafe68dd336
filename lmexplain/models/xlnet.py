"""XLNet (Yang, Dai, Yang, Carbonell, Salakhutdinov & Le 2019, arXiv:1906.08237). Differs from Transformer-XL in:
attention in both directions along a drawn order, a second stream that knows where it is but not what stands there,
segments that are told apart by *same or other*, one table of tokens.

`perm_mask` is inverted, as released: 1 where a token may not be seen. Released code lets a content token see itself
whatever the mask says, counts the memory as segment 0, and, where a query may see nothing, spreads it over all tokens,
its own among them; here it then gets 0. Sinusoids run to both sides; with `bi_data` the second half of a batch reads
backwards. Only positions change their order in the factorization, never in the text (section 2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..layers import (
    Head,
    MultipleChoice,
    Output,
    Prediction,
    QuestionAnswering,
    RelativeAttention,
    Run,
    SequenceClassification,
    TokenClassification,
    scaled,
)
from ..patterns import Grid, Pattern, causal, full, memory, table, window
from ..patterns.given import Permutation
from .base import Model
from .inputs import check_ids, check_mapping, check_mems, check_ones, either_mask, shape_of
from .transformer_xl import RelativeConfig, RelativeLayer, TransformerXl

__all__ = ["XLNet", "XLNetAttention", "XLNetConfig"]


@dataclass(frozen=True, kw_only=True)
class XLNetConfig(RelativeConfig):
    """XLNet's sizes (A.4.1); the defaults are xlnet-large-cased's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "xlnet-base-cased": {
            "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        },
        "xlnet-large-cased": {},
    }  # fmt: skip

    vocab_size: int = 32000
    hidden_size: int = 1024
    num_hidden_layers: int = 24
    num_attention_heads: int = 16
    intermediate_size: int = 4096
    pad_token_id: int | None = 5
    attn_type: str = "bi"                       # "uni": no position looks ahead
    bi_data: bool = False
    reuse_len: int | None = None                # of a segment, the first so many states are kept; None: all
    classifier_dropout: float | None = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("attn_type", self.attn_type in ("bi", "uni"), "bi or uni")
        self.check("reuse_len", self.reuse_len is None or self.reuse_len >= 1, "at least 1, or None to keep all")
        self.check("attention_probs_dropout_prob", self.attention_probs_dropout_prob == self.hidden_dropout_prob,
                   f"hidden_dropout_prob, {self.hidden_dropout_prob}: there is one rate")  # fmt: skip
        self.check("same_length", not self.same_length, "False")


class XLNetEmbeddings(nn.Module):
    """h_0 = dropout(E_token), g_0 = dropout(w): every query begins as the same vector (section 2.3)."""

    def __init__(self, c: XLNetConfig) -> None:
        super().__init__()
        self.token = nn.Embedding(c.vocab_size, c.hidden_size)
        self.query = nn.Parameter(torch.zeros(1, 1, c.hidden_size))
        self.dropout = nn.Dropout(c.hidden_dropout_prob)

    def forward(self, tokens: Tensor, targets: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Embedded tokens (B, T, H), targets (B, P, T) -> h_0 (B, T, H) and, where there are targets, g_0 (B, P, H)."""
        g = None if targets is None else self.dropout(self.query.expand(*targets.shape[:2], -1))
        return self.dropout(tokens), g


class XLNetAttention(RelativeAttention):
    """Transformer-XL's scores and (q_i + b)·s_ij, s_ij one of two vectors: same segment, another (section 2.5)."""

    def __init__(self, hidden: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__(hidden, heads, dropout)
        self.b, self.s = (nn.Parameter(torch.zeros(*n, heads, hidden // heads)) for n in ((), (2,)))

    def beside(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, q: Tensor, r: Tensor, S: int, other: Tensor | None = None
    ) -> Tensor:
        bias = super().beside(q, r, S)
        if other is None:
            return bias
        same, apart = (scaled(q + self.b[:, None]) @ self.s.permute(1, 2, 0)).unbind(-1)           # (B, N, T) each
        return bias + torch.where(other[:, None], apart[..., None], same[..., None])

    def relate(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, q: Tensor, k: Tensor, v: Tensor, r: Tensor, grid: Grid, run: Run,
        targets: Tensor | None = None, other: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """(B, N, T, D), or for `targets` (B, P, T) their queries (B, N, P, D), which stand where they point."""
        if targets is None:
            return super().relate(q, k, v, r, grid, run, other=other)
        return targets[:, None] @ super().relate(targets.mT[:, None] @ q, k, v, r, grid, run, other=other)


class XLNetLayer(RelativeLayer):
    Attention = XLNetAttention


class XLNet(TransformerXl):
    """The two streams. Without `target_mapping` there is the content stream alone, as in fine-tuning."""

    config: XLNetConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
    Layer = XLNetLayer
    pooled_at = -1                              # padding stands before the text, [CLS] behind it
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        "PermutationLM": lambda xlnet: Prediction(xlnet.embeddings.token, tied=xlnet.config.tie_word_embeddings),
        "SequenceClassification": lambda xlnet: SequenceClassification(*xlnet.classifier()),
        "MultipleChoice": lambda xlnet: MultipleChoice(xlnet.config.hidden_size, xlnet.classifier()[-1]),
        "TokenClassification": lambda xlnet: TokenClassification(xlnet.config.hidden_size, xlnet.config.num_labels, 0),
        "QuestionAnsweringSimple": lambda xlnet: QuestionAnswering(xlnet.config.hidden_size),
    }

    def __init__(self, config: XLNetConfig, head: str | None = None) -> None:
        Model.__init__(self, config)
        self.embeddings = XLNetEmbeddings(config)
        self.build(head)

    def pattern(self) -> Pattern:
        return full() if self.config.attn_type == "bi" else causal()

    def content(self, pattern: Pattern, hides: Tensor | None, M: int) -> Pattern:
        """What the content stream sees, padding apart: h_z≤t. hides (B, T, T): True where token j is not for i."""
        if isinstance(pattern, Permutation):
            pattern = pattern.content | memory() if M else pattern.content
        if hides is not None:
            sees = torch.cat([hides.new_ones(*hides.shape[:2], M), ~hides], dim=-1)             # (B, T, M + T)
            pattern = pattern & table(sees[:, None]) | window(1)
        return pattern

    def places(self, T: int, S: int, B: int = 1) -> Tensor:
        """(1, T + S, H), or (B, T + S, H) where half of the batch reads backwards: the distances change their sign."""
        ahead = super().places(T, S)
        if not self.config.bi_data:
            return ahead
        sines, cosines = ahead.chunk(2, dim=-1)
        return torch.cat([ahead, torch.cat([-sines, cosines], dim=-1)]).repeat_interleave(B // 2, dim=0)

    def remember(self, states: Sequence[Tensor], mems: Sequence[Tensor] | None) -> tuple[Tensor, ...] | None:
        return super().remember([x[:, : self.config.reuse_len] for x in states], mems)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None,
        mems: Sequence[Tensor] | None = None, perm_mask: Tensor | None = None, target_mapping: Tensor | None = None,
        token_type_ids: Tensor | None = None, input_mask: Tensor | None = None, inputs_embeds: Tensor | None = None, *,
        pattern: Pattern | Sequence[Pattern] | None = None, output_attentions: bool = False, **targets: Tensor | None,
    ) -> Output:  # fmt: skip
        """As Transformer-XL's, and:

        perm_mask (B, T, T): 1 where token i may not see token j. target_mapping (B, P, T): for each of P targets a 1
        where it stands; the query stream then makes `query_states`, which the head reads. token_type_ids (B, T):
        segments. input_mask (B, T): the inverse of attention_mask, one of the two. pattern: the content stream's (of a
        permutation, beside the memory); the query stream leaves out itself.
        """
        c = self.config
        B, T = shape = shape_of(input_ids, inputs_embeds, c.hidden_size)
        if input_ids is not None:
            check_ids("input_ids", input_ids, c.vocab_size, shape, "encode the text with the model's own vocabulary")
        M = check_mems(mems, c.num_hidden_layers, B, c.hidden_size)
        if c.bi_data and B % 2:
            raise ValueError(f"bi_data and a batch of {B}: half of it reads backwards, so give an even number of texts")
        real = self.real_behind(either_mask(attention_mask, input_mask, shape), B, M, T)
        hides = None if perm_mask is None else check_ones("perm_mask", perm_mask, (B, T, T))
        where = None if target_mapping is None else check_mapping(target_mapping, shape, targets.get("labels"))
        self.check_targets(shape if where is None else (B, where.shape[1]), targets)
        if token_type_ids is not None:
            check_ids("token_type_ids", token_type_ids, 2**31, shape, "number the segments from 0")
        own = self.pattern() if pattern is None else pattern
        own = [self.content(p, hides, M) for p in own] if isinstance(own, Sequence) else self.content(own, hides, M)
        grids = self.grids(T, M + T, real, own)
        query_grids = tuple((grid.pattern & ~window(1)).at(T, M + T) for grid in grids)         # h_z<t

        tokens = self.embeddings.token(input_ids) if inputs_embeds is None else inputs_embeds   # (B, T, H)
        where = None if where is None else where.to(tokens)
        h, g = self.embeddings(tokens, where)
        segments = None if token_type_ids is None else torch.cat([token_type_ids.new_zeros(B, M), token_type_ids], 1)
        other = None if segments is None else segments[:, M:, None] != segments[:, None]        # (B, T, M + T)
        run, query_run = Run(weights=output_attentions), Run(weights=output_attentions)
        places, states, queries = self.places(T, M + T, B), [h], [g]
        layers: Sequence[Any] = self.stack()
        for i, layer in enumerate(layers):
            kept = mems[i].detach().transpose(0, 1) if mems is not None and M else None
            read = layer.read(states[-1], places, kept)
            states.append(layer(states[-1], grids[i], run, read, other=other))
            if where is not None:
                queries.append(layer(queries[-1], query_grids[i], query_run, read, other=other, targets=where))
        run.made["mems"] = self.remember(states, mems if M else None)
        last = states if where is None else queries
        last[-1] = self.dropout(last[-1])
        if where is not None:
            run.made |= {"query_states": tuple(queries), "query_grids": query_grids,
                         "query_attentions": query_run.weights and tuple(query_run.weights)}  # fmt: skip
        return self.answer(states, grids, run, **targets)
