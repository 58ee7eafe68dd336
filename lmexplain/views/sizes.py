"""From a pattern, or its grid, and what the caller gives of lengths and tokens to the one grid that is drawn."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..patterns import Grid, Pattern
from ..text import Encoding, read

__all__ = ["MOST_TOKENS", "beside", "labels", "lengths", "prepare"]

MOST_TOKENS = 4096
"""What the explorers take; longer grids can still be drawn as a figure, by blocks."""

LEAST_SHOWN = 16


def prepare(
    pattern: Pattern | Grid,
    tokens: str | Sequence[str] | Encoding | None = None,
    queries: int | None = None,
    keys: int | None = None,
    start: int | None | str = "end",
) -> tuple[Grid, tuple[str, ...] | None]:
    """The grid to draw, and the labels of its keys (S) or None.

    `tokens`: a text, an `Encoding`, or the labels themselves. A length that nobody gives follows from the others, or
    from the pattern (`lengths`). A Grid keeps its lengths.
    Raises TypeError and ValueError naming what does not fit.
    """
    shown = labels(tokens)
    if isinstance(pattern, Grid):
        if queries is not None or keys is not None or start != "end":
            raise ValueError("lengths given for a Grid, which has its own; give the pattern instead, or leave them out")
        grid = pattern
    elif isinstance(pattern, Pattern):
        T, S = lengths(pattern, keys if keys is not None or shown is None else len(shown), queries)
        grid = pattern.at(T, S, start)
    else:
        raise TypeError(f"{type(pattern).__name__} can't be drawn here; give a Pattern such as window(4), or its grid")
    if shown is not None and len(shown) != grid.S:
        raise ValueError(f"{len(shown)} tokens for {grid.S} keys; give one token for each key")
    return grid, shown


def beside(grid: Grid, compare: Pattern | Grid) -> Grid:
    """The pattern to compare with, at the lengths of `grid`. Raises ValueError where its own lengths differ."""
    if not isinstance(compare, Grid):
        return compare.at(grid.T, grid.S, grid.start)
    if (compare.T, compare.S, compare.start) != (grid.T, grid.S, grid.start):
        raise ValueError(f"compare is {compare.T} × {compare.S} from position {compare.start}, the pattern {grid.T} × "
                         f"{grid.S} from {grid.start}; take both at the same lengths")
    return compare


def labels(tokens: str | Sequence[str] | Encoding | None) -> tuple[str, ...] | None:
    """The tokens as labels; a text is read first."""
    if tokens is None:
        return None
    if isinstance(tokens, str):
        return read(tokens).tokens
    if isinstance(tokens, Encoding):
        return tokens.tokens
    shown = tuple(tokens)
    for place, token in enumerate(shown):
        if not isinstance(token, str):
            raise TypeError(f"token {place} is {token!r}, of type {type(token).__name__}; tokens are texts")
    if not shown:
        raise ValueError("no tokens given; give at least one, or leave tokens out")
    return shown


def lengths(pattern: Pattern, keys: int | None = None, queries: int | None = None) -> tuple[int, int]:
    """(T, S) at which to draw a pattern, as far as nobody said.

    Data decides where there is some (padding, segments, an order, a table); else enough keys to see the largest
    parameter at work, in whole blocks, at most `MOST_TOKENS`. A memory stands before the first query.
    """
    nodes = list(_nodes(pattern.spec))
    remembered = max((node["length"] or 0 for node, _ in nodes if node["op"] == "memory"), default=0)
    rows, columns = _from_data(nodes)
    if queries is not None:
        rows = queries
    if keys is not None:
        columns = keys
    if columns is None:
        columns = (_enough(pattern, nodes) if rows is None else rows) + remembered
    return max(columns - remembered, 1) if rows is None else rows, columns


def _from_data(nodes: list[tuple[dict[str, Any], int]]) -> tuple[int | None, int | None]:
    """(T, S) as far as the data of a pattern fixes them."""
    rows = columns = None
    for node, _ in nodes:
        match node["op"]:
            case "segments" | "padding" | "global_tokens":
                data = node.get("ids") or node.get("real") or node.get("where")
                columns = _width(data) if data else columns
            case "permutation":
                rows = _width(node["order"])
            case "table":
                rows, columns = (side * node["block"] for side in node["shape"][-2:])
    return rows, columns


def _width(data: list[Any]) -> int:
    return len(data[0]) if isinstance(data[0], list) else len(data)


def _enough(pattern: Pattern, nodes: list[tuple[dict[str, Any], int]]) -> int:
    """Keys that show the parameters at work, at most `MOST_TOKENS` unless a named place lies beyond."""
    wanted, needed = LEAST_SHOWN, 1
    for node, size in nodes:
        match node["op"]:
            case "window":
                wanted = max(wanted, 2 * node["width"] * node["dilation"] * size)
            case "global_tokens" if "positions" in node:
                needed = max(needed, *((p + 1 if p >= 0 else -p) * size for p in node["positions"]), 1)
            case "prefix":
                longest = max(node["length"]) if isinstance(node["length"], list) else node["length"]
                wanted, needed = max(wanted, 2 * longest * size), max(needed, longest * size)
            case "cells":
                wanted = max(wanted, *((max(pair) + 1) * size for pair in node["pairs"]), 1)
    grain = pattern.grain
    if grain > 1:
        wanted = max(wanted, LEAST_SHOWN * grain)
    return max(min(-(-max(wanted, needed) // grain) * grain, MOST_TOKENS), needed)


def _nodes(node: dict[str, Any], size: int = 1) -> Iterator[tuple[dict[str, Any], int]]:
    """All nodes of a spec, each with the tokens that one of its places stands for (`in_blocks`)."""
    yield node, size
    within = size * node.get("size", 1)
    for part in (*node.get("parts", ()), *node.get("heads", ()), *([node["part"]] if "part" in node else ())):
        yield from _nodes(part, within)
