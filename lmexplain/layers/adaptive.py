"""A token table and a softmax that spend little on rare tokens (Grave et al. 2017; Baevski & Auli 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .heads import Head, check_labels
from .output import Output

__all__ = ["AdaptiveEmbeddings", "AdaptiveSoftmax"]

Clusters = Sequence[tuple[int, int]]
"""First token and end of each, the frequent ones first."""


def tables(clusters: Clusters, hidden: int, div: int) -> list[tuple[int, int]]:
    """Rows and width of the tables: of H / div^c for cluster c; one for all where they are equally wide."""
    if div == 1:
        return [(clusters[-1][1], hidden)]
    return [(end - first, hidden // div**c) for c, (first, end) in enumerate(clusters)]


class AdaptiveEmbeddings(nn.Module):
    """h_0 = dropout(√H W_c E_c[token]), c the token's cluster."""

    tables: Any
    projections: Any

    def __init__(self, clusters: Clusters, hidden: int, div: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        sizes, self.clusters, self.hidden = tables(clusters, hidden, div), clusters, hidden
        self.tables = nn.ModuleList(nn.Embedding(rows, E) for rows, E in sizes)
        self.projections = nn.ModuleList(nn.Linear(E, hidden, bias=False) for _, E in sizes if div > 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, H)."""
        if not self.projections:
            return self.dropout(self.tables[0](input_ids) * math.sqrt(self.hidden))
        x: Any = 0.0
        for (first, end), table, projection in zip(self.clusters, self.tables, self.projections, strict=True):
            own = (input_ids >= first) & (input_ids < end)
            x = torch.where(own[..., None], projection(table((input_ids - first).clamp(0, end - first - 1))), x)
        return self.dropout(x * math.sqrt(self.hidden))


class AdaptiveSoftmax(Head):
    """log p of a frequent token: log softmax over those and the clusters; of a rare one: its cluster's, and its own in
    there. labels (B, T) stand where they are predicted; with them only each target's cluster is computed, no logits.
    """

    tables: Any
    projections: Any

    def __init__(self, embeddings: AdaptiveEmbeddings, div: int = 1, tied: bool = True) -> None:
        super().__init__()
        H, self.clusters = embeddings.hidden, embeddings.clusters
        sizes, more = tables(self.clusters, H, div), len(self.clusters) - 1
        self.tables = nn.ModuleList(nn.Linear(E, rows) for rows, E in sizes)
        self.projections = nn.ModuleList(nn.Linear(E, H, bias=False) for _, E in sizes if div > 1)
        self.rare = nn.Linear(H, more) if more else None
        if tied:
            for mine, table in zip(self.tables, embeddings.tables, strict=True):
                mine.weight = table.weight
            for i in range(1, len(self.projections)):               # all but the first (released code)
                self.projections[i] = embeddings.projections[i]

    def check(self, shape: tuple[int, int], *, labels: Tensor) -> None:
        check_labels(labels, shape, self.clusters[-1][1])

    def within(self, h: Tensor, cluster: int) -> Tensor:
        """(…, H) -> (…, tokens of this cluster), the clusters of rare ones after those of the first."""
        if self.projections:
            h = h @ self.projections[cluster].weight
            weight, bias = self.tables[cluster].weight, self.tables[cluster].bias
        else:
            rows = slice(*self.clusters[cluster])
            weight, bias = self.tables[0].weight[rows], self.tables[0].bias[rows]
        if cluster == 0 and self.rare is not None:
            weight, bias = torch.cat([weight, self.rare.weight]), torch.cat([bias, self.rare.bias])
        return F.linear(h, weight, bias).log_softmax(-1)

    def scores(self, states: Tensor) -> Tensor:
        """(B, T, H) -> log p (B, T, V)."""
        head, (_, common) = self.within(states, 0), self.clusters[0]
        rare = [head[..., common + i - 1, None] + self.within(states, i) for i in range(1, len(self.clusters))]
        return torch.cat([head[..., :common], *rare], dim=-1)

    def losses(self, states: Tensor, labels: Tensor) -> Tensor:
        """states (n, H), labels (n,) -> -log p (n,), in their order."""
        head, (_, common) = self.within(states, 0), self.clusters[0]
        found = head.gather(1, labels.clamp(max=common - 1)[:, None])[:, 0]
        for i, (first, end) in enumerate(self.clusters[1:], 1):
            rows = ((labels >= first) & (labels < end)).nonzero()[:, 0]
            own = self.within(states[rows], i).gather(1, labels[rows, None] - first)[:, 0]
            found = found.index_put((rows,), head[rows, common + i - 1] + own)
        return -found

    def forward(self, output: Output, labels: Tensor | None = None) -> Output:
        if labels is None:
            return replace(output, logits=self.scores(output.last_hidden_state))
        chosen = labels != -100
        return replace(output, loss=self.losses(output.last_hidden_state[chosen], labels[chosen]).mean())
