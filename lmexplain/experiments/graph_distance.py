"""C127: window and global attention complete BigBird's pattern (Zaheer et al. 2020, sections 2 and 3).

Attention is a directed graph: an edge from each query to the keys it may attend to. The distance from a query to a key
is the number of layers that information needs from the key to the query. Diameter is the largest distance, and the mean
path is the mean over all pairs of different positions that are connected at all.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lmexplain.experiments.measure import Measured, Verdict, choose
from lmexplain.experiments.window_cost import slope
from lmexplain.patterns import Pattern, bigbird_tokens, global_tokens, random, table, window

__all__ = ["GraphDistance", "diameter", "distances", "mean_path", "run"]


@dataclass(frozen=True)
class GraphDistance:
    """Distances at n positions (one value per seed), and how the mean path grows from `lengths[0]` to `lengths[-1]`."""

    n: int
    width: int
    r: int
    lengths: tuple[int, ...]
    window_diameter: Measured
    window_path: Measured
    random_diameter: Measured
    random_path: Measured
    random_unreached: Measured
    both_diameter: Measured
    both_path: Measured
    global_diameter: Measured
    global_path: Measured
    one_way_diameter: Measured
    see_global: Measured
    window_growth: Measured
    both_growth: Measured
    both_per_log: tuple[Measured, ...]

    def verdict(self) -> Verdict:
        """Correct where every token sees the global ones and they bring all pairs within 2 layers, which window and
        random keys alone do not; imprecise where they help less than that; wrong where some token does not see them."""
        seen, diameter = self.see_global.low, self.global_diameter.high
        who = "all" if seen == 100 else f"{seen:.1f}%"
        who_zh = "所有" if seen == 100 else f"{seen:.1f}% 的"
        completes = diameter <= 2 < self.both_diameter.low
        return Verdict(
            "wrong" if seen < 100 else "correct" if completes else "imprecise",
            f"{who} of the tokens see the global one; the farthest pair is {self.window_diameter.range} layers"
            f" apart with the window alone, {self.both_diameter.range} with random keys too,"
            f" {self.global_diameter.range} with the global token,"
            f" but {self.one_way_diameter.range} if it is only looked at and does not look itself",
            f"{who_zh} token 能看到全局 token；相距最远的一对，只用窗口需要 {self.window_diameter.range} 层，"
            f"加上随机 key 需要 {self.both_diameter.range} 层，再加全局 token 需要 {self.global_diameter.range} 层；"
            f"但如果全局 token 只被看而自己不看全部，则需要 {self.one_way_diameter.range} 层",
        )


def run(length: str = "reduced", seed: int = 0) -> GraphDistance:
    """BigBird's proportions (3 window, 3 random) token by token, one global token; several seeds for what is random."""
    n, w, r = 1024, 3, 3
    seeds = range(seed, seed + choose(length, reduced=2, quick=8, thorough=40))
    lengths = tuple(128 * 2**power for power in range(choose(length, reduced=4, quick=4, thorough=5)))

    by_window = {m: distances(dense(window(w), m)) for m in lengths}
    by_random = [distances(dense(random(r, s), n)) for s in seeds]
    by_both = [distances(dense(window(w) | random(r, s), n)) for s in seeds]
    by_all = [distances(dense(bigbird_tokens(r, w, (0,), s), n)) for s in seeds]
    column = table(torch.eye(1, n, dtype=torch.bool).expand(n, n))  # all look at token 0, which looks at no one
    one_way = [distances(dense(window(w) | random(r, s) | column, n)) for s in seeds]
    growth = {m: mean_path(distances(dense(window(w) | random(r, seed), m))) for m in lengths}
    return GraphDistance(
        n=n,
        width=w,
        r=r,
        lengths=lengths,
        window_diameter=_layers([diameter(by_window[n])], "diameter, window", "直径：窗口"),
        window_path=_layers([mean_path(by_window[n])], "mean path, window", "平均路径：窗口"),
        random_diameter=_layers(
            [diameter(d) for d in by_random], "diameter of what is connected, random", "直径（仅连通部分）：随机"
        ),
        random_path=_layers([mean_path(d) for d in by_random], "mean path, random", "平均路径：随机"),
        random_unreached=Measured.of(
            [100 * (1 - d.sum() / n**2) for d in by_random],
            "%",
            "pairs that no number of layers connects, random",
            what_zh="多少层都不连通的位置对：随机",
        ),
        both_diameter=_layers([diameter(d) for d in by_both], "diameter, window + random", "直径：窗口 + 随机"),
        both_path=_layers([mean_path(d) for d in by_both], "mean path, window + random", "平均路径：窗口 + 随机"),
        global_diameter=_layers([diameter(d) for d in by_all], "diameter, with a global token", "直径：再加全局 token"),
        global_path=_layers(
            [mean_path(d) for d in by_all], "mean path, with a global token", "平均路径：再加全局 token"
        ),
        one_way_diameter=_layers(
            [diameter(d) for d in one_way], "diameter, the global token only looked at", "直径：全局 token 只被看"
        ),
        see_global=Measured.of(
            100 * float(dense(global_tokens(0), n)[:, 0].double().mean()),
            "%",
            "tokens that see the global token",
            what_zh="能看到全局 token 的 token",
        ),
        window_growth=Measured.of(
            slope(lengths, [mean_path(d) for d in by_window.values()]),
            what="exponent of the mean path in n, window",
            what_zh="平均路径随 n 的指数：窗口",
        ),
        both_growth=Measured.of(
            slope(lengths, list(growth.values())),
            what="exponent of the mean path in n, window + random",
            what_zh="平均路径随 n 的指数：窗口 + 随机",
        ),
        both_per_log=tuple(
            Measured.of(
                path / math.log2(m),
                what=f"mean path over log₂ n at n = {m:,}, window + random",
                what_zh=f"n = {m:,} 时平均路径与 log₂ n 之比：窗口 + 随机",
            )
            for m, path in growth.items()
        ),
    )


def dense(pattern: Pattern, n: int) -> Tensor:
    return pattern.at(n).dense()


def distances(allowed: Tensor) -> np.ndarray:
    """(n, n) bool -> how many pairs are 0, 1, 2, … layers apart. Pairs that no path connects are in none of the counts.

    Breadth first from all queries at once: what a query reaches in k + 1 layers is what its keys reach in k. The sets
    are bits of a row, and the rows of a query's keys are united by one `reduceat`.
    """
    n = len(allowed)
    edges = (allowed | torch.eye(n, dtype=torch.bool)).numpy()
    keys = edges.nonzero()[1]
    first = np.concatenate([[0], edges.sum(1).cumsum()[:-1]])
    reached = np.packbits(np.eye(n, dtype=bool), axis=1)  # a query reaches itself in no layer
    within = [n]
    while True:
        reached = np.bitwise_or.reduceat(reached[keys], first, axis=0)
        within.append(int(BITS[reached].sum()))
        if within[-1] == within[-2]:
            return np.diff(within[:-1], prepend=0)


BITS = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.int64)


def diameter(counts: np.ndarray) -> int:
    """The largest distance of a pair that is connected."""
    return len(counts) - 1


def mean_path(counts: np.ndarray) -> float:
    """The mean distance of all pairs of different positions that are connected."""
    return float(np.average(np.arange(1, len(counts)), weights=counts[1:]))


def _layers(values: list, what: str, what_zh: str) -> Measured:
    return Measured.of(values, "layers", what, unit_zh="层", what_zh=what_zh)
