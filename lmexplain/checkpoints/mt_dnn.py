"""MT-DNN: encoders are BERT's. A released state numbers its tasks and keeps them beside the encoder."""

from __future__ import annotations

from dataclasses import replace

from ..models.mt_dnn import MtDnn, MtDnnConfig
from .bert import BERT, under

__all__ = ["MT_DNN"]

TASK = {
    "dense": "scoring_list.{i}",
    "start": "scoring_list.{i}.query_wsum.att.linear",
    "read": "scoring_list.{i}.attn.score_func.linear",
    "gru": "scoring_list.{i}.rnn",
    "answer": "scoring_list.{i}.classifier.proj",
}

MT_DNN = replace(
    BERT,
    model=MtDnn,
    config=MtDnnConfig,
    heads={**BERT.heads, "MultiTask": under("head.tasks.{i}", TASK)},
    ignored=(*BERT.ignored, ".alpha"),
)
