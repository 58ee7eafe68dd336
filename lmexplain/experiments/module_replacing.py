"""C128, C129, C143: BERT-of-Theseus cuts a BERT into modules and trains their successors (Xu et al. 2020, section 3).

Sizes are counted on the meta device; what trains, and on what loss, is read off one step of a small model.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from lmexplain.experiments.measure import Measured, Verdict, choose
from lmexplain.models import Bert, BertConfig, Theseus
from lmexplain.models.counts import count, on_meta

__all__ = ["ModuleReplacing", "run", "step"]


@dataclass(frozen=True)
class ModuleReplacing:
    """The compressed sizes, the layers of each module, and one training step."""

    teacher: Measured
    six: Measured
    three: Measured
    module: Measured
    successor_trained: Measured
    other_trained: Measured
    beyond_task: Measured

    def verdict(self) -> Verdict:
        """C128: correct where three modules divide the twelve layers evenly."""
        whole = self.module.mean == int(self.module.mean)
        return Verdict(
            "correct" if whole else "wrong",
            f"three modules of {self.module.mean:g} layers each: {self.teacher.mean:,.0f} parameters become"
            f" {self.three.mean:,.0f}; the paper's own 6 layers have {self.six.mean:,.0f}",
            f"三个模块，每个 {self.module.mean:g} 层：{self.teacher.mean:,.0f} 个参数变为 {self.three.mean:,.0f} 个；"
            f"论文自己的 6 层模型有 {self.six.mean:,.0f} 个",
        )

    def trained(self) -> Verdict:
        """C129: correct where all of the successor's tensors have a gradient and nothing else has one."""
        all_of_it, others = self.successor_trained.low == 100, self.other_trained.high
        return Verdict(
            "correct" if all_of_it and not others else "wrong" if not all_of_it else "imprecise",
            f"{self.successor_trained.low:.0f}% of the successor's tensors have a gradient, and {others:.0f}% of all"
            f" others: embeddings, predecessor and head are frozen",
            f"successor 的张量有 {self.successor_trained.low:.0f}% 带梯度，其余张量为 {others:.0f}%："
            f"embedding、predecessor 和输出头都被冻结",
        )

    def distils(self) -> Verdict:
        """C143: imprecise where the loss is the task's alone, so that nothing is distilled; else correct."""
        more = self.beyond_task.high
        return Verdict(
            "imprecise" if more == 0 else "correct",
            f"the loss is the task's and {more:.0f} beyond it: it compresses, but without a distillation loss",
            f"损失就是任务本身的损失，此外为 {more:.0f}：它能压缩模型，但没有蒸馏损失",
        )


def run(length: str = "reduced", seed: int = 0) -> ModuleReplacing:
    """The counts are exact; the step is taken once for each seed from `seed` on."""
    base = BertConfig.published("bert-base-uncased")
    sizes = [count(on_meta(Bert, BertConfig.published("bert-base-uncased", num_hidden_layers=n))) for n in (12, 6, 3)]
    steps = [step(s) for s in range(seed, seed + choose(length, reduced=2, quick=5, thorough=20))]
    theirs, others, more = zip(*steps, strict=True)
    teacher, six, three = (x.parameters for x in sizes)
    return ModuleReplacing(
        teacher=_parameters(teacher, "12 layers, with pooler", "12 层，含 pooler"),
        six=_parameters(six, "6 layers, with pooler", "6 层，含 pooler"),
        three=_parameters(three, "3 layers, with pooler", "3 层，含 pooler"),
        module=Measured.of(base.num_hidden_layers / 3, "layers", "in each of three modules", unit_zh="层",
                           what_zh="三个模块中的每一个"),
        successor_trained=Measured.of(theirs, "%", "of the successor's tensors have a gradient",
                                      what_zh="的 successor 张量带梯度"),
        other_trained=Measured.of(others, "%", "of all other tensors have a gradient", what_zh="的其余张量带梯度"),
        beyond_task=Measured.of(more, what="loss beyond the task's", what_zh="任务损失之外的损失"),
    )  # fmt: skip


def step(seed: int) -> tuple[float, float, float]:
    """Passes with half of the modules replaced, until every successor has run.

    Shares of the successor's and of all other tensors with a gradient, in %, and the largest loss beyond the task's.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = BertConfig(
            vocab_size=31, hidden_size=16, num_hidden_layers=6, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        model = Theseus.from_predecessor(Bert(config, "SequenceClassification"), successor_layers=3).train()
        ids, labels, more, seen = torch.randint(0, 31, (4, 8)), torch.tensor([0, 1, 0, 1]), 0.0, set()
        while len(seen) < 3:
            output = model(ids, labels=labels)
            assert output.loss is not None and output.logits is not None
            more = max(more, float((output.loss - F.cross_entropy(output.logits, labels)).abs()))
            if output.loss.requires_grad:
                output.loss.backward()
            seen |= {i for i, replaced in enumerate(output.replaced or ()) if replaced}
    with_gradient = {name: weight.grad is not None for name, weight in model.named_parameters()}
    theirs = [found for name, found in with_gradient.items() if name.startswith("successors.")]
    others = [found for name, found in with_gradient.items() if not name.startswith("successors.")]
    return 100 * sum(theirs) / len(theirs), 100 * sum(others) / len(others), more


def _parameters(count: int, what: str, what_zh: str) -> Measured:
    return Measured.of(count, "parameters", what, unit_zh="个参数", what_zh=what_zh)
