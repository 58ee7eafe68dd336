"""C126: each token attends to r random tokens (BigBird: Zaheer et al. 2020, section 2 and the tables of appendix E).

The paper's definition is per query; the published implementation draws blocks, so that a query gets r blocks of 64 keys
and shares them with its whole block. Both are counted, on the package's own draws: they give r keys by the way they are
made, so what they can show is how evenly they fall. What the released plans draw is another matter, and not measured
here: the claim cites it (for 4,096 tokens, keys among the first 1,024 alone), and a test holds those figures against a
plan that the released code made.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from lmexplain.experiments.measure import Measured, Verdict, choose
from lmexplain.patterns import bigbird, random, random_blocks

__all__ = ["RandomKeys", "run"]

UNEVEN = 1.5
"""Above this chi-square per degree of freedom the draw is not uniform: with some 200 keys chance gives 1 ± 0.1."""


@dataclass(frozen=True)
class RandomKeys:
    """Token form at n keys, counted per query and over seeds; block form at Longformer's length of 4,096."""

    r: int
    n: int
    fewest: Measured
    most: Measured
    unevenness: Measured
    shared_tokens: Measured
    shared_blocks: Measured
    keys_in_blocks: Measured
    block_pairs: Measured
    block_share: Measured

    def verdict(self) -> Verdict:
        """Of the paper's definition, not of the released plans. Correct where every query draws exactly r distinct
        keys, all keys alike; imprecise where some keys are drawn more often than others; wrong where a query draws
        another number."""
        exact = self.fewest.low == self.most.high == self.r
        even = self.unevenness.mean <= UNEVEN
        number = f"{self.fewest.low:,.0f}–{self.most.high:,.0f}" if not exact else f"{self.r}"
        return Verdict(
            "wrong" if not exact else "correct" if even else "imprecise",
            f"every query draws {number} keys (r = {self.r}), with a chi-square of {self.unevenness.mean:.2f} per"
            f" degree of freedom; in blocks of 64 a query gets {self.keys_in_blocks.mean:,.0f} random keys, and"
            f" {self.block_pairs.mean:,.0f} of 4,096 block pairs are visible",
            f"每个 query 抽到 {number} 个 key（r = {self.r}），每个自由度的卡方为 {self.unevenness.mean:.2f}；"
            f"分块实现（块大小 64）中每个 query 有 {self.keys_in_blocks.mean:,.0f} 个随机 key，"
            f"4,096 个块对里可见的有 {self.block_pairs.mean:,.0f} 个",
        )


def run(length: str = "reduced", seed: int = 0) -> RandomKeys:
    """Draws over several seeds from `seed` on; the block form is drawn once (its counts do not depend on the draw)."""
    r, n = 3, 256
    seeds = range(seed, seed + choose(length, reduced=20, quick=200, thorough=1000))
    drawn = [random(r, s).at(n).dense() for s in seeds]
    per_query = torch.stack([allowed.sum(1) for allowed in drawn])  # (seeds, n)
    per_key = torch.stack([allowed.sum(0) for allowed in drawn]).sum(0)  # (n,)

    size, tokens = 64, 4096
    blocks = bigbird(seed=seed).at(tokens).blocks(size)
    draws = random_blocks(r, size, seed).at(tokens).region(slice(10 * size, 11 * size), slice(None))
    visible = int((blocks > 0).sum())
    return RandomKeys(
        r=r,
        n=n,
        fewest=_keys(per_query.amin(1), "fewest keys of a query", "单个 query 最少的 key 数"),
        most=_keys(per_query.amax(1), "most keys of a query", "单个 query 最多的 key 数"),
        unevenness=Measured.of(
            chi_square(per_key),
            what="chi-square per degree of freedom, over keys",
            what_zh="各 key 被抽次数的卡方（每自由度）",
        ),
        shared_tokens=Measured.of(
            [shared(allowed) for allowed in drawn],
            "%",
            "random keys shared with the next query, drawn by token",
            what_zh="按 token 抽取时与下一个 query 共有的随机 key",
        ),
        shared_blocks=Measured.of(
            shared(draws),
            "%",
            "random keys shared with the next query of the block, drawn by block",
            what_zh="按块抽取时与同块下一个 query 共有的随机 key",
        ),
        keys_in_blocks=_keys(
            draws.sum(1).double().mean(), "random keys of a query, drawn by block", "按块抽取时单个 query 的随机 key 数"
        ),
        block_pairs=Measured.of(
            visible,
            "block pairs",
            "visible at n = 4,096, block 64, 2 global, 3 window, 3 random",
            unit_zh="个块对",
            what_zh="n = 4,096、块大小 64、2 全局、3 窗口、3 随机时可见",
        ),
        block_share=Measured.of(100 * visible / blocks.numel(), "%", "of all block pairs", what_zh="占全部块对的比例"),
    )


def chi_square(counts: Tensor) -> float:
    """Σ (count - mean)² / mean over the degrees of freedom: about 1 where every key is drawn alike."""
    mean = counts.double().mean()
    return float(((counts - mean) ** 2 / mean).sum() / (len(counts) - 1))


def shared(allowed: Tensor) -> float:
    """How much of a query's keys the next query has too, in %, over all neighbours of (queries, keys) bool."""
    both = (allowed[:-1] & allowed[1:]).sum()
    return 100 * float(both) / float(allowed[:-1].sum())


def _keys(count: Tensor, what: str, what_zh: str) -> Measured:
    return Measured.of(count, "keys", what, unit_zh="个 key", what_zh=what_zh)
