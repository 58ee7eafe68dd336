"""BigBird's names in published files: BERT's, but for the pooler and the classifier."""

from __future__ import annotations

from dataclasses import replace

from ..models import BigBird, BigBirdConfig
from .bert import BERT
from .layout import Layout

__all__ = ["BIGBIRD"]

BIGBIRD: Layout = replace(
    BERT,
    model=BigBird,
    config=BigBirdConfig,
    model_type="big_bird",
    architecture="BigBird",
    body={**BERT.body, "pooler.dense": "pooler"},
    heads={
        **{head: BERT.heads[head] for head in ("PreTraining", "MaskedLM", "MultipleChoice", "TokenClassification")},
        "SequenceClassification": {"head.pooler": "classifier.dense", "head.dense": "classifier.out_proj"},
    },
)
