"""C058: one Transformer under four mask matrices (UniLM: Dong et al. 2019, equations 2 and 3, figure 1).

The matrices are counted, and then run: the same random weights under each of them, in double precision. One input token
is changed at a time, and the outputs that move must be those that the matrix lets it reach through the layers.
"""

from dataclasses import dataclass
from typing import Literal

import torch

from lmexplain.experiments.measure import Measured, Verdict, choose
from lmexplain.models import UniLm, UniLmConfig
from lmexplain.patterns import Pattern, reach, unilm

__all__ = ["MaskMatrix", "obeyed", "run"]

Setting = Literal["bidirectional", "left-to-right", "right-to-left", "sequence-to-sequence"]
SETTINGS: tuple[Setting, ...] = ("bidirectional", "left-to-right", "right-to-left", "sequence-to-sequence")


@dataclass(frozen=True)
class MaskMatrix:
    """Visible pairs at n tokens, half of them source, and the share of outputs that moved as the matrix says."""

    n: int
    bidirectional: Measured
    left_to_right: Measured
    right_to_left: Measured
    sequence_to_sequence: Measured
    obeyed: Measured

    def verdict(self) -> Verdict:
        """Correct where one set of weights obeys every matrix and the matrices differ; wrong where it does not."""
        pairs = [self.bidirectional, self.left_to_right, self.sequence_to_sequence]
        counts = ", ".join(f"{each.mean:,.0f}" for each in pairs)
        differ = self.left_to_right.mean < self.sequence_to_sequence.mean < self.bidirectional.mean
        obeys = self.obeyed.low == 100
        return Verdict(
            "correct" if obeys and differ else "imprecise" if obeys else "wrong",
            f"one set of weights runs under all four matrices, and {self.obeyed.low:.1f}% of its outputs moved as the"
            f" matrix says; at {self.n:,} tokens two-sided, causal and sequence-to-sequence see {counts} pairs",
            f"同一套权重可以在四种矩阵下运行，输出的变化有 {self.obeyed.low:.1f}% 与矩阵一致；"
            f"{self.n:,} 个 token 时，双向、因果、序列到序列三种设置可见的配对数为 {counts}",
        )


def run(length: str = "reduced", seed: int = 0) -> MaskMatrix:
    """The counts are exact; the weights are drawn once for each seed from `seed` on."""
    n, seeds = 512, choose(length, reduced=1, quick=3, thorough=10)
    two_sided, rightward, leftward, blocks = (_counted(setting, n) for setting in SETTINGS)
    moved = [obeyed(_model(s), 12) for s in range(seed, seed + seeds)]
    return MaskMatrix(
        n, two_sided, rightward, leftward, blocks,
        obeyed=Measured.of(moved, "%", "outputs that moved as the matrix says", what_zh="变化与矩阵一致的输出"),
    )  # fmt: skip


def pattern(setting: Setting, n: int) -> Pattern:
    """The setting at n tokens; the source is half of them."""
    return unilm(setting, n // 2 if setting == "sequence-to-sequence" else None)


def obeyed(model: UniLm, n: int) -> float:
    """Change one token at a time under each setting: the share, in %, of outputs that moved exactly where they may."""
    ids = torch.arange(n)[None] % model.config.vocab_size
    right = total = 0
    for setting in SETTINGS:
        before = model(ids, pattern=pattern(setting, n))
        may = reach(before.grids)                                       # (n, n): output, input
        for i in range(n):
            changed = ids.clone()
            changed[0, i] = (ids[0, i] + 1) % model.config.vocab_size
            after = model(changed, pattern=pattern(setting, n)).last_hidden_state
            moved = (after != before.last_hidden_state).any(-1)[0]
            right, total = right + int((moved == may[:, i]).sum()), total + n
    return 100 * right / total


def _model(seed: int) -> UniLm:
    """A small one, drawn from this seed; torch's own generator stays as it is."""
    config = UniLmConfig(
        vocab_size=31, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=16,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        return UniLm(config).double().eval().requires_grad_(False)


def _counted(setting: Setting, n: int) -> Measured:
    zh = dict(zip(SETTINGS, ("双向", "从左到右", "从右到左", "序列到序列"), strict=True))[setting]
    return Measured.of(pattern(setting, n).at(n).pairs(), "pairs", setting, unit_zh="个配对", what_zh=zh)
