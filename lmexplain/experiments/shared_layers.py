"""C103: ALBERT's layers share their weights (Lan et al. 2019, section 3.1, table 2).

Counted from the published models on the meta device: what they hold, what they would hold if each layer had weights of
its own, and how often a pass runs through the shared ones.
"""

from dataclasses import dataclass

from lmexplain.experiments.measure import Measured, Verdict
from lmexplain.models import Albert, AlbertConfig, Model
from lmexplain.models.counts import count, on_meta

__all__ = ["SharedLayers", "layer_weights", "run"]

SIZES = ("base", "large", "xlarge", "xxlarge")


@dataclass(frozen=True)
class SharedLayers:
    """Parameters with pooler; layers whose attention and feed-forward weights are their own; layers that run."""

    base: Measured
    large: Measured
    xlarge: Measured
    xxlarge: Measured
    unshared_base: Measured
    own_layers: Measured
    run_layers: Measured

    def verdict(self) -> Verdict:
        """Correct where one layer's weights serve all; imprecise where some layers have their own, wrong where all."""
        own, all_of_them = self.own_layers.mean, self.run_layers.mean
        totals = " / ".join(f"{getattr(self, size).mean:,.0f}" for size in SIZES)
        return Verdict(
            "correct" if own == 1 < all_of_them else "imprecise" if own < all_of_them else "wrong",
            f"{own:.0f} set of layer weights, passed through {all_of_them:.0f} times: {totals} parameters; base with"
            f" layers of their own would have {self.unshared_base.mean:,.0f}",
            f"{own:.0f} 套层权重，一次前向要经过 {all_of_them:.0f} 次：{totals} 个参数；"
            f"base 若各层权重独立则有 {self.unshared_base.mean:,.0f} 个",
        )


def run(length: str = "reduced", seed: int = 0) -> SharedLayers:
    """Exact at every length; nothing is random."""
    models = {size: on_meta(Albert, AlbertConfig.published(f"albert-{size}-v2")) for size in SIZES}
    totals = {size: count(model).parameters for size, model in models.items()}
    base = models["base"]
    L, own = base.config.num_hidden_layers, len(base.layers)
    unshared = totals["base"] + (L - own) * layer_weights(base)
    return SharedLayers(
        **{size: _parameters(total, f"{size}, with pooler", f"{size}，含 pooler") for size, total in totals.items()},
        unshared_base=_parameters(unshared, "base, if layers shared nothing", "base，若各层互不共享"),
        own_layers=_layers(own, "with weights of their own, base", "有独立权重，base"),
        run_layers=_layers(L, "that a pass runs through, base", "一次前向经过，base"),
    )


def layer_weights(model: Model) -> int:
    """Parameters of one layer: attention, feed-forward and their norms."""
    return sum(weight.numel() for weight in model.layers[0].parameters())


def _layers(count: int, what: str, what_zh: str) -> Measured:
    return Measured.of(count, "layers", what, unit_zh="层", what_zh=what_zh)


def _parameters(count: int, what: str, what_zh: str) -> Measured:
    return Measured.of(count, "parameters", what, unit_zh="个参数", what_zh=what_zh)
