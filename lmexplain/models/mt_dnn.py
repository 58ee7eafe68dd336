"""MT-DNN (Liu, He, Chen & Gao 2019, arXiv:1901.11504). Differs from BERT in: many tasks share the encoder, each with a
head of its own kind: single sentences, similarity, pairs (a stochastic answer network, SAN), ranking. A batch is of one
task: `model(…, task="mnli", labels=…)`.

SAN is Liu, Duh & Gao 2018 (arXiv:1804.07888). Departures of the released code, which are followed here:
- SAN gives log-probabilities; a turn dropped in training still counts in the mean, what is kept is scaled by 1/(1 - p);
- turn k is judged from the state before its GRU step and from what that state reads, so the last GRU step is not used;
- all of SAN's maps have biases; [CLS] and [SEP] belong to the segments that they stand in; within a sentence one
  dropout mask serves all positions;
- relevance has no sigmoid around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..layers import Head, Output, SequenceClassification
from ..layers.heads import check_labels, token_loss
from .bert import LARGE, Bert, BertConfig
from .inputs import real_tokens, shape_of

__all__ = ["GLUE", "MtDnn", "MtDnnConfig", "MultiTask", "Ranking", "StochasticAnswer"]

KINDS = ("SingleSentence", "Similarity", "Pairwise", "Ranking")
#: The tasks of table 1: a kind, and its classes.
GLUE: dict[str, tuple[str, int]] = {
    "cola": ("SingleSentence", 2), "sst": ("SingleSentence", 2), "stsb": ("Similarity", 1), "mnli": ("Pairwise", 3),
    "rte": ("Pairwise", 2), "wnli": ("Pairwise", 2), "qqp": ("Pairwise", 2), "mrpc": ("Pairwise", 2),
    "qnli": ("Ranking", 1),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MtDnnConfig(BertConfig):
    """MT-DNN's sizes and tasks; the defaults are BERT base and GLUE."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"mt-dnn-base": {}, "mt-dnn-large": LARGE}

    tasks: Mapping[str, tuple[str, int]] = field(default_factory=lambda: GLUE)
    answer_turns: int = 5                       # K of SAN
    answer_dropout: float = 0.1                 # share of SAN's turns dropped in training
    ranking_gamma: float = 1.0                  # γ

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("answer_turns", self.answer_turns >= 1, "at least 1")
        self.check("answer_dropout", 0 <= self.answer_dropout < 1, "0 to below 1")
        object.__setattr__(self, "tasks", {name: tuple(task) for name, task in self.tasks.items()})
        for name, task in self.tasks.items():
            kind, classes = task if len(task) == 2 else (task, None)
            if kind not in KINDS:
                raise ValueError(f"task {name!r} is of kind {kind!r}; choose one of {', '.join(KINDS)}")
            several = isinstance(classes, int) and classes >= 2
            self.check("tasks", classes == 1 if kind in ("Similarity", "Ranking") else several,
                       "one class for Similarity and Ranking, two or more for the others")  # fmt: skip


class StochasticAnswer(Head):
    """SAN: K turns of reading the premise with a state that began as the hypothesis; their mean answers (section 3).

    premise, hypothesis (B, T), True at their tokens; labels (B,). Logits are log-probabilities.
    """

    def __init__(self, config: MtDnnConfig, classes: int, dropout: float) -> None:
        super().__init__()
        H = config.hidden_size
        self.turns, self.drop, self.dropout = config.answer_turns, config.answer_dropout, dropout
        self.start, self.read, self.gru = nn.Linear(H, 1), nn.Linear(H, H), nn.GRUCell(H, H)
        self.answer = nn.Linear(4 * H, classes)

    def forward(
        self, output: Output, labels: Tensor | None = None, premise: Tensor | None = None,
        hypothesis: Tensor | None = None,
    ) -> Output:  # fmt: skip
        M = output.last_hidden_state                                                        # (B, T, H)
        assert premise is not None and hypothesis is not None
        logits = self.mean(torch.stack(self.answers(M, premise, hypothesis), dim=1)).log()
        return replace(output, logits=logits, loss=token_loss(logits, labels))

    def check(
        self, shape: tuple[int, int], *, labels: Tensor, premise: Tensor | None = None, hypothesis: Tensor | None = None
    ) -> None:
        check_labels(labels, shape[:1], self.answer.out_features)

    def answers(self, M: Tensor, premise: Tensor, hypothesis: Tensor) -> list[Tensor]:
        """P^0 … P^{K-1}, each (B, classes)."""
        h = self.locked(M)
        alpha = self.start(h).squeeze(-1).masked_fill(~hypothesis, -torch.inf).softmax(-1)  # softmax(θ_1 · M^h_j)
        s, found = (alpha[:, None] @ h).squeeze(1), []                                      # s^0 = Σ α_j M^h_j
        for _ in range(self.turns):
            q = self.drop_out(self.read(self.drop_out(s)))
            scores = (self.locked(M) @ q[:, :, None]).squeeze(-1)                           # s θ_2 M^p_j
            beta = scores.masked_fill(~premise, -torch.inf).softmax(-1)
            x = (beta[:, None] @ M).squeeze(1)                                              # x = Σ β_j M^p_j
            merged = torch.cat([x, s, (x - s).abs(), x * s], dim=-1)
            found.append(self.answer(self.drop_out(merged)).softmax(-1))                    # P^k = softmax(θ_3 […])
            s = self.gru(x, self.drop_out(s))                                               # s ← GRU(s, x)
        return found

    def mean(self, answers: Tensor) -> Tensor:
        """(B, K, classes) -> (B, classes). In training turns are dropped, of each sample at least one is kept."""
        if self.training and self.drop:
            B, K, _ = answers.shape
            kept = torch.rand(B, K, device=answers.device) >= self.drop
            kept = kept.scatter(1, torch.randint(K, (B, 1), device=answers.device), True)
            answers = answers * kept[:, :, None] / (1 - self.drop)
        return answers.mean(1)

    def drop_out(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training)

    def locked(self, x: Tensor) -> Tensor:
        """Dropout of the same features at all positions."""
        return F.dropout1d(x.transpose(1, 2), self.dropout, self.training).transpose(1, 2)


