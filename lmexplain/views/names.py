"""What a pattern is called, in English and Chinese, and the sentence that describes its picture.

The names are put together from the same words and in the same way as in the browser (`js/look.js`).
"""

from collections.abc import Sequence
from typing import Any

from ..patterns import Grid, Pattern
from ..patterns.base import And, Or
from ..patterns.made import PerHead
from ..words import word, words

__all__ = ["counted_names", "describe", "name", "part_names"]

MOST_LISTED = 6


def name(pattern: Pattern, lang: str = "en") -> str:
    """A short name in the reader's language; a title the pattern was given comes first."""
    return _name(pattern.spec, lang)


def part_names(grid: Grid, lang: str = "en", head: int = 0) -> list[str]:
    """The names of the parts that can be a reason, in the order of `grid.parts(head)`."""
    return [name(part, lang) for part in grid.parts(head)]


def counted_names(grid: Grid, lang: str = "en", head: int = 0) -> list[str | None]:
    """What the pairs counted for each part of `grid.parts(head)` are; None for a part that can't be the first reason.

    A pair is counted for the first part that allows it. In an intersection that is always one of the first member, so
    its parts are named with the others (`window 4 and not causal`), and the others by themselves count nothing.
    """
    return _counted(grid.pattern, lang, head, ())


def _counted(pattern: Pattern, lang: str, head: int, within: tuple[Pattern, ...]) -> list[str | None]:
    if isinstance(pattern, PerHead):
        return _counted(pattern.heads[head], lang, 0, within)
    if isinstance(pattern, Or):
        return [found for part in pattern.parts for found in _counted(part, lang, head, within)]
    if isinstance(pattern, And):
        first, *others = pattern.parts
        closed = [None for part in others for _ in part.leaves(head)]
        return [*_counted(first, lang, head, (*others, *within)), *closed]
    others = (part.heads[head] if isinstance(part, PerHead) else part for part in within)
    return [f" {word('explorer.and', lang)} ".join(_grouped(part.spec, lang) for part in (pattern, *others))]


def describe(grid: Grid, pairs: int, lang: str = "en", other: Grid | None = None, other_pairs: int = 0) -> str:
    """One sentence for who can't see the picture: name, lengths, pairs and share, and the parts.

    `pairs`: as many as the picture shows; `other`: the grid it is compared with, and its pairs.
    """
    values = {
        "name": name(grid.pattern, lang), "queries": grid.T, "keys": grid.S, "pairs": f"{pairs:,}",
        "share": f"{pairs / (grid.T * grid.S):.1%}",
        "parts": word("list.separator", lang).join(part_names(grid, lang)),
    }  # fmt: skip
    if other is None:
        return word("figure.alt", lang, **values)
    return word("figure.alt_compare", lang, **values, other=name(other.pattern, lang), others=f"{other_pairs:,}")


def _name(node: dict[str, Any], lang: str) -> str:
    title: str = node.get("title", "")
    if title:
        return words(lang, "explorer.title.").get(f"explorer.title.{title}", title)
    op, values = node["op"], dict(node)
    match op:
        case "or" | "and":
            return f" {word(f'explorer.{op}', lang)} ".join(_grouped(part, lang) for part in node["parts"])
        case "not" | "in_blocks":
            values["part"] = _name(node["part"], lang)
        case "window":
            op = "window_dilated" if node["dilation"] > 1 else op
        case "global_tokens":
            op = "marked_tokens" if "where" in node else op
            values["positions"] = _listed(node.get("positions", [])) or "∅"
        case "permutation":
            op = f"permutation_{node['stream']}"
        case "prefix":
            op = "prefix" if isinstance(node["length"], int) else "prefix_each"
        case "cells":
            values["count"] = len(node["pairs"])
        case "table":
            values["size"] = " × ".join(map(str, node["shape"]))
    return word(f"explorer.op.{op}", lang, **values)


def _grouped(node: dict[str, Any], lang: str) -> str:
    text = _name(node, lang)
    return f"({text})" if "parts" in node and "title" not in node else text


def _listed(positions: Sequence[int]) -> str:
    shown = ", ".join(f"−{-p}" if p < 0 else str(p) for p in positions[:MOST_LISTED])
    return shown + ", …" if len(positions) > MOST_LISTED else shown
