"""Longformer's names in published files: RoBERTa's, and the global projections."""

from __future__ import annotations

from dataclasses import replace

from ..models import Longformer, LongformerConfig
from .layout import Layout
from .roberta import ROBERTA

__all__ = ["LONGFORMER"]

GLOBAL = {
    f"layers.{{i}}.attention.sublayer.{part}_global": f"encoder.layer.{{i}}.attention.self.{part}_global"
    for part in ("query", "key", "value")
}

LONGFORMER: Layout = replace(
    ROBERTA,
    model=Longformer,
    config=LongformerConfig,
    model_type="longformer",
    architecture="Longformer",
    prefix="longformer.",
    body={**ROBERTA.body, **GLOBAL},
    heads={head: names for head, names in ROBERTA.heads.items() if head != "MultipleChoice"},
    absent={**ROBERTA.absent, "vocab_size": 30522},
    fixed={"attention_mode": ("longformer", "sliding_chunks"), "attention_dilation": (None, [1] * 12, [1] * 24)},
    tied={key: place.replace("roberta.", "longformer.") for key, place in ROBERTA.tied.items()},
    ignored=(*ROBERTA.ignored, "embeddings.position_ids"),
)
