"""Patterns made by hand or from others: cells, tables, one pattern per head, patterns of whole blocks."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .arguments import shown, truth, whole
from .base import NONE, At, Line, Pattern, Span, broadcast_axes
from .spans import area, listed, state

__all__ = ["cells", "in_blocks", "per_head", "table"]


@dataclass(frozen=True, repr=False)
class Cells(Pattern):
    """Exactly these pairs."""

    pairs: tuple[tuple[int, int], ...]

    op = "cells"

    @property
    def relates(self) -> bool:
        return False

    def entries(self, line: Line) -> tuple[Tensor, Tensor]:
        last = line.offset + line.queries
        inside = [(q, k) for q, k in self.pairs if line.offset <= q < last and k < line.keys]
        listed = torch.tensor(inside, dtype=torch.int64).reshape(-1, 2)
        return listed[:, 0], listed[:, 1]

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        rows, keys = self.entries(at.line)
        return torch.isin(q * at.line.keys + k, (rows * at.line.keys + keys).to(q.device))

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        return listed(*self.entries(at.line), q, k)

    def fields(self) -> dict[str, Any]:
        return {"pairs": [list(pair) for pair in self.pairs]}

    def __repr__(self) -> str:
        return f"cells({', '.join(map(str, self.pairs))})"

    @property
    def name(self) -> str:
        return self.title or f"{len(self.pairs)} cells by hand"

    @property
    def formula(self) -> str:
        return r"(q, k) \in C"


@dataclass(frozen=True, eq=False, repr=False)
class Table(Pattern):
    """A given table of pairs, or of blocks of pairs: published random plans, masks from elsewhere."""

    allowed: Tensor
    block: int = 1

    op = "table"

    @property
    def relates(self) -> bool:
        return False

    @property
    def grain(self) -> int:
        return self.block

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        row, column = (q - at.line.offset) // self.block, k // self.block
        return self._batched.to(q.device)[at.b % self.axes()[0], at.h % self.axes()[1], row, column]

    @property
    def _batched(self) -> Tensor:
        return self.allowed.reshape(*self.axes(), *self.allowed.shape[-2:])

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        rows = Span(q.first - at.line.offset, q.last - at.line.offset).in_blocks(self.block)
        columns = k.in_blocks(self.block)
        marks = self._batched[at.b % self.axes()[0], at.h % self.axes()[1]]
        count = area(marks.reshape(*marks.shape[:-4], *marks.shape[-2:]), rows, columns)
        return state(none=count == 0, all=count == rows.length * columns.length)

    def check(self, line: Line) -> None:
        rows, columns = self.allowed.shape[-2:]
        axes = (("rows", rows, line.queries, "queries"), ("columns", columns, line.keys, "keys"))
        for what, have, length, of in axes:
            want = -(-length // self.block)
            if have != want:
                raise ValueError(f"table: {have} {what} of {self.block} do not fit {length} {of}; give {want}")

    def axes(self) -> tuple[int, int]:
        b, n = (1, 1, *self.allowed.shape[:-2])[-2:]
        return b, n

    def fields(self) -> dict[str, Any]:
        bits = base64.b64encode(np.packbits(self.allowed.cpu().numpy()).tobytes()).decode()
        return {"shape": list(self.allowed.shape), "bits": bits, "block": self.block}

    def __repr__(self) -> str:
        return f"table({shown(self.allowed)}{f', {self.block}' if self.block > 1 else ''})"

    @property
    def name(self) -> str:
        return self.title or f"table {'×'.join(map(str, self.allowed.shape))}"

    @property
    def formula(self) -> str:
        if self.block == 1:
            return r"A_{qk} = 1"
        return rf"A_{{\lfloor q/{self.block} \rfloor \lfloor k/{self.block} \rfloor}} = 1"


@dataclass(frozen=True, repr=False)
class PerHead(Pattern):
    """A pattern of its own for each head."""

    heads: tuple[Pattern, ...]

    op = "per_head"

    @property
    def relates(self) -> bool:
        return any(head.relates for head in self.heads)

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return self.heads

    def leaves(self, h: int = 0) -> tuple[Pattern, ...]:
        return self.heads[h].leaves()

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        nobody = (q != q) | (k != k)
        return sum(((at.h == h) & head.allows(q, k, at) for h, head in enumerate(self.heads)), start=nobody)

    def because(self, q: Tensor, k: Tensor, at: At, open: Tensor) -> Iterator[tuple[Pattern, Tensor]]:
        yield from self.heads[int(at.h)].because(q, k, at, open)

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        states = (torch.where(at.h == h, head.blocks(q, k, at), NONE) for h, head in enumerate(self.heads))
        return sum(states, start=torch.zeros((), dtype=torch.int8)).to(torch.int8)

    def signature(self, q: Span, k: Span, at: At) -> list[Tensor]:
        own = [torch.where(at.h == h, value, -1)
               for h, head in enumerate(self.heads) for value in head.signature(q, k, at)]  # fmt: skip
        return [at.h, *own]

    def check(self, line: Line) -> None:
        for head in self.heads:
            head.check(line)

    def axes(self) -> tuple[int, int]:
        samples, _ = broadcast_axes(*(head.axes() for head in self.heads))
        return samples, len(self.heads)

    @property
    def grain(self) -> int:
        return max(head.grain for head in self.heads)

    def fields(self) -> dict[str, Any]:
        return {"heads": [head.node() for head in self.heads]}

    def __repr__(self) -> str:
        return f"per_head({', '.join(map(repr, self.heads))})"

    @property
    def name(self) -> str:
        return self.title or "per head: " + "; ".join(head.name for head in self.heads)

    @property
    def formula(self) -> str:
        return r";\ ".join(rf"h={h}:\ {head.formula}" for h, head in enumerate(self.heads))


@dataclass(frozen=True, repr=False)
class InBlocks(Pattern):
    """A pattern of whole blocks: a pair is allowed where the blocks of its query and key are (BigBird, appendix D)."""

    size: int
    part: Pattern

    op = "in_blocks"

    @property
    def relates(self) -> bool:
        return self.part.relates

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return (self.part,)

    @property
    def grain(self) -> int:
        return self.size * self.part.grain

    def alike(self, q: Span, k: Span, at: At) -> tuple[Tensor, ...]:
        part = self.part.signature(q.in_blocks(self.size), k.in_blocks(self.size), self._coarse(at))
        return q.first % self.size, k.first % self.size, *part

    def _coarse(self, at: At) -> At:
        return At(at.line.in_blocks(self.size), at.b, at.h)

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        return self.part.allows(q // self.size, k // self.size, self._coarse(at))

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        return self.part.blocks(q.in_blocks(self.size), k.in_blocks(self.size), self._coarse(at))

    def check(self, line: Line) -> None:
        self.part.check(line.in_blocks(self.size))

    def axes(self) -> tuple[int, int]:
        return self.part.axes()

    def fields(self) -> dict[str, Any]:
        return {"size": self.size, "part": self.part.node()}

    def __repr__(self) -> str:
        return f"in_blocks({self.size}, {self.part!r})"

    @property
    def name(self) -> str:
        return self.title or f"{self.part.name}, in blocks of {self.size}"

    @property
    def formula(self) -> str:
        return rf"({self.part.formula})\big|_{{q,k \to \lfloor q/{self.size} \rfloor, \lfloor k/{self.size} \rfloor}}"


def cells(*pairs: tuple[int, int]) -> Pattern:
    """Exactly these pairs (position of the query, position of the key), painted by hand; those outside fall away."""
    for pair in pairs:
        if not (isinstance(pair, Sequence) and len(pair) == 2):
            raise ValueError(f"cells: {pair!r} is not a pair; write cells((query, key), …)")
    remedy = "places count from 0"
    places = [tuple(whole("cells", "place", place, 0, remedy) for place in pair) for pair in pairs]
    return Cells(tuple((q, k) for q, k in dict.fromkeys(places)))


def table(allowed: Any, block: int = 1) -> Pattern:
    """A given table: bool or 0/1, (T, S), (N, T, S) or (B, N, T, S), by the rows of the grid.

    `block` > 1: each entry stands for block × block pairs, as in the published plans of BigBird.
    """
    size = whole("table", "block", block, 1, "1 is a table of single pairs")
    return Table(truth("table", "allowed", allowed, (2, 3, 4)), size)


def per_head(*patterns: Pattern) -> Pattern:
    """A pattern of its own for each head, in order (Longformer dilates two heads only)."""
    if not patterns:
        raise ValueError("per_head: no pattern given; give one for each head")
    for pattern in patterns:
        if not isinstance(pattern, Pattern) or pattern.axes()[1] != 1:
            raise ValueError(f"per_head: {pattern!r} is not a pattern of one head; give plain patterns, one a head")
    return PerHead(patterns)


def in_blocks(size: int, pattern: Pattern) -> Pattern:
    """The pattern taken over whole blocks of `size` tokens: `in_blocks(64, window(3))` is BigBird's local attention."""
    size = whole("in_blocks", "size", size, 1, "BigBird's blocks have 64")
    if not isinstance(pattern, Pattern):
        raise ValueError(f"in_blocks: {pattern!r} is not a pattern; write in_blocks(64, window(3))")
    return InBlocks(size, pattern)
