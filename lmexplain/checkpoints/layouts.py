"""The layouts by the `model_type` of config.json."""

from __future__ import annotations

from .bert import BERT
from .gpt import GPT, GPT2
from .layout import Layout

__all__ = ["LAYOUTS"]

LAYOUTS: dict[str, Layout] = {layout.model_type: layout for layout in (GPT, GPT2, BERT)}
