"""C124: dilation widens the receptive field at no extra cost (Beltagy et al. 2020, sections 3.1, 4.1, 5).

The field is measured by `reach`, from the middle query of a text long enough that no end cuts it short. Its *span* is
the distance from the first to the last key reached, so `l` layers of `window(w)` span `l·w`. *Filled* is the share of
the positions in the span that are really reached: windows of one stride never leave their residue class.
"""

from dataclasses import dataclass

from lmexplain.experiments.measure import Measured, Verdict, choose
from lmexplain.experiments.window_cost import pairs
from lmexplain.patterns import Pattern, reach, window

__all__ = ["DilatedField", "run"]


@dataclass(frozen=True)
class DilatedField:
    """Fields of `layers` windows of `width`, plain and at dilation `d` under its two readings."""

    layers: int
    width: int
    dilation: int
    plain: Measured
    one_layer_stride: Measured
    one_layer_gap: Measured
    stacked_stride: Measured
    filled_plain: Measured
    filled_dilated: Measured
    filled_mixed: Measured
    cost: Measured

    def verdict(self) -> Verdict:
        """Correct where a gap of d gives a field of d·w and no more pairs; imprecise where only a stride of d does."""
        claimed = self.dilation * self.width
        gap, stride = self.one_layer_gap.mean, self.one_layer_stride.mean
        if self.cost.mean > 100 or claimed not in (gap, stride):
            judgement = "wrong"
        else:
            judgement = "correct" if gap == claimed else "imprecise"
        d, w, filled = self.dilation, self.width, self.filled_dilated.mean
        return Verdict(
            judgement,
            f"with w = {w:,} and d = {d}, one layer spans {stride:,.0f} when d is the step from key to key, but"
            f" {gap:,.0f} when d keys are skipped (claimed: {claimed:,}); cost is {self.cost.mean:.1f}% of the plain"
            f" window, and {filled:.1f}% of the stacked field is really reached",
            f"取 w = {w:,}、d = {d}：若 d 是相邻两个 key 的步长，单层跨度为 {stride:,.0f}；若 d 是中间跳过的 key 数，"
            f"则为 {gap:,.0f}（原文说 {claimed:,}）；开销是普通窗口的 {self.cost.mean:.1f}%，"
            f"而多层叠加后的感受野里真正能到达的位置只占 {filled:.1f}%",
        )


def run(length: str = "reduced", seed: int = 0) -> DilatedField:
    """Exact; the seed changes nothing. Reduced takes Longformer's 12 layers at an eighth of its width."""
    layers, d = 12, 2
    width = choose(length, reduced=64, quick=512, thorough=512)
    near, far = window(width), window(width, d)

    deep = layers * width + 3  # the field that is expected of plain layers, and a position to spare at each end
    wide = layers * width * d + 3
    plain, plain_filled = field([near] * layers, deep)
    stacked_span, stacked_filled = field([far] * layers, wide)
    small = min(width, 64)  # whether plain layers below fill the holes does not depend on the width
    mixed = [window(small)] * (layers // 2) + [window(small, d)] * (layers // 2)
    _, mixed_filled = field(mixed, layers * small * d)
    one_stride, _ = field([far], wide)
    one_gap, _ = field([window(width, d + 1)], wide)  # d keys skipped between two that are seen
    n = 8 * width
    cost = 100 * pairs(far, n) / pairs(near, n)

    stacked, stacked_zh = f"field of {layers} layers", f"{layers} 层的感受野"
    return DilatedField(
        layers=layers,
        width=width,
        dilation=d,
        plain=_span(plain, f"{stacked}, no dilation", f"{stacked_zh}，无空洞"),
        one_layer_stride=_span(one_stride, f"field of one layer, a key every {d}", f"单层感受野，key 的步长为 {d}"),
        one_layer_gap=_span(one_gap, f"field of one layer, {d} keys skipped", f"单层感受野，中间跳过 {d} 个 key"),
        stacked_stride=_span(stacked_span, f"{stacked}, a key every {d}", f"{stacked_zh}，key 的步长为 {d}"),
        filled_plain=_share(plain_filled, "part of the field reached, no dilation", "感受野中能到达的部分，无空洞"),
        filled_dilated=_share(
            stacked_filled,
            f"part of the field reached, a key every {d}",
            f"感受野中能到达的部分，各层 key 的步长都为 {d}",
        ),
        filled_mixed=_share(
            mixed_filled,
            "part of the field reached, lower half of the layers plain",
            "感受野中能到达的部分，下半部分各层无空洞",
        ),
        cost=_share(cost, "pairs, as a share of the plain window's", "配对数，与普通窗口相比"),
    )


def field(layers: list[Pattern], n: int) -> tuple[int, float]:
    """Span of the middle query's receptive field (last key reached minus first), and how much of it is filled, in %.

    Raises ValueError where an end of the text is reached, since the field may then be cut short.
    """
    reached = reach([pattern.at(n) for pattern in layers], queries=[n // 2])[0].nonzero().flatten()
    first, last = int(reached[0]), int(reached[-1])
    if first == 0 or last == n - 1:
        raise ValueError(f"the field reaches an end of {n:,} positions; take a longer text")
    return last - first, 100 * len(reached) / (last - first + 1)


def _span(positions: int, what: str, what_zh: str) -> Measured:
    return Measured.of(positions, "positions", what, unit_zh="个位置", what_zh=what_zh)


def _share(percent: float, what: str, what_zh: str) -> Measured:
    return Measured.of(percent, "%", what, what_zh=what_zh)
