"""ERNIE 2.0 (Sun et al. 2019, arXiv:1907.12412). Differs from BERT in: a task embedding, and four segment types.

Seven tasks join one after another, each with an id of its own; fine-tuning may start from any of them. The released
models of 2.0 left the task table out and are `Ernie` with these sizes; the table is in its descendants, ERNIE 3.0's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..layers import Output, Run
from .bert import LARGE, Bert, BertConfig, BertEmbeddings
from .inputs import check_ids

__all__ = ["Ernie2", "Ernie2Config"]


@dataclass(frozen=True, kw_only=True)
class Ernie2Config(BertConfig):
    """ERNIE 2.0's sizes; the defaults are ernie-2.0-base-en's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"ernie-2.0-base-en": {}, "ernie-2.0-large-en": LARGE}

    type_vocab_size: int = 4
    task_type_vocab_size: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("task_type_vocab_size", self.task_type_vocab_size >= 1, "at least 1")


class Ernie2Embeddings(BertEmbeddings):
    """h_0 = dropout(LN(E_token + E_position + E_segment + E_task)) (figure 3)."""

    def __init__(self, config: Ernie2Config) -> None:
        super().__init__(config)
        self.task = nn.Embedding(config.task_type_vocab_size, config.hidden_size)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # tasks join
        self, tokens: Tensor, position_ids: Tensor, token_type_ids: Tensor, task_type_ids: Tensor
    ) -> Tensor:
        """Embedded tokens (B, T, H), places, segments and tasks (B, T) -> (B, T, H)."""
        return super().forward(tokens + self.task(task_type_ids), position_ids, token_type_ids)


class Ernie2(Bert):
    """BERT, told which of its tasks it is at."""

    config: Ernie2Config  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
    Embeddings: ClassVar[type[Any]] = Ernie2Embeddings

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None, position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None, *, task_type_ids: Tensor | None = None, **more: Any,
    ) -> Output:  # fmt: skip
        """As `Bert.forward`. task_type_ids: (B, T), the task's id at each token; 0 where not given."""
        more["task_type_ids"] = task_type_ids
        return super().forward(input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds, **more)

    def told(self, given: dict[str, Any], shape: tuple[int, int], run: Run) -> tuple[Tensor, ...]:
        tasks = given.pop("task_type_ids", None)
        if tasks is None:
            tasks = torch.zeros(1, 1, dtype=torch.long, device=self.embeddings.task.weight.device)
        check_ids("task_type_ids", tasks, self.config.task_type_vocab_size, shape, "number the tasks from 0")
        return (tasks,)
