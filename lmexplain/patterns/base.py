"""A pattern says who may attend to whom. It is a value without lengths; `at` takes it at given lengths (`Grid`).

Positions: the keys stand on a line, 0 … S-1. Row t of the queries stands at position `t + start` of that line.
`True` means *may attend*, everywhere.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .grid import Grid

__all__ = ["ALL", "NONE", "SOME", "SPEC_VERSION", "And", "Line", "Not", "Or", "Pattern", "Span"]

NONE, SOME, ALL = 0, 1, 2
"""What a block of queries by keys holds: no pair, some pairs (may turn out none or all), every pair."""

SPEC_VERSION = 1


@dataclass(frozen=True)
class Line:
    """The lengths a pattern is taken at: `queries` T, `keys` S, and the place of the first query among the keys.

    `start` is None in cross-attention, where queries and keys do not stand on one line.
    """

    queries: int
    keys: int
    start: int | None

    @property
    def offset(self) -> int:
        return self.start or 0

    def in_blocks(self, size: int) -> Line:
        """The line whose places are whole blocks of `size` tokens, from the first query's block to the last one's."""
        first, last = self.offset // size, (self.offset + max(self.queries, 1) - 1) // size
        start = None if self.start is None else first
        return Line(last - first + 1, math.ceil(self.keys / size), start)


@dataclass(frozen=True)
class Span:
    """Blocks of neighbouring positions, each from `first` to `last` inclusive; both ascend from block to block."""

    first: Tensor
    last: Tensor

    @property
    def length(self) -> Tensor:
        return self.last - self.first + 1

    def in_blocks(self, size: int) -> Span:
        return Span(self.first // size, self.last // size)

    @property
    def flat(self) -> Span:
        return Span(self.first.flatten(), self.last.flatten())


@dataclass(frozen=True)
class At:
    """Where a pattern is asked: the line, and sample `b` and head `h` as tensors that broadcast with the positions."""

    line: Line
    b: Tensor
    h: Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Pattern:
    """Who may attend to whom, for any lengths. Frozen and hashable; composed by `|`, `&` and `~`.

    A primitive answers three things for itself: `allows` (cell by cell), `blocks` (none, some or all of a block) and
    `alike` (which blocks look alike). Patterns made from data (padding, segments, orders) compare by identity.
    """

    title: str = field(default="", compare=False, kw_only=True)

    op: ClassVar[str] = ""

    # what a primitive says of itself

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        """Positions q and k on the key line (broadcastable, int64) -> bool of their common shape."""
        raise TypeError(f"{type(self).__name__} does not say which pairs it allows; define allows(q, k, at)")

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        """Spans of queries (nQ, 1) and keys (nK,) -> int8 (…, nQ, nK) of NONE, SOME, ALL."""
        raise TypeError(f"{type(self).__name__} does not say which blocks it allows; define blocks(q, k, at)")

    def alike(self, q: Span, k: Span, at: At) -> tuple[Tensor, ...]:
        """Numbers that tell apart blocks of different content. The default holds every block for different."""
        return at.b, at.h, q.first, k.first

    @property
    def relates(self) -> bool:
        """Whether the pattern compares the places of queries and keys (then cross-attention is refused)."""
        return True

    def check(self, line: Line) -> None:
        """Raise ValueError where the pattern makes no sense at these lengths, before any compute."""

    def axes(self) -> tuple[int, int]:
        """How many samples and heads the pattern tells apart (1 where it tells none apart)."""
        return 1, 1

    def fields(self) -> dict[str, Any]:
        """The parameters as JSON values, in the order of the primitive's function."""
        return {}

    @property
    def name(self) -> str:
        """A short English name."""
        return self.title or " ".join([self.op.replace("_", " "), *(str(v) for v in self.fields().values())])

    @property
    def formula(self) -> str:
        r"""The allowed pairs as a condition in LaTeX, for a query at q and a key at k."""
        return rf"\text{{{self.op}}}(q,k)"

    @property
    def grain(self) -> int:
        """The block of tokens that the pattern treats alike (1: single tokens); a good multiple for block sizes."""
        return 1

    # the tree

    @property
    def parts(self) -> tuple[Pattern, ...]:
        """The patterns this one is made of."""
        return ()

    def leaves(self, h: int = 0) -> tuple[Pattern, ...]:
        """The parts that are neither `|` nor `&`, in the order written; of `per_head`, those of head `h`."""
        return (self,)

    def because(self, q: Tensor, k: Tensor, at: At, open: Tensor) -> Iterator[tuple[Pattern, Tensor]]:
        """Each leaf with where it allows the pair, if it is `open`: a part of `&` counts only where all parts allow."""
        yield self, open & self.allows(q, k, at)

    def entries(self, line: Line) -> tuple[Tensor, Tensor] | None:
        """All allowed pairs as positions (E,), (E,) where they can be listed shortly and differ; else None."""
        return None

    def signature(self, q: Span, k: Span, at: At) -> list[Tensor]:
        """Numbers per block, equal only where blocks of equal shape hold the same cells."""
        state = self.blocks(q, k, at).long()
        return [state, *(torch.where(state == SOME, value, -1) for value in self.alike(q, k, at))]

    # what everybody uses

    def at(self, queries: int, keys: int | None = None, start: int | None | str = "end") -> Grid:
        """The grid of this pattern for T queries and S keys (default: as many).

        `start` is the position of the first query among the keys. By default the last query meets the last key
        (S - T), so that cached keys and memories align; None is cross-attention.
        Raises ValueError where the lengths are impossible or the pattern does not fit them.
        """
        from .grid import grid

        return grid(self, queries, keys, start)

    def titled(self, title: str) -> Self:
        """The same pattern under a name of your own; the title is not compared."""
        return replace(self, title=title)

    @property
    def spec(self) -> dict[str, Any]:
        """The pattern as a JSON tree, which the command line, links and the browser speak; read by `from_spec`."""
        return {"version": SPEC_VERSION, **self.node()}

    def node(self) -> dict[str, Any]:
        return {"op": self.op, **self.fields(), **({"title": self.title} if self.title else {})}

    def __or__(self, other: Pattern) -> Pattern:
        return Or(_flat(Or, self, _joined(self, "|", other)))

    def __and__(self, other: Pattern) -> Pattern:
        return And(_flat(And, self, _joined(self, "&", other)))

    def __invert__(self) -> Pattern:
        return Not(self)

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(_argument(value) for value in self.fields().values())})"


