"""A grid is a pattern at given lengths: it answers cell by cell, block by block, and in exact counts."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from .arguments import whole
from .base import ALL, SOME, And, At, Line, Not, Or, Pattern, Span
from .made import PerHead

__all__ = ["Cost", "Grid", "reach"]


@dataclass(frozen=True)
class Cost:
    """What attention along a grid costs, beside full attention of the same lengths.

    `flops`: floating-point operations of QKᵀ and AV (a multiply-add is two; the softmax, some 5 per pair, is left out).
    `bytes`: the attention scores held at once by an execution that keeps them.
    """

    pairs: int
    share: float
    flops: int
    bytes: int
    full_flops: int
    full_bytes: int


@dataclass(frozen=True)
class Grid:
    """A pattern for T queries and S keys; made by `pattern.at(queries, keys, start)`."""

    pattern: Pattern
    line: Line

    @property
    def T(self) -> int:
        """Number of queries."""
        return self.line.queries

    @property
    def S(self) -> int:
        """Number of keys."""
        return self.line.keys

    @property
    def start(self) -> int | None:
        """Position of the first query among the keys; None in cross-attention."""
        return self.line.start

    @cached_property
    def lead(self) -> tuple[int, ...]:
        """(B, N) where the pattern tells samples or heads apart, 1 for the one it does not tell apart; else ()."""
        axes = self.pattern.axes()
        return () if axes == (1, 1) else axes

    def __call__(self, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        """Row q of the grid and key k in sample b and head h (broadcastable int tensors) -> bool of their shape.

        This is the `mask_mod` of FlexAttention.
        """
        return self.pattern.allows(q + self.line.offset, k, At(self.line, b, h))

    def dense(self, device: torch.device | str | None = None) -> Tensor:
        """(*lead, T, S) bool: True where the query may attend to the key."""
        q, k = torch.arange(self.T, device=device)[:, None], torch.arange(self.S, device=device)[None, :]
        return self(*self._lead_index(device), q, k).expand(*self.lead, self.T, self.S).contiguous()

    def region(self, rows: slice, columns: slice, b: int = 0, h: int = 0) -> Tensor:
        """(rows, columns) bool: the cells of one rectangle of sample b and head h, computed without the rest."""
        self._inside("region", b, h)
        q, k = torch.arange(self.T)[rows, None], torch.arange(self.S)[None, columns]
        return self(*_scalars(b, h), q, k).expand(len(q), k.shape[1])

    def blocks(self, size: int | tuple[int, int]) -> Tensor:
        """(*lead, nQ, nK) int8: does a block of queries by keys hold NONE, SOME or ALL of its pairs?

        `size`: tokens per block, one number or (queries, keys). The last block of each axis may be shorter. SOME is on
        the safe side: it may turn out to be none or all.
        """
        q, k = self._spans(size)
        return self.pattern.blocks(q, k, self._at()).expand(*self.lead, len(q.first), k.first.shape[1])

    def signature(self, size: int | tuple[int, int]) -> Tensor:
        """(*lead, nQ, nK, F) int64: blocks of one shape whose signatures agree hold the same cells."""
        q, k = self._spans(size)
        shape = (*self.lead, len(q.first), k.first.shape[1])
        return torch.stack([v.expand(shape) for v in self.pattern.signature(q, k, self._at())], dim=-1)

    def pairs(self) -> int | Tensor:
        """The exact number of allowed pairs; an int, or int64 (B, N) where the pattern tells samples or heads apart."""
        if not self.lead:
            return _count(self.pattern, self, 0, 0)
        B, N = self.lead
        return torch.tensor([[_count(self.pattern, self, b, h) for h in range(N)] for b in range(B)])

    def cost(self, width: int = 64, heads: int = 1, bytes: int = 4) -> Cost:
        """FLOPs and bytes of attention along the grid; `width` D of a head, `bytes` of a score.

        `heads` counts unless the pattern has its own. Samples are summed.
        """
        for name, value in (("width", width), ("heads", heads), ("bytes", bytes)):
            if value < 1:
                raise ValueError(f"cost: {name} is {value}, the least is 1; give the size of your model")
        counted = self.pairs()
        repeated = heads if len(self.lead) < 2 or self.lead[1] == 1 else 1
        pairs = int(counted if isinstance(counted, int) else counted.sum()) * repeated
        full = self.T * self.S * math.prod(self.lead) * repeated
        share = pairs / full if full else 0.0
        return Cost(pairs, share, 4 * width * pairs, bytes * pairs, 4 * width * full, bytes * full)

    # why and how far

    def parts(self, h: int = 0) -> tuple[Pattern, ...]:
        """The parts that are neither `|` nor `&`, in the order written; with `per_head`, those of head h."""
        return self.pattern.leaves(h)

    def why(self, q: int, k: int, b: int = 0, h: int = 0) -> tuple[Pattern, ...]:
        """Every part that allows row q to attend to key k, in the order written; () where it may not."""
        self._inside("why", b, h, q=(q, self.T), k=(k, self.S))
        row, key = torch.tensor([[q + self.line.offset]]), torch.tensor([[k]])
        everywhere = torch.ones(1, 1, dtype=torch.bool)
        reasons = self.pattern.because(row, key, At(self.line, *_scalars(b, h)), everywhere)
        return tuple(part for part, allows in reasons if bool(allows))

    def reasons(self, b: int = 0, h: int = 0) -> Tensor:
        """(T, S) int16: which of `parts(h)` allows the pair first; -1 where the pair is not allowed."""
        q, k = torch.arange(self.T)[:, None] + self.line.offset, torch.arange(self.S)[None, :]
        self._inside("reasons", b, h)
        reason = torch.full((self.T, self.S), -1, dtype=torch.int16)
        reasons = self.pattern.because(q, k, At(self.line, *_scalars(b, h)), torch.ones_like(reason, dtype=torch.bool))
        for index, (_, allows) in enumerate(reasons):
            reason[allows & (reason < 0)] = index
        return reason

    def path(self, i: int, j: int, b: int = 0, h: int | None = None) -> list[int] | None:
        """Positions from the query at i to the key at j, one layer a step, as few as there are; None if out of reach.

        i and j are positions on the key line (in cross-attention i is the row). Cached keys before `start` have no row.
        `h=None` takes at each step whichever head allows it, as `reach` does.
        """
        first = self.line.offset
        if not first <= i < first + self.T:
            raise ValueError(f"path: no query stands at {i}; the queries are {first} … {first + self.T - 1}")
        self._inside("path", b, h or 0, j=(j, self.S))
        came_from = {i: i}
        frontier = [i]
        while frontier and j not in came_from:
            rows = self.rows(torch.tensor(frontier) - first, b, h)
            rows[:, list(came_from) if self.start is not None else []] = False
            reached = rows.any(dim=0).nonzero().flatten().tolist()
            came_from.update((k, frontier[int(rows[:, k].int().argmax())]) for k in reached)
            frontier = [k for k in reached if first <= k < first + self.T] if self.start is not None else []
        if self.start is None and bool(self.rows(torch.tensor([i]), b, h)[0, j]):
            return [i, j]
        return _walk(came_from, i, j) if self.start is not None and j in came_from else None

    def rows(self, index: Tensor, b: int = 0, h: int | None = 0, columns: Tensor | None = None) -> Tensor:
        """(len(index), S) bool: these rows alone, of all keys or of `columns`; h=None unites the heads."""
        self._inside("rows", b, h or 0)
        heads = range(self.pattern.axes()[1]) if h is None else [h]
        k = (torch.arange(self.S) if columns is None else columns)[None, :]
        several = [self(*_scalars(b, head), index[:, None], k).expand(len(index), k.shape[1]) for head in heads]
        return torch.stack(several).any(dim=0)

    # inside

    def _lead_index(self, device: torch.device | str | None = None) -> tuple[Tensor, Tensor]:
        if not self.lead:
            return _scalars(0, 0, device)
        B, N = self.lead
        return torch.arange(B, device=device).view(B, 1, 1, 1), torch.arange(N, device=device).view(1, N, 1, 1)

    def _inside(self, what: str, b: int, h: int, **places: tuple[int, int]) -> None:
        """Refuse a sample, a head or a place that is not there. A pattern that tells none apart has them all alike."""
        B, N = self.pattern.axes()
        places |= {name: (index, count) for name, index, count in (("b", b, B), ("h", h, N)) if count > 1 or index < 0}
        for name, (value, limit) in places.items():
            if not 0 <= value < limit:
                raise ValueError(f"{what}: {name} = {value} is outside 0 … {limit - 1}; choose one inside the grid")

    def _at(self) -> At:
        return At(self.line, *self._lead_index())

    def _spans(self, size: int | tuple[int, int]) -> tuple[Span, Span]:
        q_size, k_size = (
            whole("blocks", "size", value, 1, "give the tokens of a block")
            for value in (size if isinstance(size, tuple) else (size, size))
        )
        q, k = _cut(self.T, q_size, self.line.offset), _cut(self.S, k_size, 0)
        return Span(q.first[:, None], q.last[:, None]), Span(k.first[None, :], k.last[None, :])


def grid(pattern: Pattern, queries: int, keys: int | None, start: int | None | str) -> Grid:
    """Behind `Pattern.at`, where the arguments are described."""
    if isinstance(start, str) and start != "end":
        raise ValueError(f"at: start is {start!r}; give a position, None for cross-attention, or leave it out")
    T = whole("at", "queries", queries, 1, "a grid needs at least one")
    S = T if keys is None else whole("at", "keys", keys, 1, "a grid needs at least one")
    first = S - T if isinstance(start, str) else start
    pattern.axes()                                  # parts that speak of different samples or heads are refused here
    if first is None:
        if pattern.relates:
            raise ValueError(
                f"{pattern.name} compares the places of queries and keys, which cross-attention (start=None) does not "
                f"put on one line; use full(), padding(…) or a table there"
            )
    elif not hasattr(first, "__index__") or not 0 <= (first := operator.index(first)) <= S - T:
        raise ValueError(
            f"at: {T} queries from position {first} on do not lie among {S} keys; give start from 0 to {max(S - T, 0)} "
            f"with at least as many keys as queries, or start=None for cross-attention"
        )
    line = Line(T, S, first)
    pattern.check(line)
    return Grid(pattern, line)


def reach(
    grids: Sequence[Grid], residual: bool | Sequence[bool] = True, queries: Sequence[int] | None = None
) -> Tensor:
    """The receptive field of a stack: which bottom keys each top query can draw on -> bool (T or len(queries), S).

    `grids`: the layers, bottom to top. `residual`: whether a token's own state passes a layer by (one bool, or one per
    layer: XLNet's query stream has none, Q·(C ∪ I)^(L-1)). Cached keys stand for themselves alone; heads are united;
    a grid without `start` (cross-attention) changes from its queries to its keys. `queries`: only these rows of the
    top. Where the patterns tell samples apart there is a first axis B.
    Raises ValueError where the lengths of two layers do not meet.
    """
    layers = list(grids)
    if not layers:
        raise ValueError("reach: no grid given; give one for each layer, bottom to top")
    passes = [residual] * len(layers) if isinstance(residual, bool) else list(residual)
    if len(passes) != len(layers):
        raise ValueError(f"reach: {len(passes)} residuals for {len(layers)} layers; give one for each")
    for below, above in zip(layers, layers[1:], strict=False):
        width = below.S if below.start is not None else below.T
        if above.S != width:
            raise ValueError(f"reach: a layer reads {above.S} keys where the one below it gives {width}; match them")
    samples = max(layer.pattern.axes()[0] for layer in layers)
    top = layers[-1]
    chosen = torch.arange(top.T) if queries is None else torch.tensor(list(queries), dtype=torch.int64)
    if len(chosen) and not bool(((chosen >= 0) & (chosen < top.T)).all()):
        raise ValueError(f"reach: queries {list(chosen.tolist())} are not all rows of the top, 0 … {top.T - 1}")
    fields = [_field(layers, passes, chosen, b) for b in range(samples)]
    return fields[0] if samples == 1 else torch.stack(fields)


def _field(layers: list[Grid], passes: list[bool], rows: Tensor, b: int) -> Tensor:
    """Walk from the top down, one set of reached positions per chosen row: the boolean product of the layers."""
    top = layers[-1]
    reached = torch.zeros(len(rows), top.S if top.start is not None else top.T, dtype=torch.bool)
    reached[torch.arange(len(rows)), rows + top.line.offset] = True
    touched = {layer: _touched(layer, b) for layer in set(layers)}
    for n, layer in reversed(list(enumerate(layers))):
        below = _through(layer, touched[layer], reached, passes[n], b)
        if passes[n] and torch.equal(below, reached) and set(layers[:n]) <= {layer} and all(passes[:n]):
            break                                   # nothing new was reached, and the layers below are the same
        reached = below
    return reached


_ROWS = 128


def _touched(layer: Grid, b: int) -> Tensor:
    """(nQ, S) bool: keys that some row of each block of rows may attend to, in any head; on the safe side."""
    state = layer.blocks(_ROWS)
    if layer.lead:
        state = state[min(b, layer.lead[0] - 1)].amax(dim=0)
    return (state > 0).repeat_interleave(_ROWS, dim=1)[:, : layer.S]


def _through(layer: Grid, touched: Tensor, reached: Tensor, passes_by: bool, b: int) -> Tensor:
    """One layer down: what the reached positions attend to, and themselves where they pass the layer by."""
    sample = min(b, layer.pattern.axes()[0] - 1)
    first = layer.line.offset
    below = torch.zeros(len(reached), layer.S, dtype=torch.bool)
    if layer.start is not None:
        below |= reached
        if not passes_by:
            below[:, first : first + layer.T] = False
    own = reached[:, first : first + layer.T] if layer.start is not None else reached
    for rows, seen, keys in zip(torch.arange(layer.T).split(_ROWS), own.split(_ROWS, dim=1), touched, strict=True):
        if bool(seen.any()):
            columns = keys.nonzero().flatten()
            allowed = layer.rows(rows, sample, h=None, columns=columns)
            # float32 sums of at most 128 zeros and ones are exact
            below[:, columns] |= (seen.float() @ allowed.float()) > 0
    return below


# ── exact counts ──────────────────────────────────────────────────────────────────────────────────────────────────


def _count(pattern: Pattern, grid: Grid, b: int, h: int) -> int:
    """Allowed pairs of one sample and head. Listed parts (random) are counted pair by pair, the rest in blocks."""
    if isinstance(pattern, PerHead):
        return _count(pattern.heads[h], grid, b, 0)
    if isinstance(pattern, Not):
        return grid.T * grid.S - _count(pattern.part, grid, b, h)
    listed = pattern.entries(grid.line)
    if listed is not None:
        return len(listed[0])
    if isinstance(pattern, Or | And):
        for index, part in enumerate(pattern.parts):
            entries = part.entries(grid.line)
            if entries is not None:
                rest = _without(pattern, index)
                also = rest.allows(*entries, At(grid.line, *_scalars(b, h)))
                if isinstance(pattern, And):
                    return int(also.sum())
                return _count(rest, grid, b, h) + int((~also).sum())
    return _count_blocks(Grid(pattern, grid.line), b, h)


def _without(pattern: Or | And, index: int) -> Pattern:
    rest = pattern.parts[:index] + pattern.parts[index + 1 :]
    return rest[0] if len(rest) == 1 else type(pattern)(rest)


def _count_blocks(grid: Grid, b: int, h: int) -> int:
    """Whole blocks by their area; of the others, each kind (by shape and signature) is looked into once."""
    size = _block_size(grid)
    q, k = grid._spans(size)
    at = At(grid.line, *_scalars(b, h))
    shape = (len(q.first), k.first.shape[1])
    state = grid.pattern.blocks(q, k, at).expand(shape)
    pairs = int((q.length * k.length * (state == ALL)).sum())
    some = (state == SOME).nonzero()
    if not len(some):
        return pairs
    alike = torch.stack([v.expand(shape)[state == SOME] for v in grid.pattern.signature(q, k, at)], dim=1)
    extents = torch.stack([q.length.expand(shape)[state == SOME], k.length.expand(shape)[state == SOME]], dim=1)
    for (i, j), times in _kinds(torch.cat([extents, alike], dim=1), some):
        rows, columns = slice(i * size, (i + 1) * size), slice(j * size, (j + 1) * size)
        pairs += times * int(grid.region(rows, columns, b, h).sum())
    return pairs


def _kinds(signature: Tensor, where: Tensor) -> Iterator[tuple[tuple[int, int], int]]:
    """One example (i, j) of each different row of `signature`, and how often it occurs."""
    _, kind, times = signature.unique(dim=0, return_inverse=True, return_counts=True)
    example = torch.empty(len(times), dtype=torch.int64)
    example[kind] = torch.arange(len(kind))
    for index, count in zip(example.tolist(), times.tolist(), strict=True):
        i, j = where[index].tolist()
        yield (i, j), count


def _block_size(grid: Grid) -> int:
    """The pattern's own blocks where it has any (then most are none or all), else 128."""
    grain = grid.pattern.grain
    return 128 if grain == 1 or grain > 512 else grain * -(-32 // grain)


# ── helpers ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _scalars(b: int, h: int, device: torch.device | str | None = None) -> tuple[Tensor, Tensor]:
    return torch.tensor(b, device=device), torch.tensor(h, device=device)


def _cut(length: int, size: int, offset: int) -> Span:
    first = torch.arange(0, length, size)
    return Span(first + offset, (first + size).clamp(max=length) - 1 + offset)


def _walk(came_from: dict[int, int], i: int, j: int) -> list[int]:
    steps = [j]
    while steps[-1] != i:
        steps.append(came_from[steps[-1]])
    return steps[::-1]
