"""ERNIE 1.0 of Baidu (Sun et al. 2019, arXiv:1904.09223). Differs from BERT in: nothing but the vocabulary, one of
Chinese characters.

Its knowledge comes by what is masked, phrases and entities as a whole. In dialogue the segment table holds roles, of
query and response. The released model takes ReLU, ε = 1e-5 and 513 positions; the paper says none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .bert import Bert, BertConfig

__all__ = ["Ernie", "ErnieConfig"]


@dataclass(frozen=True, kw_only=True)
class ErnieConfig(BertConfig):
    """ERNIE 1.0's sizes; the defaults are the paper's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "ernie-1.0": {},
        "ernie-1.0-base-zh": {
            "vocab_size": 18000, "max_position_embeddings": 513, "hidden_act": "relu", "layer_norm_eps": 1e-5,
        },
    }  # fmt: skip

    vocab_size: int = 17964


class Ernie(Bert):
    """BERT, trained to fill in whole phrases and entities."""

    config: ErnieConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
