"""UniLM: published names are BERT's, and its segments are six. Its own code's folders say "unilm", or nothing."""

from __future__ import annotations

from dataclasses import replace

from ..models.unilm import UniLm, UniLmConfig
from .bert import BERT

__all__ = ["UNILM"]

UNILM = replace(BERT, model=UniLm, config=UniLmConfig, older_types=("unilm", None))
