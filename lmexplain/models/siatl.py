"""SiATL (Chronopoulou, Baziotis & Potamianos 2019, arXiv:1902.10547). Differs from AWD-LSTM in: layers of one width and
a projection to the embeddings' after the last; no weights dropped; a task's own LSTM and attention pooling on top; and
the language model that stays while the task is learned, L = L_task + γ L_LM.

Released code, which is followed here:
- one layer of attention, e_t = tanh(w·h_t + b); its dropout falls on the scores e_t;
- dropout of features is shared over the texts of a batch, not over the steps of a text;
- the projection is there where the decoder is tied to the token table; the task's LSTM reads it too. Untied, as the
  released fine-tuning without a pretrained model has it, both read the last layer itself;
- padding stands at the end and is packed away; here it may stand anywhere;
- γ is constant within an epoch: exp(-1.6) in the first, then falling.
The noise and dropout of embeddings, which only pretraining used, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..attention import attend, dot
from ..layers import CausalLM, Head, LockedDropout, Lstm, Output, State
from ..layers.heads import check_classes, class_loss
from ..patterns import full
from .awd_lstm import AwdLstm, LstmConfig, LstmEmbeddings
from .base import layered

__all__ = ["Siatl", "SiatlConfig"]


@dataclass(frozen=True, kw_only=True)
class SiatlConfig(LstmConfig):
    """SiATL's sizes and rates; the defaults are those of the released configurations."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"lm20m-70k": {}}

    vocab_size: int = 70000
    intermediate_size: int = 1000
    num_hidden_layers: int = 2
    task_hidden_size: int = 100                 # width of the task's LSTM
    embedding_dropout: float = 0.2
    input_dropout: float = 0.1
    hidden_dropout_prob: float = 0.3
    output_dropout: float = 0.1
    weight_dropout: float = 0.0
    attention_dropout: float = 0.3              # of scores
    lm_weight: float = math.exp(-1.6)           # γ, where fine-tuning begins

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("task_hidden_size", self.task_hidden_size >= 1, "at least 1")
        self.check("lm_weight", self.lm_weight >= 0, "at least 0")


class AttentionPooling(nn.Module):
    """r = Σ a_t h_t, a = softmax(e) over the real tokens, e_t = tanh(w·h_t + b): a query w that is learned."""

    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dense, self.dropout = nn.Linear(hidden, 1), nn.Dropout(dropout)

    def score(self, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return self.dropout(torch.tanh(dot(q, k, i, j) + self.dense.bias))

    def forward(self, output: Output, h: Tensor, real: Tensor | None) -> tuple[Tensor, Output]:
        """h (B, T, H) -> r (B, H), and the output with the grid, and the weights (B, 1, 1, T) if it has any."""
        B, T, H = h.shape
        (grid,) = layered(full(), 1, 1, T, real, start=None)
        q, k = self.dense.weight.expand(B, 1, 1, H), h[:, None]
        r, weights = attend(q, k, k, grid, score=self.score, weights=True, method="dense")       # r (B, 1, 1, H)
        shown = None if output.attentions is None else (weights,)
        return r[:, 0, 0], replace(output, cross_grids=(grid,), cross_attentions=shown)  # pyright: ignore  # dense


class TaskHead(Head):
    """Classes from the task's LSTM and its pooling, beside the language model below.

    labels (B,) as SequenceClassification takes them, lm_labels (B, T) as CausalLM; what is given adds up, the latter
    times `lm_weight` (γ), which fine-tuning sets anew in each epoch.
    """

    def __init__(self, model: Siatl) -> None:
        super().__init__()
        c, self.lm = model.config, model.language_model()
        self.dropout, self.lm_weight = LockedDropout(c.output_dropout, axis=0), c.lm_weight
        self.task = Lstm(model.top, c.task_hidden_size, backward=c.backward)
        self.pooling = AttentionPooling(c.task_hidden_size, c.attention_dropout)
        self.dense = nn.Linear(c.task_hidden_size, c.num_labels)

    def check(self, shape: tuple[int, int], *, labels: Tensor | None = None, lm_labels: Tensor | None = None) -> None:
        if labels is not None:
            check_classes(labels, shape[0], self.dense.out_features)
        if lm_labels is not None:
            self.lm.check(shape, labels=lm_labels)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, output: Output, labels: Tensor | None = None, lm_labels: Tensor | None = None, real: Tensor | None = None
    ) -> Output:
        x = self.dropout(output.last_hidden_state)
        h, _ = self.task(x, None, real)
        r, output = self.pooling(output, h, real)
        logits, lm_logits = self.dense(r), self.lm.scores(x)
        losses = [class_loss(logits, labels), self.lm.loss(lm_logits, lm_labels)]
        parts = [weight * loss for weight, loss in zip((1.0, self.lm_weight), losses, strict=True) if loss is not None]
        return replace(output, logits=logits, lm_logits=lm_logits, loss=torch.stack(parts).sum() if parts else None)


class Siatl(AwdLstm):
    """The language model that is pretrained, and the task over it. `last_hidden_state` is projected where tied.

    A `state` is the language model's; the task's LSTM begins every pass anew.
    """

    config: SiatlConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        "CausalLM": lambda model: model.language_model(),
        "SequenceClassification": TaskHead,
    }

    def __init__(self, config: SiatlConfig, head: str | None = None) -> None:
        super(AwdLstm, self).__init__(config)
        H, width = config.hidden_size, config.intermediate_size
        self.embeddings, self.between = LstmEmbeddings(config, axis=0), nn.Dropout(config.hidden_dropout_prob)
        self.projection = nn.Linear(width, H) if config.tie_word_embeddings and width != H else None
        self.build(head)

    @property
    def top(self) -> int:
        """The width of `last_hidden_state`."""
        return self.config.intermediate_size if self.projection is None else self.config.hidden_size

    def language_model(self) -> CausalLM:
        c = self.config
        return CausalLM(
            self.embeddings.token, c.tie_word_embeddings, hidden=self.top, bias=True, backward=c.backward
        )  # fmt: skip

    def encode(self, x: Tensor, state: Sequence[State] | None, real: Tensor | None) -> tuple[list[Tensor], list[State]]:
        """As AWD-LSTM, the last state projected."""
        states, ends = super().encode(x, state, real)
        return states if self.projection is None else [*states[:-1], self.projection(states[-1])], ends