class Ranking(SequenceClassification):
    """P(A | Q) = softmax over the candidates of γ Rel(Q, A) (section 3.1), Rel = w · x_[CLS]. labels (Q,): the right
    one's place; logits (Q, C): γ Rel.
    """

    def __init__(self, hidden: int, dropout: float, gamma: float) -> None:
        super().__init__(hidden, 1, dropout)
        self.gamma = gamma

    def check(self, shape: tuple[int, int], *, labels: Tensor, candidates: int = 1) -> None:
        check_labels(labels, shape[:1], candidates)

    def forward(self, output: Output, labels: Tensor | None = None, candidates: int = 1) -> Output:
        relevance = super().forward(output).logits
        assert relevance is not None
        logits = self.gamma * relevance.view(-1, candidates)                                # (Q · C, 1) -> (Q, C)
        return replace(output, logits=logits, loss=token_loss(logits, labels))


class MultiTask(Head):
    """A head for each task; `MtDnn.forward` asks the one of its batch."""

    pooled = True

    def __init__(self, bert: MtDnn) -> None:
        super().__init__()
        self.tasks = nn.ModuleList(self.of_kind(bert, *task) for task in bert.config.tasks.values())

    @staticmethod
    def of_kind(bert: MtDnn, kind: str, classes: int) -> Head:
        H, _, dropout = bert.classifier()
        if kind == "Pairwise":
            return StochasticAnswer(bert.config, classes, dropout)
        if kind == "Ranking":
            return Ranking(H, dropout, bert.config.ranking_gamma)
        return SequenceClassification(H, classes, dropout)          # W x_[CLS], before its softmax; w x_[CLS]

    def check(self, shape: tuple[int, int], *, labels: Tensor) -> None:
        """The task's own head checks, since only `MtDnn.forward` knows the task."""

    def forward(self, output: Output, labels: Tensor | None = None) -> Output:
        return output


class MtDnn(Bert):
    """BERT with a head for each task (figure 1)."""

    config: MtDnnConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {**Bert.heads, "MultiTask": MultiTask}

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # a task is no tensor
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None, position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None, *, task: str | None = None, labels: Tensor | None = None, **others: Any,
    ) -> Output:  # fmt: skip
        """As BERT; with the MultiTask head a batch of `task`, one of the configuration's.

        Pairwise: `token_type_ids` mark premise (0) and hypothesis (1). Ranking: inputs are (queries, candidates, T),
        logits (queries, candidates), labels (queries,) the place of the right candidate. Raises ValueError otherwise.
        """
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids,
                  "position_ids": position_ids, "inputs_embeds": inputs_embeds}  # fmt: skip
        tasks = self.config.tasks
        if not isinstance(self.head, MultiTask):
            if task is not None:
                raise ValueError(f"task={task!r} given to a model without tasks; make it with head='MultiTask'")
            return super().forward(**inputs, labels=labels, **others)
        if task is None or task not in tasks:
            raise ValueError(f"task={task!r}; a batch is of one task: give one of {', '.join(tasks)}")
        kind, asked = tasks[task][0], {}
        text = input_ids if inputs_embeds is None else inputs_embeds
        if kind == "Ranking":
            if text is None or text.dim() != (3 if inputs_embeds is None else 4):
                raise ValueError(f"task {task!r} ranks candidates: give inputs of shape (queries, candidates, length)")
            asked = {"candidates": text.shape[1]}
            inputs = {name: x.flatten(0, 1) if x is not None and x.dim() > 2 else x for name, x in inputs.items()}
        elif kind == "Pairwise":
            shape = shape_of(input_ids, inputs_embeds, self.config.hidden_size)
            asked = segments(task, attention_mask, token_type_ids, shape)
        head: Any = self.head.tasks[list(tasks).index(task)]
        if labels is not None and text is not None and not torch.compiler.is_compiling():
            head.check((text.shape[0], text.shape[-1]), labels=labels, **asked)
        return head(super().forward(**inputs, **others), labels, **asked)


def segments(
    task: str, attention_mask: Tensor | None, token_type_ids: Tensor | None, shape: tuple[int, int]
) -> dict[str, Tensor]:
    """Where premise and hypothesis stand, (B, T). Raises ValueError where a sentence has not both."""
    real = real_tokens(attention_mask, shape)
    if token_type_ids is not None and token_type_ids.shape == shape:
        found = [token_type_ids == i if real is None else (token_type_ids == i) & real for i in (0, 1)]
        if torch.compiler.is_compiling() or all(bool(part.any(1).all()) for part in found):
            return {"premise": found[0], "hypothesis": found[1]}
    raise ValueError(
        f"task {task!r} compares two segments; give token_type_ids {shape} that mark both, 0 and 1, in each row"
    )
