"""The names of Baidu's ERNIE in published files: BERT's, below another prefix.

ERNIE 1.0 and 2.0 share one `model_type`; use_task_id tells them apart.
"""

from __future__ import annotations

from dataclasses import replace

from ..models import Ernie, Ernie2, Ernie2Config, ErnieConfig
from .bert import BERT, BODY, tied

__all__ = ["ERNIE", "ERNIE2"]

ERNIE = replace(
    BERT,
    model=Ernie,
    config=ErnieConfig,
    model_type="ernie",
    architecture="Ernie",
    prefix="ernie.",
    absent={"vocab_size": 30522},
    tied=tied("cls.predictions", "ernie."),
)
ERNIE2 = replace(
    ERNIE,
    model=Ernie2,
    config=Ernie2Config,
    body={**BODY, "embeddings.task": "embeddings.task_type_embeddings"},
    absent={"type_vocab_size": 2},
    chosen_by={"use_task_id": True},
)
