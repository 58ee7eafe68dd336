"""XLM-R (Conneau et al. 2019, arXiv:1911.02116). Differs from RoBERTa in: the vocabulary, 250,002 pieces for a hundred
languages.

Differs from XLM in: no language embeddings, no parallel text, the pieces of one SentencePiece model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .bert import LARGE
from .roberta import Roberta, RobertaConfig

__all__ = ["XlmRoberta", "XlmRobertaConfig"]


@dataclass(frozen=True, kw_only=True)
class XlmRobertaConfig(RobertaConfig):
    """XLM-R's sizes; the defaults are xlm-roberta-base's, whose token table is 69% of its parameters."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"xlm-roberta-base": {}, "xlm-roberta-large": LARGE}

    vocab_size: int = 250002


class XlmRoberta(Roberta):
    """RoBERTa, over a hundred languages."""

    config: XlmRobertaConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
