"""Times on a machine that does other things too: ours and the peer's call in turn, and medians of what they took."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["Pairs", "Row", "exponent", "in_turn", "keep_memory", "quiet", "seconds", "table"]

PATIENCE = 4        # times as many attempts as asked for, while the machine is busy with other work


@dataclass(frozen=True)
class Pairs:
    """Seconds of ours and the peer's, pair by pair."""

    ours: tuple[float, ...]
    peer: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """How many times as long the peer took: the median over the pairs, each measured within one moment."""
        return median(p / o for o, p in zip(self.ours, self.peer, strict=True))


def keep_memory() -> None:
    """Starts this process anew with an allocator that keeps what was freed (glibc; elsewhere nothing changes).

    Else each step asks the system anew for its gradients, and clearing those pages takes as long as the step, now for
    one side and now for the other.
    """
    kept = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**36)}
    if not kept.keys() <= os.environ.keys() and sys.platform == "linux":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **kept})


def seconds(call: Callable[[], Any]) -> float:
    """What one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def elsewhere() -> float:
    """Core seconds that other processes have had so far (Linux; 0 where it cannot be told)."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _, _, *rest = map(int, stat.read_text(encoding="utf-8").splitlines()[0].split()[1:9])
    own = os.times()
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK") - own.user - own.system


def quiet(measure: Callable[[int], Any], times: int) -> list[Any]:
    """What `measure(n)` gives, `times` times, while other processes have less than a twentieth of a core.

    Where that is not to be had, the quietest of `PATIENCE` times as many attempts.
    """
    attempts: list[tuple[float, int, Any]] = []
    while sum(load < 0.05 for load, _, _ in attempts) < times and len(attempts) < PATIENCE * times:
        begun, before = time.perf_counter(), elsewhere()
        value = measure(len(attempts))
        load = (elsewhere() - before) / (time.perf_counter() - begun)
        attempts.append((load, len(attempts), value))
    return [value for *_, value in sorted(attempts, key=lambda attempt: attempt[:2])[:times]]


def in_turn(ours: Callable[[], Any], peer: Callable[[], Any], pairs: int) -> Pairs:
    """Both once to warm up, then in turn; every second pair begins with the peer, so that drift favours neither."""

    def pair(n: int) -> tuple[float, float]:
        if n % 2:
            late = seconds(peer)
            return seconds(ours), late
        return seconds(ours), seconds(peer)

    ours()
    peer()
    times = quiet(pair, pairs)
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
