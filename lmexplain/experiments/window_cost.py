"""C123: a sliding window costs O(n·w) (Beltagy et al. 2020, section 3.1).

Cost is counted as the score entries that the pattern allows, exactly; time is another matter (see `benchmarks/`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lmexplain.experiments.measure import Measured, Verdict, choose
from lmexplain.patterns import Pattern, full, global_tokens, window

__all__ = ["WindowCost", "pairs", "run", "slope"]

TOLERANCE = 0.1
"""How far a fitted exponent may lie from 1 and still count as linear: a window is cut short at both ends of a text,
which bends the fit a little where n is not much larger than w."""


@dataclass(frozen=True)
class WindowCost:
    """Pairs against length at one width, and against width at one length; Longformer's own numbers beside them."""

    width: int
    lengths: tuple[int, ...]
    pairs_by_length: tuple[Measured, ...]
    length: int
    widths: tuple[int, ...]
    pairs_by_width: tuple[Measured, ...]
    exponent_length: Measured
    exponent_width: Measured
    exponent_full: Measured
    longformer: Measured
    longformer_share: Measured
    longformer_global: Measured
    one_sided: Measured

    def verdict(self) -> Verdict:
        """Correct where pairs grow linearly with length and width; imprecise where only with one of them."""
        n, w = self.exponent_length.mean, self.exponent_width.mean
        linear = sum(abs(exponent - 1) <= TOLERANCE for exponent in (n, w))
        return Verdict(
            ("wrong", "imprecise", "correct")[linear],
            f"pairs grow like n^{n:.2f} at w = {self.width:,} and like w^{w:.2f} at n = {self.length:,}"
            f" (full attention: n^{self.exponent_full.mean:.2f})",
            f"w = {self.width:,} 时配对数按 n^{n:.2f} 增长，n = {self.length:,} 时按 w^{w:.2f} 增长"
            f"（全注意力为 n^{self.exponent_full.mean:.2f}）",
        )


def run(length: str = "reduced", seed: int = 0) -> WindowCost:
    """Exact counts: the seed changes nothing; longer runs go to longer texts."""
    width = 512
    longest = choose(length, reduced=15, quick=16, thorough=18)
    lengths = tuple(2**power for power in range(12, longest + 1))  # from 4,096 on: 8 windows and more
    widths = tuple(2**power for power in range(4, 10))

    by_length = [pairs(window(width), n) for n in lengths]
    by_width = [pairs(window(w), lengths[-1]) for w in widths]
    longformer = pairs(window(width), 4096)
    return WindowCost(
        width=width,
        lengths=lengths,
        pairs_by_length=tuple(
            _pairs(count, f"window({width}), n = {n:,}", f"window({width})，n = {n:,}")
            for n, count in zip(lengths, by_length, strict=True)
        ),
        length=lengths[-1],
        widths=widths,
        pairs_by_width=tuple(
            _pairs(count, f"window({w}), n = {lengths[-1]:,}", f"window({w})，n = {lengths[-1]:,}")
            for w, count in zip(widths, by_width, strict=True)
        ),
        exponent_length=Measured.of(
            slope(lengths, by_length), what="exponent of the length", what_zh="长度的指数"
        ),
        exponent_width=Measured.of(slope(widths, by_width), what="exponent of the width", what_zh="窗口宽度的指数"),
        exponent_full=Measured.of(
            slope(lengths, [pairs(full(), n) for n in lengths]),
            what="exponent of the length, full attention",
            what_zh="全注意力下长度的指数",
        ),
        longformer=_pairs(
            longformer, "Longformer's window: n = 4,096, 256 each side", "Longformer 的窗口：n = 4,096，每侧 256"
        ),
        longformer_share=Measured.of(
            100 * longformer / 4096**2, "%", "share of full attention", what_zh="占全注意力的比例"
        ),
        longformer_global=_pairs(
            pairs(window(width) | global_tokens(0), 4096), "the same with one global token", "再加一个全局 token"
        ),
        one_sided=Measured.of(
            pairs(window(2 * width), 4096) / longformer,
            "×",
            "cost if w were taken for one side",
            unit_zh="倍",
            what_zh="误把 w 当作单侧宽度时的开销",
        ),
    )


def pairs(pattern: Pattern, n: int) -> int:
    """Exact number of pairs of a pattern that tells neither samples nor heads apart."""
    return int(pattern.at(n).pairs())


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Exponent e of cost ~ size^e: the least-squares slope of log cost over log size."""
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    over = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return over / sum((a - mean_x) ** 2 for a in x)


def _pairs(count: int, what: str, what_zh: str) -> Measured:
    return Measured.of(count, "pairs", what, unit_zh="个配对", what_zh=what_zh)
