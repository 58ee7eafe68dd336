"""BERT-base's parameters part by part, counted from the model on the meta device (Devlin et al. 2019, section 3)."""

from dataclasses import dataclass

from lmexplain.experiments.measure import Measured, Verdict
from lmexplain.models import Bert, BertConfig
from lmexplain.models.counts import count, on_meta

__all__ = ["ParameterParts", "run"]

PRINTED = 110e6
"""What the paper prints for BERT-base."""


@dataclass(frozen=True)
class ParameterParts:
    """Parameters of each part, norms with the part they follow, and of the whole."""

    embedding: Measured
    attention: Measured
    feed_forward: Measured
    layer: Measured
    pooler: Measured
    total: Measured
    head: Measured

    def verdict(self) -> Verdict:
        """Correct where the whole, rounded to ten millions, is the figure that the paper prints."""
        agrees = round(self.total.mean, -7) == PRINTED
        parts = self.embedding.mean, self.layer.mean, self.pooler.mean, self.total.mean
        figures = [f"{part:,.0f}" for part in parts]
        return Verdict(
            "correct" if agrees else "wrong",
            f"embedding {figures[0]}, a layer {figures[1]}, pooler {figures[2]}: {figures[3]} parameters",
            f"嵌入 {figures[0]}，一层 {figures[1]}，pooler {figures[2]}：共 {figures[3]} 个参数",
        )


def run(length: str = "reduced", seed: int = 0) -> ParameterParts:
    """Exact at every length; nothing is random."""
    config = BertConfig.published("bert-base-uncased")
    whole, cloze = count(on_meta(Bert, config)), count(on_meta(Bert, config, "MaskedLM"))
    L = config.num_hidden_layers
    attention, feed_forward = (whole[part].parameters // L for part in ("attention", "feed-forward"))
    return ParameterParts(
        embedding=_parameters(whole["embedding"].parameters, "embedding", "嵌入"),
        attention=_parameters(attention, "attention of a layer", "一层的注意力"),
        feed_forward=_parameters(feed_forward, "feed-forward of a layer", "一层的前馈"),
        layer=_parameters(attention + feed_forward, "a layer", "一层"),
        pooler=_parameters(whole["pooler"].parameters, "pooler", "pooler"),
        total=_parameters(whole.parameters, "all together", "总计"),
        head=_parameters(cloze["head"].parameters, "head for masked tokens, its table apart", "预测被掩 token 的输出头，词表不计"),
    )


def _parameters(count: int, what: str, what_zh: str) -> Measured:
    return Measured.of(count, "parameters", what, unit_zh="个参数", what_zh=what_zh)
