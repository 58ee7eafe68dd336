"""Multi-head attention along a grid, and what a forward pass carries past it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from ..attention import attend
from ..patterns import Grid

__all__ = ["KeyValue", "MultiHeadAttention", "Run"]

KeyValue = tuple[Tensor, Tensor]
"""Keys and values (B, N, S, D) of one attention."""


class Run:
    """What one forward pass carries past the layers, beside x: cached keys and values, and weights on request.

    The attentions of a model meet it in their order, each taking its own of `past` and leaving its own behind. A run
    serves one pass and is never kept by a model, so that nothing is carried into the next by accident.
    """

    def __init__(self, past: Iterable[KeyValue] | None = None, keep: bool = False, weights: bool = False) -> None:
        self.past = iter(past or ())
        self.present: list[KeyValue] | None = [] if keep else None
        self.weights: list[Tensor] | None = [] if weights else None
        self.made: dict[str, Any] = {}                      # fields of the output that only this model has
        self.beside: Any = None                             # what only this model's attentions are told
        self.own = True                                     # the model's own pattern, not one that was given
        self.places: Tensor | None = None                   # (B, T) or (1, T): where the tokens stand
        self.replaced: tuple[bool, ...] | None = None      # BERT-of-Theseus: which modules' successors ran

    def extend(self, k: Tensor, v: Tensor) -> KeyValue:
        """Keys and values with the cached ones before them."""
        cached = next(self.past, None)
        if cached is not None:
            k, v = torch.cat([cached[0], k], dim=2), torch.cat([cached[1], v], dim=2)
        return self.keep((k, v))

    def once(self, make: Callable[[], KeyValue]) -> KeyValue:
        """Keys and values that do not grow (an encoder's): the cached ones, made where there are none yet."""
        cached = next(self.past, None)
        return self.keep(make() if cached is None else cached)

    def keep(self, pair: KeyValue) -> KeyValue:
        if self.present is not None:
            self.present.append(pair)
        return pair


class MultiHeadAttention(nn.Module):
    """Concat(head_1 … head_N) W^O, head_n = attention(Q W^Q_n, K W^K_n, V W^V_n) (Vaswani et al. 2017, section 3.2.2).

    hidden: H, a multiple of `heads`; dropout: the share of weights dropped in training.
    """

    def __init__(self, hidden: int, heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.key, self.value, self.output = (nn.Linear(hidden, hidden, bias) for _ in range(4))

    def forward(self, x: Tensor, grid: Grid, run: Run | None = None, memory: Tensor | None = None) -> Tensor:
        """x (B, T, H) -> (B, T, H). Keys and values come from `memory` (B, S, H), an encoder's states, else from x."""
        run = run or Run()
        q = self.split(self.query(x))
        k, v = run.extend(*self.keys(x)) if memory is None else run.once(lambda: self.keys(memory))
        return self.output(self.merge(self.attend(q, k, v, grid, run)))

    def keys(self, source: Tensor) -> KeyValue:
        """(B, S, H) -> keys and values (B, N, S, D)."""
        return self.split(self.key(source)), self.split(self.value(source))

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, grid: Grid, run: Run, bias: Tensor | None = None
    ) -> Tensor:  # fmt: skip
        """q (B, N, T, D), k and v (B, N, S, D), bias (B, N, T, S) on the scores -> (B, N, T, D)."""
        dropout = self.dropout if self.training else 0.0
        if run.weights is None:
            return attend(q, k, v, grid, bias=bias, dropout=dropout)
        out, weights = attend(q, k, v, grid, bias=bias, dropout=dropout, weights=True, method="dense")
        run.weights.append(weights)  # pyright: ignore[reportArgumentType]  # dense weights are one tensor
        return out

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)        # (B, T, H) -> (B, N, T, D)

    def merge(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2).flatten(2)                             # (B, N, T, D) -> (B, T, H)
