"""BERT-of-Theseus while it is trained: BERT's names, and the successor's layers beside the predecessor's."""

from __future__ import annotations

from dataclasses import replace

from ..models.theseus import Theseus, TheseusConfig
from .bert import BERT, BODY, LAYER

__all__ = ["THESEUS"]

THESEUS = replace(
    BERT,
    model=Theseus,
    config=TheseusConfig,
    body=BODY | {f"successors.{{i}}.{ours}": f"encoder.scc_layer.{{i}}.{theirs}" for ours, theirs in LAYER.items()},
)
