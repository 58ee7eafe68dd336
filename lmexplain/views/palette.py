"""The one visual language: colours and marks of `palette.json`, which the browser reads too; never colour alone."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..patterns import Pattern

__all__ = ["MARKS", "Look", "look", "looks_of", "mixed", "palette", "theme"]

Line = list[tuple[float, float]]

PATH = Path(__file__).with_name("palette.json")

MARKS: dict[str, list[Line]] = {
    "plain": [],
    "dot": [[(0.49, 0.5), (0.51, 0.5)]],
    "plus": [[(0.5, 0.28), (0.5, 0.72)], [(0.28, 0.5), (0.72, 0.5)]],
    "cross": [[(0.32, 0.32), (0.68, 0.68)], [(0.68, 0.32), (0.32, 0.68)]],
    "slash": [[(0.3, 0.7), (0.7, 0.3)]],
    "backslash": [[(0.3, 0.3), (0.7, 0.7)]],
    "bar": [[(0.26, 0.5), (0.74, 0.5)]],
    "bars": [[(0.28, 0.38), (0.72, 0.38)], [(0.28, 0.62), (0.72, 0.62)]],
    "pillar": [[(0.5, 0.26), (0.5, 0.74)]],
    "ring": [[(0.5 + 0.2 * math.sin(a * math.pi / 8), 0.5 + 0.2 * math.cos(a * math.pi / 8)) for a in range(17)]],
    "frame": [[(0.3, 0.3), (0.7, 0.3), (0.7, 0.7), (0.3, 0.7), (0.3, 0.3)]],
    "square": [[(0.42, 0.42), (0.58, 0.42), (0.58, 0.58), (0.42, 0.58), (0.42, 0.42)]],
}
"""Strokes in a unit square, y downwards, as the browser draws them."""

STROKE = {"dot": 0.3, "square": 0.16}      # width of a mark's stroke in parts of a cell; the others have 0.1


@dataclass(frozen=True)
class Look:
    """How a part is drawn: its colour, and a mark in an ink that stands out on it."""

    colour: str
    mark: str
    hatch: str

    @property
    def strokes(self) -> list[Line]:
        return MARKS[self.mark]

    @property
    def stroke(self) -> float:
        return STROKE.get(self.mark, 0.1)

    @property
    def ink(self) -> str:
        """Black or white, whichever stands out on the colour."""
        red, green, blue = (int(self.colour[at : at + 2], 16) for at in (1, 3, 5))
        return "#14181d" if 0.3 * red + 0.59 * green + 0.11 * blue > 140 else "#ffffff"


@cache
def palette() -> dict[str, Any]:
    """The whole of `palette.json`."""
    return json.loads(PATH.read_text(encoding="utf-8"))


def theme(dark: bool = False) -> dict[str, str]:
    """The colours of paper, ink, lines and so on."""
    return palette()["themes"]["dark" if dark else "light"]


def look(role: str, dark: bool = False) -> Look:
    """How a role (local, global, only_a, …) is drawn."""
    entry = palette()["roles"][role]
    return Look(entry["dark" if dark else "light"], entry["mark"], entry["hatch"])


def looks_of(parts: Sequence[Pattern], dark: bool = False) -> list[Look]:
    """How each part is drawn; a second part of the same colour is shaded, and takes a mark that is still free."""
    seen: dict[str, int] = {}
    marks: list[str] = []
    found = []
    for part in parts:
        own = look(_role(part.spec), dark)
        times = seen[own.colour] = seen.get(own.colour, -1) + 1
        free = next((mark for mark in MARKS if mark not in ("plain", *marks)), own.mark)
        mark = free if own.mark in marks else own.mark
        marks.append(mark)
        shade = theme(dark)["ink" if times % 2 else "paper"]
        colour = mixed(own.colour, shade, 0.3 + 0.1 * min(times, 4)) if times else own.colour
        found.append(Look(colour, mark, own.hatch))
    return found


def _role(node: dict[str, Any]) -> str:
    """The role of a part: in blocks, of what is taken over blocks."""
    while node["op"] in ("in_blocks", "or", "and", "per_head"):
        node = node["part"] if "part" in node else (node.get("parts") or node["heads"])[0]
    return palette()["ops"][node["op"]]


def mixed(a: str, b: str, share: float) -> str:
    """The colour `share` of the way from a to b."""
    sides = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (a, b)]
    return "#" + "".join(f"{math.floor(x + (y - x) * share + 0.5):02x}" for x, y in zip(*sides, strict=True))
