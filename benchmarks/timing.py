"""Times on a machine that does other things too: ours and the peer's call in turn, and medians of what they took."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

__all__ = ["Pairs", "Row", "exponent", "in_turn", "seconds", "table"]


@dataclass(frozen=True)
class Pairs:
    """Seconds of ours and the peer's, pair by pair."""

    ours: tuple[float, ...]
    peer: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """How many times as long the peer took: the median over the pairs, each measured within one moment."""
        return median(p / o for o, p in zip(self.ours, self.peer, strict=True))


def seconds(call: Callable[[], Any]) -> float:
    """What one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_turn(ours: Callable[[], Any], peer: Callable[[], Any], pairs: int) -> Pairs:
    """Both once to warm up, then in turn; every second pair begins with the peer, so that drift favours neither."""
    ours()
    peer()
    times: list[tuple[float, float]] = []
    for n in range(pairs):
        if n % 2:
            late = seconds(peer)
            times.append((seconds(ours), late))
        else:
            times.append((seconds(ours), seconds(peer)))
    return Pairs(tuple(o for o, _ in times), tuple(p for _, p in times))


def exponent(lengths: Sequence[int], times: Sequence[float]) -> float:
    """The least-squares slope of log time over log length: 1 is linear, 2 quadratic."""
    x, y = [math.log(n) for n in lengths], [math.log(t) for t in times]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sum((a - mx) ** 2 for a in x)


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, how it came out, and the bar it is held against ("" for none)."""

    what: str
    value: float
    bar: float | None = None
    at_least: bool = True
    unit: str = "×"
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.bar is None:
            return None
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def cells(self) -> list[str]:
        bar = "" if self.bar is None else f"{'≥' if self.at_least else '≤'} {self.bar:g} {self.unit}".rstrip()
        met = {True: "met", False: "**not met**", None: ""}[self.met]
        return [self.what, f"{self.value:.3g} {self.unit}".rstrip(), bar, met, self.note]


def table(rows: Sequence[Row]) -> str:
    """The rows as a table in Markdown."""
    head = [["what", "measured", "bar", "", "note"], ["---", "---:", "---:", "---", "---"]]
    lines = [*head, *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
