"""SpanBERT (Joshi et al. 2019, arXiv:1907.10529). Differs from BERT in: one segment and no next-sentence task; a head
that predicts each token of a masked span from the two tokens outside it and from its place in the span.

Departures of the released code from the paper: the boundary loss is divided by its number of targets plus one; the
position embedding is 200 wide, whatever the option says; both layers of the head have biases, and so has its decoder.
A span at the edge of the text has no boundary target, and of a longer span the first 20 tokens are predicted. The
released table keeps BERT's two segments; all tokens are in the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..layers import Head, MaskedLM, Output, activation
from .bert import LARGE, Bert, BertConfig
from .inputs import check_ids

__all__ = ["SpanBert", "SpanBertConfig", "SpanBoundary"]

NO_TARGET = -100


@dataclass(frozen=True, kw_only=True)
class SpanBertConfig(BertConfig):
    """SpanBERT's sizes; the defaults are spanbert-base-cased's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"spanbert-base-cased": {}, "spanbert-large-cased": LARGE}

    vocab_size: int = 28996
    max_pair_targets: int = 20                  # M, the tokens predicted between two boundaries
    pair_position_size: int = 200               # width of their place's embedding

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("max_pair_targets", "pair_position_size"):
            self.check(name, getattr(self, name) >= 1, "at least 1")


class Boundary(nn.Module):
    """y_i = f(x_{s-1}, x_{e+1}, p_{i-s+1}), and its scores over the vocabulary (section 3.2)."""

    def __init__(self, config: SpanBertConfig, table: nn.Embedding) -> None:
        super().__init__()
        V, H = table.weight.shape
        self.position = nn.Embedding(config.max_pair_targets, config.pair_position_size)
        self.first, self.second = nn.Linear(2 * H + config.pair_position_size, H), nn.Linear(H, H)
        self.first_norm, self.second_norm = (nn.LayerNorm(H, config.layer_norm_eps) for _ in range(2))
        self.decoder = nn.Linear(H, V)
        self.act = activation(config.hidden_act)
        if config.tie_word_embeddings:
            self.decoder.weight = table.weight

    def forward(self, states: Tensor, pairs: Tensor) -> Tensor:
        """States (B, T, H) and boundary positions (B, P, 2) -> scores (B, P, M, V)."""
        rows = torch.arange(len(states), device=states.device)[:, None, None]
        ends = states[rows, pairs].flatten(2)                                   # (B, P, 2 H): [x_{s-1}; x_{e+1}]
        M = self.position.num_embeddings
        places = self.position.weight.expand(*pairs.shape[:2], M, -1)           # row 0 is p_1, the first token's
        h = torch.cat([ends.unsqueeze(2).expand(-1, -1, M, -1), places], dim=-1)            # h_0
        h = self.first_norm(self.act(self.first(h)))                                        # h_1 = LN(GELU(W_1 h_0))
        return self.decoder(self.second_norm(self.act(self.second(h))))                     # y_i = LN(GELU(W_2 h_1))


class SpanBoundary(Head):
    """The cloze loss of all masked tokens plus the boundary loss of those in `pairs` (section 3.2).

    labels (B, T). pairs (B, P, 2): the positions s - 1 and e + 1 around each span; pair_labels (B, P, M): the span's
    tokens in order. Labels of -100 are no targets, so a batch with fewer pairs is filled with them.
    """

    def __init__(self, tokens: MaskedLM, boundary: Boundary) -> None:
        super().__init__()
        self.tokens, self.boundary = tokens, boundary

    def forward(
        self, output: Output, labels: Tensor | None = None, pairs: Tensor | None = None,
        pair_labels: Tensor | None = None,
    ) -> Output:  # fmt: skip
        tokens = self.tokens(output, labels)
        if pairs is None:
            return tokens
        logits = self.boundary(output.last_hidden_state, pairs)
        losses = [loss for loss in (tokens.loss, self.loss(logits, pair_labels)) if loss is not None]
        return replace(tokens, boundary_logits=logits, loss=torch.stack(losses).sum() if losses else None)

    def check(
        self, shape: tuple[int, int], *, labels: Tensor | None = None, pairs: Tensor | None = None,
        pair_labels: Tensor | None = None,
    ) -> None:  # fmt: skip
        """Raises unless pairs are positions (B, P, 2) and their labels tokens (B, P, M)."""
        (B, T), V, M = shape, self.boundary.decoder.out_features, self.boundary.position.num_embeddings
        if labels is not None:
            self.tokens.check(shape, labels=labels)
        if pairs is None:
            if pair_labels is not None:
                raise ValueError("pair_labels given without pairs; give the positions around each span too")
            return
        if pairs.dim() != 3 or pairs.shape[0] != B or pairs.shape[2] != 2:
            raise ValueError(f"pairs has shape {tuple(pairs.shape)}; give ({B}, pairs, 2): positions around a span")
        check_ids("pairs", pairs, T, tuple(pairs.shape), "a span at the edge of the text has no pair: leave it out")
        turned = pairs[pairs[..., 0] > pairs[..., 1]]
        if not pairs.is_meta and turned.numel():
            raise ValueError(f"pairs holds {turned[0].tolist()}; give the position before a span, then that after it")
        if pair_labels is None:
            return
        if pair_labels.shape != (*pairs.shape[:2], M):
            raise ValueError(
                f"pair_labels has shape {tuple(pair_labels.shape)}, {M} tokens for each of the pairs would be "
                f"{(*pairs.shape[:2], M)}; cut longer spans, fill shorter ones with {NO_TARGET}"
            )
        targets = pair_labels.masked_fill(pair_labels == NO_TARGET, 0)
        check_ids("pair_labels", targets, V, tuple(pair_labels.shape), f"{NO_TARGET} marks what is no target")

    @staticmethod
    def loss(logits: Tensor, labels: Tensor | None) -> Tensor | None:
        """Σ -log P(x_i | y_i) / (targets + 1), as released; without a target it is 0."""
        if labels is None:
            return None
        total = F.cross_entropy(logits.flatten(0, 2).float(), labels.flatten().long(), reduction="sum")
        return total / ((labels != NO_TARGET).sum() + 1)


class SpanBert(Bert):
    """BERT with the boundary head; published folders say BERT: `lmexplain.load(folder, model=SpanBert)`."""

    config: SpanBertConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        **Bert.heads,
        "SpanBoundary": lambda bert: SpanBoundary(bert.masked_lm(), Boundary(bert.config, bert.embeddings.token)),
    }
