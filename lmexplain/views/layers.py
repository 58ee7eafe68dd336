"""What a figure of a pattern draws: for each part the share of allowed pairs in each square of the matrix.

Up to 64 × 64 a square is a cell; longer grids are gathered into squares of several tokens a side.
"""

from dataclasses import dataclass

import numpy as np

from ..patterns import Grid
from ..words import word
from .names import counted_names, name
from .palette import Look, look, looks_of

__all__ = ["EXACT", "READABLE", "Layer", "counts_of", "difference", "parts_of", "shares_of", "square_of"]

READABLE = 64            # up to so many rows and columns every cell is drawn on its own, with its mark and its label
PIXELS = 128             # longer grids are gathered into at most so many squares a side: a row of one is still seen
EXACT = 4096**2          # up to so many cells each is asked for its reason; above, blocks are


@dataclass(frozen=True, eq=False)
class Layer:
    """The cells of one part: `share` (rows, columns) of each square, 0 to 1; its look, its name, its count of pairs."""

    share: np.ndarray
    look: Look
    label: str
    count: int | None      # None where blocks were asked, not cells


def parts_of(
    grid: Grid, size: int, sample: int = 0, head: int = 0, lang: str = "en", dark: bool = False
) -> list[Layer]:
    """One layer for each part of the pattern that a pair can be counted for (`counted_names`), in the order written.

    `size`: tokens a side of each square.
    """
    names, parts = counted_names(grid, lang, head), grid.parts(head)
    shown = [(index, part, look_, label) for index, (part, look_, label)
             in enumerate(zip(parts, looks_of(parts, dark), names, strict=True)) if label is not None]
    if grid.T * grid.S <= EXACT:
        reasons = grid.reasons(sample, head).numpy()
        masks = [reasons == index for index, *_ in shown]
        return [Layer(_gathered(mask, size), look_, label, int(mask.sum()))
                for mask, (_, _, look_, label) in zip(masks, shown, strict=True)]
    free = _block_share(grid, size, sample, head)
    layers = []
    for _, part, look_, label in shown:
        own = np.minimum(_block_share(part.at(grid.T, grid.S, grid.start), size, sample, head), free)
        layers.append(Layer(own, look_, label, None))
        free = np.where(own > 0, 0, free)
    return layers


def difference(
    grid: Grid, other: Grid, size: int, sample: int = 0, head: int = 0, lang: str = "en", dark: bool = False
) -> list[Layer]:
    """Three layers: what both allow, what only the first allows, what only the second."""
    roles = ("both", "only_a", "only_b")
    labels = [word(f"figure.{key}", lang, a=name(grid.pattern, lang), b=name(other.pattern, lang)) for key in roles]
    looks = [look(key, dark) for key in roles]
    if grid.T * grid.S > EXACT:
        a, b = (_block_share(each, size, *_within(each, sample, head)) for each in (grid, other))
        shares = np.minimum(a, b), np.where(b == 0, a, 0), np.where(a == 0, b, 0)
        return [Layer(share, look_, label, None) for share, look_, label in zip(shares, looks, labels, strict=True)]
    rows, columns = slice(0, grid.T), slice(0, grid.S)
    a = grid.region(rows, columns, sample, head).numpy()
    b = other.region(rows, columns, *_within(other, sample, head)).numpy()
    return [Layer(_gathered(mask, size), look_, label, int(mask.sum()))
            for mask, look_, label in zip((a & b, a & ~b, b & ~a), looks, labels, strict=True)]


def _within(grid: Grid, sample: int, head: int) -> tuple[int, int]:
    """The same sample and head, or the only one there is."""
    samples, heads = grid.lead or (1, 1)
    return min(sample, samples - 1), min(head, heads - 1)


def square_of(rows: int, columns: int) -> int:
    """How many tokens a side each drawn square gathers."""
    return -(-max(rows, columns) // PIXELS) if max(rows, columns) > READABLE else 1


def _gathered(mask: np.ndarray, size: int) -> np.ndarray:
    """(T, S) bool -> the share of True in each square, float32; squares at the edge count their own cells only."""
    if size == 1:
        return mask.astype(np.float32)
    starts = [np.arange(0, length, size) for length in mask.shape]
    sums = np.add.reduceat(np.add.reduceat(mask, starts[0], axis=0, dtype=np.int32), starts[1], axis=1)
    sides = [np.diff(first, append=length) for first, length in zip(starts, mask.shape, strict=True)]
    return (sums / np.outer(*sides)).astype(np.float32)


def _block_share(grid: Grid, size: int, sample: int, head: int) -> np.ndarray:
    """For grids too long to ask every cell: 0 where a square holds none, 0.5 some, 1 all."""
    state = grid.blocks(size).numpy()
    return (state[_within(grid, sample, head)] if grid.lead else state) / np.float32(2)


def counts_of(grid: Grid, other: Grid | None, layers: list[Layer], sample: int, head: int) -> list[tuple[Grid, int]]:
    """The grid, and the one it is compared with, each with its number of pairs in this sample and head."""
    if other is None:
        return [(grid, _count(grid, layers, sample, head))]
    both, *only = layers
    return [(each, _count(each, [both, own], *_within(each, sample, head)))
            for each, own in zip((grid, other), only, strict=True)]  # fmt: skip


def _count(grid: Grid, layers: list[Layer], sample: int, head: int) -> int:
    """Allowed pairs: those drawn, where each cell was asked; else counted by the grid."""
    drawn = [layer.count for layer in layers if layer.count is not None]
    if len(drawn) == len(layers):
        return sum(drawn)
    pairs = grid.pairs()
    return pairs if isinstance(pairs, int) else int(pairs[sample, head])


def shares_of(counts: list[tuple[Grid, int]], lang: str = "en") -> list[str]:
    """For each grid a line: so many of all its pairs, and their share; under its name where there are several."""
    lines = []
    for grid, pairs in counts:
        total = grid.T * grid.S
        line = word("figure.pairs", lang, pairs=f"{pairs:,}", all=f"{total:,}", share=f"{pairs / total:.1%}")
        lines.append(line if len(counts) == 1 else f"{name(grid.pattern, lang)}: {line}")
    return lines
