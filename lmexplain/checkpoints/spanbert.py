"""SpanBERT: folders say BERT. The boundary head's names are those of the released pretraining code."""

from __future__ import annotations

from dataclasses import replace

from ..models.spanbert import SpanBert, SpanBertConfig
from .bert import BERT, MASKED_LM, under

__all__ = ["SPANBERT"]

_PAIRS = "cls.pair_target_predictions"
BOUNDARY = {
    "position": f"{_PAIRS}.position_embeddings",
    "first": f"{_PAIRS}.mlp_layer_norm.linear1",
    "first_norm": f"{_PAIRS}.mlp_layer_norm.layer_norm1",
    "second": f"{_PAIRS}.mlp_layer_norm.linear2",
    "second_norm": f"{_PAIRS}.mlp_layer_norm.layer_norm2",
    "decoder.weight": f"{_PAIRS}.decoder.weight",
    "decoder.bias": f"{_PAIRS}.decoder.bias",
}

SPANBERT = replace(
    BERT,
    model=SpanBert,
    config=SpanBertConfig,
    older_types=(None,),
    heads={
        **BERT.heads,
        "SpanBoundary": under("head.tokens", MASKED_LM) | under("head.boundary", BOUNDARY),
    },
    tied={
        **BERT.tied,
        f"{_PAIRS}.decoder.weight": "bert.embeddings.word_embeddings.weight",
        f"{_PAIRS}.decoder.bias": f"{_PAIRS}.bias",
    },
)