def _joined(pattern: Pattern, sign: str, other: Any) -> Pattern:
    """The other side of a composition; TypeError where it is no pattern."""
    if not isinstance(other, Pattern):
        raise TypeError(f"{pattern!r} {sign} {other!r:.60}: the second is no pattern but of type "
                        f"{type(other).__name__}; write for example window(4) {sign} global_tokens(0)")
    return other


def _argument(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 400 else text[:60] + " … " + text[-20:]


def _flat(kind: type, *patterns: Pattern) -> tuple[Pattern, ...]:
    """One level of the same operation: (a | b) | c is a | b | c."""
    return tuple(part for pattern in patterns for part in (pattern.parts if isinstance(pattern, kind) else (pattern,)))


@dataclass(frozen=True, repr=False)
class _Composed(Pattern):
    """Several patterns, cell by cell under one operation."""

    members: tuple[Pattern, ...]

    sign: ClassVar[str] = ""
    latex: ClassVar[str] = ""
    over_cells: ClassVar[Callable[[Tensor, Tensor], Tensor]]
    over_blocks: ClassVar[Callable[[Tensor, Tensor], Tensor]]

    @property
    def relates(self) -> bool:
        return any(part.relates for part in self.members)

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return self.members

    def leaves(self, h: int = 0) -> tuple[Pattern, ...]:
        return tuple(leaf for part in self.members for leaf in part.leaves(h))

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        return reduce(type(self).over_cells, (part.allows(q, k, at) for part in self.members))

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        return reduce(type(self).over_blocks, (part.blocks(q, k, at) for part in self.members))

    def signature(self, q: Span, k: Span, at: At) -> list[Tensor]:
        return [value for part in self.members for value in part.signature(q, k, at)]

    def check(self, line: Line) -> None:
        for part in self.members:
            part.check(line)

    def axes(self) -> tuple[int, int]:
        return broadcast_axes(*(part.axes() for part in self.members))

    @property
    def grain(self) -> int:
        return math.lcm(*(part.grain for part in self.members))

    def fields(self) -> dict[str, Any]:
        return {"parts": [part.node() for part in self.members]}

    @property
    def name(self) -> str:
        return self.title or f" {self.sign} ".join(_grouped(part, part.name) for part in self.members)

    @property
    def formula(self) -> str:
        return rf" {self.latex} ".join(_grouped(part, part.formula) for part in self.members)

    def __repr__(self) -> str:
        return f" {self.sign} ".join(_grouped(part, repr(part)) for part in self.members)


def _grouped(part: Pattern, text: str) -> str:
    return f"({text})" if isinstance(part, _Composed) and text != part.title else text


def broadcast_axes(*axes: tuple[int, int]) -> tuple[int, int]:
    """The common number of samples and heads of several patterns; raises ValueError where they disagree."""
    sizes = []
    for what, given in zip(("samples", "heads"), zip(*axes, strict=True), strict=True):
        several = sorted(set(given) - {1})
        if len(several) > 1:
            counts = " and ".join(map(str, several))
            raise ValueError(f"parts of one pattern speak of {counts} {what}; give all the same")
        sizes.append(several[0] if several else 1)
    return sizes[0], sizes[1]


@dataclass(frozen=True, repr=False)
class Or(_Composed):
    """A pair is allowed where any part allows it."""

    op = "or"
    sign = "|"
    latex = r"\lor"
    over_cells = operator.or_
    over_blocks = torch.maximum

    def because(self, q: Tensor, k: Tensor, at: At, open: Tensor) -> Iterator[tuple[Pattern, Tensor]]:
        for part in self.members:
            yield from part.because(q, k, at, open)


@dataclass(frozen=True, repr=False)
class And(_Composed):
    """A pair is allowed where every part allows it. Two SOME blocks may share no cell: SOME is on the safe side."""

    op = "and"
    sign = "&"
    latex = r"\land"
    over_cells = operator.and_
    over_blocks = torch.minimum

    def because(self, q: Tensor, k: Tensor, at: At, open: Tensor) -> Iterator[tuple[Pattern, Tensor]]:
        open = open & self.allows(q, k, at)
        for part in self.members:
            yield from part.because(q, k, at, open)


@dataclass(frozen=True, repr=False)
class Not(Pattern):
    """A pair is allowed where the part does not allow it."""

    part: Pattern

    op = "not"

    @property
    def relates(self) -> bool:
        return self.part.relates

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return (self.part,)

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        return ~self.part.allows(q, k, at)

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        return ALL - self.part.blocks(q, k, at)

    def signature(self, q: Span, k: Span, at: At) -> list[Tensor]:
        return self.part.signature(q, k, at)

    def check(self, line: Line) -> None:
        self.part.check(line)

    def axes(self) -> tuple[int, int]:
        return self.part.axes()

    @property
    def grain(self) -> int:
        return self.part.grain

    def fields(self) -> dict[str, Any]:
        return {"part": self.part.node()}

    @property
    def name(self) -> str:
        return self.title or f"not {_grouped(self.part, self.part.name)}"

    @property
    def formula(self) -> str:
        return rf"\lnot({self.part.formula})"

    def __repr__(self) -> str:
        return f"~{_grouped(self.part, repr(self.part))}"
