"""What a pattern is called, in English and Chinese, and the sentence that describes its picture.

The names are put together from the same words and in the same way as in the browser (`js/look.js`).
"""

from collections.abc import Sequence
from typing import Any

from ..patterns import Grid, Pattern
from ..words import word, words

__all__ = ["describe", "name", "part_names"]

MOST_LISTED = 6


def name(pattern: Pattern, lang: str = "en") -> str:
    """A short name in the reader's language; a title the pattern was given comes first."""
    return _name(pattern.spec, lang)


def part_names(grid: Grid, lang: str = "en", head: int = 0) -> list[str]:
    """The names of the parts that can be a reason, in the order of `grid.parts(head)`."""
    return [name(part, lang) for part in grid.parts(head)]


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
