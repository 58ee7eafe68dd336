"""C102, C140: ALBERT's token table in two factors, V·E + E·H for V·H (Lan et al. 2019, section 3.1).

Sizes are counted from the published models on the meta device; the rank is measured on random factors of those widths.
"""

from dataclasses import dataclass

import torch

from lmexplain.experiments.measure import Measured, Verdict, choose
from lmexplain.models import Albert, AlbertConfig
from lmexplain.models.counts import on_meta

__all__ = ["FactorizedEmbedding", "run", "sizes"]


@dataclass(frozen=True)
class FactorizedEmbedding:
    """Weights of the token table, whole and in factors, at the narrowest and the widest published model."""

    embedding: int
    whole_base: Measured
    factored_base: Measured
    whole_xxlarge: Measured
    factored_xxlarge: Measured
    rank: Measured
    width: int

    def verdict(self) -> Verdict:
        """Correct where the factors are smaller in both models."""
        pairs = ((self.whole_base, self.factored_base), (self.whole_xxlarge, self.factored_xxlarge))
        saved = sum(factored.mean < whole.mean for whole, factored in pairs)
        figures = [f"{x.mean:,.0f}" for pair in pairs for x in pair]
        return Verdict(
            ("wrong", "imprecise", "correct")[saved],
            f"with E = {self.embedding} the token table takes {figures[1]} weights instead of {figures[0]} in base and"
            f" {figures[3]} instead of {figures[2]} in xxlarge",
            f"E = {self.embedding} 时，token 表的参数在 base 中是 {figures[1]} 个，而不是 {figures[0]} 个；"
            f"在 xxlarge 中是 {figures[3]} 个，而不是 {figures[2]} 个",
        )

    def decomposition(self) -> Verdict:
        """Correct where the product of the factors has rank E, less than its width."""
        low = self.rank.high == self.rank.low == self.embedding < self.width
        return Verdict(
            "correct" if low else "wrong",
            f"the product of the two factors, {self.width} wide, has rank {self.rank.mean:,.0f}, and E is"
            f" {self.embedding}",
            f"两个因子的乘积宽 {self.width}，秩为 {self.rank.mean:,.0f}，而 E 是 {self.embedding}",
        )


def run(length: str = "reduced", seed: int = 0) -> FactorizedEmbedding:
    """Counts are exact; the rank is measured on factors drawn from `seed` on."""
    E, H = AlbertConfig().embedding_size, AlbertConfig().hidden_size
    (whole, factored), (wide, narrow) = sizes("albert-base-v2"), sizes("albert-xxlarge-v2")
    ranks = [product_rank(1000, E, H, s) for s in range(seed, seed + choose(length, reduced=1, quick=3, thorough=10))]
    return FactorizedEmbedding(
        embedding=E,
        whole_base=_weights(whole, "V·H, base", "V·H，base"),
        factored_base=_weights(factored, "V·E + E·H, base", "V·E + E·H，base"),
        whole_xxlarge=_weights(wide, "V·H, xxlarge", "V·H，xxlarge"),
        factored_xxlarge=_weights(narrow, "V·E + E·H, xxlarge", "V·E + E·H，xxlarge"),
        rank=Measured.of(ranks, what="rank of the product of the factors", what_zh="两个因子乘积的秩"),
        width=H,
    )


def sizes(name: str) -> tuple[int, int]:
    """V·H, and the weights that the published model of this name has in its place (its bias apart)."""
    model = on_meta(Albert, AlbertConfig.published(name))
    table, projection = model.embeddings.token.weight, model.embeddings.projection.weight
    return table.shape[0] * model.config.hidden_size, table.numel() + projection.numel()


def product_rank(rows: int, E: int, H: int, seed: int) -> int:
    """The rank of a random (rows, E) times a random (E, H)."""
    generator = torch.Generator().manual_seed(seed)
    table, projection = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((rows, E), (E, H)))
    return int(torch.linalg.matrix_rank(table @ projection))


def _weights(count: int, what: str, what_zh: str) -> Measured:
    return Measured.of(count, "weights", what, unit_zh="个参数", what_zh=what_zh)
