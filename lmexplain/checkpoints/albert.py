"""ALBERT's names in published files: layers by group, then within it."""

from __future__ import annotations

from ..models import Albert, AlbertConfig
from .bert import BERT, BODY, BUFFERS, ENCODER_ONLY, tied, under
from .layout import Layout

__all__ = ["ALBERT"]

LAYER = {
    "attention.sublayer.query": "attention.query",
    "attention.sublayer.key": "attention.key",
    "attention.sublayer.value": "attention.value",
    "attention.sublayer.output": "attention.dense",
    "attention.norm": "attention.LayerNorm",
    "feed_forward.sublayer.inner": "ffn",
    "feed_forward.sublayer.outer": "ffn_output",
    "feed_forward.norm": "full_layer_layer_norm",
}
GROUP = "encoder.albert_layer_groups.{i}.albert_layers.{i}"
MASKED_LM = {
    "dense": "predictions.dense",
    "norm": "predictions.LayerNorm",
    "decoder.weight": "predictions.decoder.weight",
    "decoder.bias": "predictions.decoder.bias",
}

ALBERT = Layout(
    model=Albert,
    config=AlbertConfig,
    model_type="albert",
    architecture="Albert",
    prefix="albert.",
    body={
        **{ours: theirs for ours, theirs in BODY.items() if ours.startswith("embeddings.")},
        "embeddings.projection": "encoder.embedding_hidden_mapping_in",
        **{f"layers.{{i}}.{{i}}.{ours}": f"{GROUP}.{theirs}" for ours, theirs in LAYER.items()},
        "pooler.dense": "pooler",
    },
    heads={
        **{head: paths for head, paths in BERT.heads.items() if head != "NextSentencePrediction"},
        "PreTraining": under("head.tokens", MASKED_LM) | {"head.pair.dense": "sop_classifier.classifier"},
        "MaskedLM": under("head", MASKED_LM),
    },
    names={"classifier_dropout": "classifier_dropout_prob"},
    fixed=ENCODER_ONLY,
    absent={"hidden_size": 4096, "num_attention_heads": 64, "intermediate_size": 16384},
    tied=tied("predictions", "albert."),
    ignored=BUFFERS,
)
