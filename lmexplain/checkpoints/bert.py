"""BERT's names in published files; its descendants name only what differs."""

from __future__ import annotations

from ..models import Bert, BertConfig
from .layout import Layout

__all__ = ["BERT"]

LAYER = {
    "attention.sublayer.query": "attention.self.query",
    "attention.sublayer.key": "attention.self.key",
    "attention.sublayer.value": "attention.self.value",
    "attention.sublayer.output": "attention.output.dense",
    "attention.norm": "attention.output.LayerNorm",
    "feed_forward.sublayer.inner": "intermediate.dense",
    "feed_forward.sublayer.outer": "output.dense",
    "feed_forward.norm": "output.LayerNorm",
}
BODY = {
    "embeddings.token": "embeddings.word_embeddings",
    "embeddings.position": "embeddings.position_embeddings",
    "embeddings.segment": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    **{f"layers.{{i}}.{ours}": f"encoder.layer.{{i}}.{theirs}" for ours, theirs in LAYER.items()},
    "pooler.dense": "pooler.dense",
}
MASKED_LM = {
    "dense": "cls.predictions.transform.dense",
    "norm": "cls.predictions.transform.LayerNorm",
    "decoder.weight": "cls.predictions.decoder.weight",
    "decoder.bias": "cls.predictions.decoder.bias",
}
PAIR = {"dense": "cls.seq_relationship"}


def under(before: str, paths: dict[str, str]) -> dict[str, str]:
    """Paths of a module that stands below `before`."""
    return {f"{before}.{ours}": theirs for ours, theirs in paths.items()}


def tied(head: str, prefix: str) -> dict[str, str]:
    """A decoder's two tensors, and what they are stored under."""
    return {
        f"{head}.decoder.weight": f"{prefix}embeddings.word_embeddings.weight",
        f"{head}.decoder.bias": f"{head}.bias",
    }


#: What older files of this family hold beside the weights.
BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")
ENCODER_ONLY = {
    "position_embedding_type": ("absolute", None),
    "is_decoder": (False, None),
    "add_cross_attention": (False, None),
    "pruned_heads": ({}, None),
}

BERT = Layout(
    model=Bert,
    config=BertConfig,
    model_type="bert",
    architecture="Bert",
    prefix="bert.",
    body=BODY,
    heads={
        "PreTraining": under("head.tokens", MASKED_LM) | under("head.pair", PAIR),
        "MaskedLM": under("head", MASKED_LM),
        "NextSentencePrediction": under("head", PAIR),
        "SequenceClassification": {"head.dense": "classifier"},
        "MultipleChoice": {"head.dense": "classifier"},
        "TokenClassification": {"head.dense": "classifier"},
        "QuestionAnswering": {"head.dense": "qa_outputs"},
    },
    fixed=ENCODER_ONLY,
    tied=tied("cls.predictions", "bert."),
    ignored=BUFFERS,
)
