"""Patterns of place: all, before me, near me, and the chosen ones that everybody sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .arguments import MOST, fits, samples, shown, truth, whole
from .base import At, Line, Pattern, Span
from .spans import count, cross, look_up, state

__all__ = ["causal", "full", "global_tokens", "window"]


@dataclass(frozen=True, repr=False)
class Full(Pattern):
    """Everybody attends to everybody (Vaswani et al. 2017, the encoder)."""

    op = "full"

    @property
    def relates(self) -> bool:
        return False

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        return (q == q) & (k == k)

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        return state(none=q.first != q.first, all=k.first == k.first)

    @property
    def formula(self) -> str:
        return r"\top"


@dataclass(frozen=True, repr=False)
class Causal(Pattern):
    """A token attends to itself and what stands before it (Vaswani et al. 2017, section 3.2.3; GPT)."""

    op = "causal"

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        return k <= q

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        return state(none=k.first > q.last, all=k.last <= q.first)

    def alike(self, q: Span, k: Span, at: At) -> tuple[Tensor, ...]:
        return (q.first - k.first,)

    @property
    def formula(self) -> str:
        return r"k \le q"


@dataclass(frozen=True, repr=False)
class Window(Pattern):
    """Sliding window (Longformer, Beltagy et al. 2020, section 3.1): keys within `width // 2` steps of `dilation`."""

    width: int
    dilation: int = 1

    op = "window"

    @property
    def reach(self) -> int:
        return self.width // 2 * self.dilation

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        distance = (q - k).abs()
        near = distance <= self.reach
        return near if self.dilation == 1 else near & (distance % self.dilation == 0)

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        nearest = torch.maximum(k.first - q.last, q.first - k.last).clamp(min=0)
        farthest = torch.maximum(k.last - q.first, q.last - k.first)
        every_step = (nearest == farthest) & (nearest % self.dilation == 0) if self.dilation > 1 else nearest >= 0
        return state(none=nearest > self.reach, all=(farthest <= self.reach) & every_step)

    def alike(self, q: Span, k: Span, at: At) -> tuple[Tensor, ...]:
        return (q.first - k.first,)

    def fields(self) -> dict[str, Any]:
        return {"width": self.width, "dilation": self.dilation}

    def __repr__(self) -> str:
        return f"window({self.width})" if self.dilation == 1 else f"window({self.width}, {self.dilation})"

    @property
    def name(self) -> str:
        return self.title or f"window {self.width}" + (f", dilation {self.dilation}" if self.dilation > 1 else "")

    @property
    def formula(self) -> str:
        near = rf"|q-k| \le {self.reach}"
        return near if self.dilation == 1 else rf"{near},\ {self.dilation} \mid q-k"


def full() -> Pattern:
    """Everybody attends to everybody. The only distance-free pattern besides those that speak of keys alone."""
    return Full()


def causal() -> Pattern:
    """A token attends to itself and to what stands before it: k ≤ q."""
    return Causal()


def window(width: int, dilation: int = 1) -> Pattern:
    """Sliding window: `width // 2` keys on each side and the token itself (Longformer, section 3.1).

    `width` counts tokens on both sides together (Longformer's 512 is 256 each side; an odd width counts the token
    itself). `dilation` 1 means no gap; otherwise q - k must be a multiple of it, and the reach grows as many times.
    Raises ValueError below 1.
    """
    return Window(
        whole("window", "width", width, 1, "window(1) is the token itself"),
        whole("window", "dilation", dilation, 1, "dilation 1 means no gap"),
    )


@dataclass(frozen=True, repr=False)
class GlobalTokens(Pattern):
    """Chosen tokens see all and are seen by all (Longformer, section 3.1; BigBird's ITC, section 2)."""

    positions: tuple[int, ...]

    op = "global_tokens"

    def marks(self, line: Line, device: torch.device) -> Tensor:
        """(S,) bool: which positions are global."""
        marks = torch.zeros(line.keys, dtype=torch.bool, device=device)
        marks[[p % line.keys for p in self.positions]] = True
        return marks

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        marks = self.marks(at.line, q.device)
        return marks[q] | marks[k]

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        marks = self.marks(at.line, q.first.device)
        return cross(count(marks, q, at.b), q, count(marks, k, at.b), k)

    def alike(self, q: Span, k: Span, at: At) -> tuple[Tensor, ...]:
        marks = self.marks(at.line, q.first.device)
        return tuple(torch.where(count(marks, span, at.b) > 0, span.first, -1) for span in (q, k))

    def check(self, line: Line) -> None:
        for p in self.positions:
            if not -line.keys <= p < line.keys:
                raise ValueError(
                    f"global_tokens({p}): position {p} is not among the {line.keys} keys (0 … {line.keys - 1}, or "
                    f"-{line.keys} … -1 from the end); choose another position or a longer text"
                )

    def fields(self) -> dict[str, Any]:
        return {"positions": list(self.positions)}

    def __repr__(self) -> str:
        return f"global_tokens({', '.join(map(str, self.positions))})"

    @property
    def name(self) -> str:
        return self.title or ("global " + ", ".join(map(str, self.positions)) if self.positions else "global none")

    @property
    def formula(self) -> str:
        chosen = ",".join(map(str, self.positions))
        return rf"q \in \{{{chosen}\}} \lor k \in \{{{chosen}\}}"


@dataclass(frozen=True, eq=False, repr=False)
class MarkedTokens(Pattern):
    """Global tokens chosen per sample."""

    where: Tensor

    op = "global_tokens"

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        return look_up(self.where, at.b, q) | look_up(self.where, at.b, k)

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        return cross(count(self.where, q, at.b), q, count(self.where, k, at.b), k)

    def check(self, line: Line) -> None:
        fits("global_tokens", "where", self.where.shape[-1], line.keys)

    def axes(self) -> tuple[int, int]:
        return samples(self.where), 1

    def fields(self) -> dict[str, Any]:
        return {"where": self.where.int().tolist()}

    def __repr__(self) -> str:
        return f"global_tokens(where={shown(self.where)})"

    @property
    def name(self) -> str:
        return self.title or "global tokens of each sample"

    @property
    def formula(self) -> str:
        return r"q \in G_b \lor k \in G_b"


def global_tokens(*positions: int, where: Any = None) -> Pattern:
    """Tokens that look at all and are looked at by all (Longformer, section 3.1).

    `positions`: places on the key line, negative ones from the end; none at all allow nothing. `where` marks them
    instead by a bool tensor, (S,) or (B, S), for a choice of its own in each sample. A global token that is a pad
    has no effect once padding is composed: `(window(4) | global_tokens(0)) & padding(real)` closes its column, and
    with `rows=True` its row.
    Raises ValueError for places that are not whole numbers, and `at` for places outside the keys.
    """
    if where is None:
        remedy = "give places such as 0 or -1"
        return GlobalTokens(tuple(whole("global_tokens", "position", p, -MOST, remedy) for p in positions))
    if positions:
        raise ValueError(f"global_tokens: give positions {positions} or where=…, not both")
    return MarkedTokens(truth("global_tokens", "where", where))
