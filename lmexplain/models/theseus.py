"""BERT-of-Theseus (Xu et al. 2020, arXiv:2002.02925). Differs from BERT in: a second, shorter stack of layers, the
successor, each of which stands in for a module of several of BERT's own, the predecessor's; in training it is drawn
which of them runs.

Released code: the successor starts as copies of the predecessor's first layers; one draw per module and pass; in
evaluation the successor runs alone; only its layers are trained. It refuses rate 0, which here replaces nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from ..layers import Output, Run
from ..patterns import Grid, Pattern
from .bert import Bert, BertConfig

__all__ = ["Theseus", "TheseusConfig", "constant_rate", "linear_rate"]


@dataclass(frozen=True, kw_only=True)
class TheseusConfig(BertConfig):
    """Both stacks' sizes; the defaults are the paper's, 12 layers of bert-base-uncased into 6."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "theseus-6-layer": {}, "theseus-3-layer": {"successor_layers": 3},
    }  # fmt: skip

    successor_layers: int = 6
    replacing_rate: float = 0.5                 # p, until a schedule sets another

    def __post_init__(self) -> None:
        super().__post_init__()
        l, L = self.successor_layers, self.num_hidden_layers  # noqa: E741  # the paper's letters
        self.check("successor_layers", l >= 1 and L % l == 0, f"a divisor of the predecessor's {L} layers")
        checked_rate(self.replacing_rate)


def checked_rate(rate: float) -> float:
    """Raises ValueError unless it is a probability."""
    if not 0 <= rate <= 1:
        raise ValueError(f"the replacing rate is {rate}; it is a probability: give 0 (no module replaced) to 1 (all)")
    return rate


def constant_rate(t: int, rate: float, steps: int | None = None) -> float:
    """The rate of batch t = 0, 1, …: `rate`, and from batch `steps` on 1, so that the successor trains as a whole.

    The released schedule steps after the batch, so that the first batch has `rate` even with 0 steps.
    """
    return checked_rate(1.0 if steps is not None and t >= max(steps, 1) else rate)


def linear_rate(t: int, k: float, b: float) -> float:
    """p_t = min(1, k t + b) of batch t = 0, 1, …: curriculum replacement (section 3.3); the first batch has b."""
    rate = k * t + b
    return checked_rate(1.0 if rate > 1 else rate)


class Theseus(Bert):
    """BERT whose modules may be replaced. `replacing_rate` is p; a schedule sets it between batches."""

    config: TheseusConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class

    def __init__(self, config: TheseusConfig, head: str | None = None, pooler: bool | None = None) -> None:
        super().__init__(config, head, pooler)
        self.replacing_rate = config.replacing_rate
        self.requires_grad_(False)
        self.successors = nn.ModuleList(deepcopy(layer) for layer in self.layers[: config.successor_layers])
        self.successors.requires_grad_(True)

    @property
    def replacing_rate(self) -> float:
        """The probability that a module is replaced."""
        return self._replacing_rate

    @replacing_rate.setter
    def replacing_rate(self, rate: float) -> None:
        self._replacing_rate = checked_rate(rate)

    @classmethod
    def from_predecessor(cls, bert: Bert, successor_layers: int = 6) -> Self:
        """A BERT, trained for its task, with a successor that starts as copies of its first layers."""
        sizes = {field.name: getattr(bert.config, field.name) for field in fields(BertConfig)}
        config = TheseusConfig(**sizes, successor_layers=successor_layers)
        model = cls(config, bert.head_name, bert.pooler is not None).to(bert.embeddings.token.weight)
        copies = {f"successors.{name}": x for name, x in bert.layers[:successor_layers].state_dict().items()}
        model.load_state_dict({**bert.state_dict(), **copies})
        return model.train(bert.training)

    def successor(self) -> Bert:
        """What remains: a plain BERT with the successor's layers, a copy that trains as a whole."""
        sizes = {field.name: getattr(self.config, field.name) for field in fields(BertConfig)}
        config = replace(BertConfig(**sizes), num_hidden_layers=self.config.successor_layers)
        bert = Bert(config, self.head_name, self.pooler is not None).to(self.embeddings.token.weight)
        kept = {name: x for name, x in self.state_dict().items() if not name.startswith("layers.")}
        bert.load_state_dict({name.replace("successors.", "layers.", 1): x for name, x in kept.items()})
        return bert.train(self.training)

    def draw(self) -> tuple[bool, ...]:
        """For each module, is it replaced? r_i ~ Bernoulli(p) from torch's generator; in evaluation all are."""
        n = self.config.successor_layers
        return tuple((torch.rand(n) < self.replacing_rate).tolist()) if self.training else (True,) * n

    def modules_of(self, replaced: Sequence[bool]) -> list[nn.Module]:
        """The layers that run, in order."""
        size = self.config.num_hidden_layers // self.config.successor_layers
        return [layer for i, r in enumerate(replaced)
                for layer in ([self.successors[i]] if r else self.layers[size * i : size * (i + 1)])]  # fmt: skip

    def grids(
        self, queries: int, keys: int | None = None, real: Tensor | None = None,
        pattern: Pattern | Sequence[Pattern] | None = None,
    ) -> tuple[Grid, ...]:  # fmt: skip
        """As BERT, for the layers of evaluation; all layers have one pattern, since it is drawn which of them run."""
        if isinstance(pattern, Sequence):
            raise ValueError(f"{len(pattern)} patterns given; which layers run is drawn, so give one for all")
        return super().grids(queries, keys, real, pattern)[:1] * self.config.successor_layers

    def walk(self, x: Tensor, grids: Sequence[Grid], run: Run) -> list[Tensor]:
        """y_i = r_i scc_i(y_{i-1}) + (1 - r_i) prd_i(y_{i-1}) (section 3.1), a state for each layer that ran."""
        run.replaced, states = self.draw(), [x]
        for layer in self.modules_of(run.replaced):
            states.append(layer(states[-1], grids[0], run))
        return states

    def answer(self, states: Sequence[Tensor], grids: tuple[Grid, ...], run: Run, **targets: Tensor | None) -> Output:
        """As BERT, with the grids that were run on, and `replaced`: which modules ran as their successors."""
        output = super().answer(states, grids[:1] * (len(states) - 1), run, **targets)
        return replace(output, replaced=run.replaced)
