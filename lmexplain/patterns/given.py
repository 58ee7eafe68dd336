"""Patterns of data: segments, prefixes, factorization orders, memories, padding; they may differ between samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .arguments import fits, numbers, samples, shown, truth, whole
from .base import At, Line, Pattern, Span
from .spans import count, extremes, look_up, state

__all__ = ["memory", "padding", "permutation", "prefix", "segments"]


@dataclass(frozen=True, eq=False, repr=False)
class Segments(Pattern):
    """Tokens of one segment attend to each other."""

    ids: Tensor

    op = "segments"

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        return look_up(self.ids, at.b, q) == look_up(self.ids, at.b, k)

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        (q_low, q_high), (k_low, k_high) = extremes(self.ids, q, at.b), extremes(self.ids, k, at.b)
        one = (q_low == q_high) & (k_low == k_high) & (q_low == k_low)
        return state(none=(k_low > q_high) | (k_high < q_low), all=one)

    def check(self, line: Line) -> None:
        fits("segments", "ids", self.ids.shape[-1], line.keys)

    def axes(self) -> tuple[int, int]:
        return samples(self.ids), 1

    def fields(self) -> dict[str, Any]:
        return {"ids": self.ids.tolist()}

    def __repr__(self) -> str:
        return f"segments({shown(self.ids)})"

    @property
    def name(self) -> str:
        return self.title or "same segment"

    @property
    def formula(self) -> str:
        return "s_q = s_k"


class _Prefix(Pattern):
    """The first p tokens see each other, the rest is causal (UniLM's sequence-to-sequence, Dong et al. 2019, eq. 2)."""

    op = "prefix"

    def lengths(self, at: At) -> Tensor | int:
        """p, as it broadcasts with the positions."""
        raise TypeError(f"{type(self).__name__} has no length; define lengths(at)")

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        p = self.lengths(at)
        return (k <= q) | ((q < p) & (k < p))

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        p = self.lengths(at)
        before, inside = k.last <= q.first, (q.last < p) & (k.last < p)
        return state(none=(k.first > q.last) & ((q.first >= p) | (k.first >= p)), all=before | inside)


@dataclass(frozen=True, repr=False)
class Prefix(_Prefix):
    """A prefix of one length."""

    length: int

    def lengths(self, at: At) -> int:
        return self.length

    def check(self, line: Line) -> None:
        if self.length > line.keys:
            raise ValueError(f"prefix({self.length}): the prefix is longer than the {line.keys} keys; shorten it")

    def fields(self) -> dict[str, Any]:
        return {"length": self.length}

    @property
    def formula(self) -> str:
        return rf"k \le q \lor q, k < {self.length}"


@dataclass(frozen=True, eq=False, repr=False)
class SamplePrefix(_Prefix):
    """A prefix of its own length in each sample."""

    length: Tensor

    def lengths(self, at: At) -> Tensor:
        return self.length.to(at.b.device)[at.b]

    def check(self, line: Line) -> None:
        longest = int(self.length.max())
        if longest > line.keys:
            raise ValueError(f"prefix: a prefix of {longest} is longer than the {line.keys} keys; shorten it")

    def axes(self) -> tuple[int, int]:
        return len(self.length), 1

    def fields(self) -> dict[str, Any]:
        return {"length": self.length.tolist()}

    @property
    def name(self) -> str:
        return self.title or "prefix of each sample"

    @property
    def formula(self) -> str:
        return r"k \le q \lor q, k < p_b"


@dataclass(frozen=True, eq=False, repr=False)
class Permutation(Pattern):
    """Each token attends to those before it in a factorization order (XLNet, Yang et al. 2019, section 2.3).

    Content stream: also to itself. Query stream: not to itself, since its word is what it predicts.
    """

    order: Tensor
    stream: str = "content"

    op = "permutation"

    @property
    def content(self) -> Permutation:
        return Permutation(self.order, "content")

    @property
    def query(self) -> Permutation:
        return Permutation(self.order, "query")

    @property
    def rank(self) -> Tensor:
        """(…, n): the step at which each place is predicted; the inverse of the order."""
        return self.order.argsort(dim=-1)

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        rank, start = self.rank, at.line.offset
        q_rank, k_rank = look_up(rank, at.b, q - start), look_up(rank, at.b, (k - start).clamp(min=0))
        earlier = k_rank < q_rank if self.stream == "query" else k_rank <= q_rank
        return earlier & (k >= start)

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        start = at.line.offset
        (q_low, q_high), (k_low, k_high) = (
            extremes(self.rank, Span((span.first - start).clamp(min=0), (span.last - start).clamp(min=0)), at.b)
            for span in (q, k)
        )
        own = 1 if self.stream == "query" else 0
        inside, outside = k.first >= start, k.last < start
        return state(none=(k_low + own > q_high) | outside, all=(k_high + own <= q_low) & inside)

    def check(self, line: Line) -> None:
        fits("permutation", "order", self.order.shape[-1], line.keys - line.offset)

    def axes(self) -> tuple[int, int]:
        return samples(self.order), 1

    def fields(self) -> dict[str, Any]:
        return {"order": self.order.tolist(), "stream": self.stream}

    def __repr__(self) -> str:
        return f'permutation({shown(self.order)}, "{self.stream}")'

    @property
    def name(self) -> str:
        return self.title or f"permutation, {self.stream} stream"

    @property
    def formula(self) -> str:
        sign = "<" if self.stream == "query" else r"\le"
        return rf"z^{{-1}}(k) {sign} z^{{-1}}(q)"


@dataclass(frozen=True, repr=False)
class Memory(Pattern):
    """Every query sees the cached states right before the segment (Transformer-XL, Dai et al. 2019, section 3.2)."""

    length: int | None

    op = "memory"

    def first(self, line: Line) -> int:
        return 0 if self.length is None else max(0, line.offset - self.length)

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        return (q == q) & (k >= self.first(at.line)) & (k < at.line.offset)

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        first, start = self.first(at.line), at.line.offset
        none = (k.last < first) | (k.first >= start) | (q.first != q.first)
        return state(none=none, all=(k.first >= first) & (k.last < start))

    def alike(self, q: Span, k: Span, at: At) -> tuple[Tensor, ...]:
        return (k.first,)

    def fields(self) -> dict[str, Any]:
        return {"length": self.length}

    def __repr__(self) -> str:
        return "memory()" if self.length is None else f"memory({self.length})"

    @property
    def name(self) -> str:
        return self.title or ("memory" if self.length is None else f"memory {self.length}")

    @property
    def formula(self) -> str:
        return "k < t_0" if self.length is None else rf"t_0 - {self.length} \le k < t_0"


@dataclass(frozen=True, eq=False, repr=False)
class Padding(Pattern):
    """Only real tokens may be attended to."""

    real: Tensor
    rows: bool = False

    op = "padding"

    @property
    def relates(self) -> bool:
        return self.rows

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        keys = look_up(self.real, at.b, k) & (q == q)
        return keys & look_up(self.real, at.b, q) if self.rows else keys

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        real = count(self.real, k, at.b) + 0 * q.first
        blocks = state(none=real == 0, all=real == k.length)
        if not self.rows:
            return blocks
        real = count(self.real, q, at.b)
        return torch.minimum(blocks, state(none=real == 0, all=real == q.length))

    def alike(self, q: Span, k: Span, at: At) -> tuple[Tensor, ...]:
        return (at.b, k.first, q.first) if self.rows else (at.b, k.first)

    def check(self, line: Line) -> None:
        fits("padding", "real", self.real.shape[-1], line.keys)

    def axes(self) -> tuple[int, int]:
        return samples(self.real), 1

    def fields(self) -> dict[str, Any]:
        return {"real": self.real.int().tolist(), "rows": self.rows}

    def __repr__(self) -> str:
        return f"padding({shown(self.real)}{', rows=True' if self.rows else ''})"

    @property
    def name(self) -> str:
        return self.title or "real tokens"

    @property
    def formula(self) -> str:
        return r"k \text{ is a token}" if not self.rows else r"q, k \text{ are tokens}"


def segments(ids: Any) -> Pattern:
    """Tokens of one segment attend to each other. `ids`: int (S,) or (B, S), the segment of each token."""
    return Segments(numbers("segments", "ids", ids, (1, 2)))


def prefix(length: Any) -> Pattern:
    """The first `length` tokens see each other; what follows also sees all before it (UniLM, section 2.3 and figure 1).

    `length`: an int, or one per sample (B,). Lengths 0 and 1 are plain causal; the whole length is full.
    """
    if isinstance(length, Tensor | Sequence | np.ndarray):
        lengths = numbers("prefix", "length", length, (1,))
        if int(lengths.min()) < 0:
            raise ValueError(f"prefix: a length of {int(lengths.min())} is below 0; give 0 or more")
        return SamplePrefix(lengths)
    return Prefix(whole("prefix", "length", length, 0, "0 is plain causal"))


def permutation(order: Any, stream: str = "content") -> Permutation:
    """XLNet's factorization order; `.content` and `.query` give its two streams (Yang et al. 2019, section 2.3).

    `order`: (n,) or (B, n), the places 0 … n-1 of the segment in the order they are predicted. Keys before the segment
    are not allowed: compose with `| memory(m)`. In the query stream the first place of the order sees nothing.
    """
    order = numbers("permutation", "order", order, (1, 2))
    n = order.shape[-1]
    if not bool((order.sort(dim=-1).values == torch.arange(n)).all()):
        raise ValueError(f"permutation: {shown(order)} is not an order of the places 0 … {n - 1}; list each once")
    if stream not in ("content", "query"):
        raise ValueError(f"permutation: stream {stream!r} is neither 'content' nor 'query'; choose one")
    return Permutation(order, stream)


def memory(length: int | None = None) -> Pattern:
    """The `length` cached keys right before the first query, open to every query (Transformer-XL, section 3.2).

    None: all that are cached. Raises ValueError below 0.
    """
    return Memory(None if length is None else whole("memory", "length", length, 0, "0 is no memory"))


def padding(real: Any, rows: bool = False) -> Pattern:
    """Only real tokens may be attended to. `real`: bool or 0/1, (S,) or (B, S), True where a token is real.

    `rows=True` also empties the rows of the pads themselves, which otherwise look at the real tokens to no purpose.
    """
    if not isinstance(rows, bool):
        raise ValueError(f"padding: rows must be True or False, not {rows!r}; True empties the pads' own rows")
    return Padding(truth("padding", "real", real), rows)
