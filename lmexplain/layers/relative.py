"""Attention that knows how far two tokens are apart: scores by distance, brought to their keys."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from ..patterns import Grid
from .attention import MultiHeadAttention, Run

__all__ = ["KeyValuePlace", "RelativeAttention", "by_key", "distances", "scaled"]

KeyValuePlace = tuple[Tensor, Tensor, Tensor]
"""Keys, values (B, N, S, D), and distances (1 or B, N, T + S, D)."""


def distances(T: int, S: int, start: int = 0, device: torch.device | None = None) -> Tensor:
    """(T + S,): the distances i - j that the columns of `by_key` stand for, from start + T down to start - S + 1.

    The first is no pair's: it makes the rows as long as the shift needs them.
    """
    return torch.arange(start + T, start - S, -1, device=device)


def by_key(scores: Tensor, S: int) -> Tensor:
    """The relative shift (Dai et al. 2019, appendix B): scores (…, T, T + S) by distance -> (…, T, S) by key.

    Query i finds key j in column T - i + j. Written one after the other and read anew in rows that are one shorter,
    each row starts one column further left than the one before: nothing is gathered.
    """
    T = scores.shape[-2]
    return scores.flatten(-2)[..., T:].unflatten(-1, (T, T + S - 1))[..., :S]


def scaled(q: Tensor) -> Tensor:
    """q / √D: the few are divided, not the scores."""
    return q / math.sqrt(q.shape[-1])


class RelativeAttention(MultiHeadAttention):
    """a_ij = ((q_i + u)·k_j + (q_i + v)·W r_(i-j)) / √D (Dai et al. 2019, section 3.3)."""

    def __init__(self, hidden: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__(hidden, heads, dropout, bias=False)
        self.place = nn.Linear(hidden, hidden, bias=False)                                      # W of the distances
        self.u, self.v = (nn.Parameter(torch.zeros(heads, hidden // heads)) for _ in range(2))

    def read(self, source: Tensor, places: Tensor) -> KeyValuePlace:
        """States (B, S, H), sinusoids (1 or B, T + S, H) -> keys, values (B, N, S, D), places (…, N, T + S, D)."""
        return (*self.keys(source), self.split(self.place(places)))

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # keys are made once for two streams
        self, x: Tensor, grid: Grid, run: Run, read: KeyValuePlace, **more: Any
    ) -> Tensor:
        """x (B, T, H), and what it attends to as `read` made it -> (B, T, H)."""
        k, v, r = read
        return self.output(self.merge(self.relate(self.split(self.query(x)), k, v, r, grid, run, **more)))

    def relate(self, q: Tensor, k: Tensor, v: Tensor, r: Tensor, grid: Grid, run: Run, **more: Any) -> Tensor:
        """(B, N, T, D)."""
        return self.attend(q + self.u[:, None], k, v, grid, run, self.beside(q, r, k.shape[2], **more))

    def beside(self, q: Tensor, r: Tensor, S: int) -> Tensor:
        """What comes to the scores beside content: (q_i + v)·W r_(i-j) / √D, (B, N, T, S)."""
        return by_key(scaled(q + self.v[:, None]) @ r.mT, S)
