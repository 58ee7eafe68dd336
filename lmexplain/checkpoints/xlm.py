"""XLM's names in published files."""

from __future__ import annotations

from ..models import Xlm, XlmConfig
from .layout import Layout

__all__ = ["XLM"]

LAYER = {
    "attention.sublayer.query": "attentions.{i}.q_lin",
    "attention.sublayer.key": "attentions.{i}.k_lin",
    "attention.sublayer.value": "attentions.{i}.v_lin",
    "attention.sublayer.output": "attentions.{i}.out_lin",
    "attention.norm": "layer_norm1.{i}",
    "feed_forward.sublayer.inner": "ffns.{i}.lin1",
    "feed_forward.sublayer.outer": "ffns.{i}.lin2",
    "feed_forward.norm": "layer_norm2.{i}",
}

XLM = Layout(
    model=Xlm,
    config=XlmConfig,
    model_type="xlm",
    architecture="XLM",
    prefix="transformer.",
    body={
        "embeddings.token": "embeddings",
        "embeddings.position": "position_embeddings",
        "embeddings.language": "lang_embeddings",
        "embeddings.norm": "layer_norm_emb",
        **{f"layers.{{i}}.{ours}": theirs for ours, theirs in LAYER.items()},
    },
    heads={
        "MaskedLM": {"head.decoder": "pred_layer.proj"},
        "SequenceClassification": {"head.dense": "sequence_summary.summary"},
        "TokenClassification": {"head.dense": "classifier"},
        "QuestionAnsweringSimple": {"head.dense": "qa_outputs"},
    },
    endings={"MaskedLM": "WithLMHeadModel"},
    names={
        "hidden_size": "emb_dim",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "hidden_act": "gelu_activation",
        "hidden_dropout_prob": "dropout",
        "attention_probs_dropout_prob": "attention_dropout",
        "initializer_range": "init_std",
        "classifier_dropout": "summary_first_dropout",
    },
    older={"n_words": "vocab_size", "pad_index": "pad_token_id"},
    values={"hidden_act": {"gelu": True, "relu": False}},
    fixed={
        "asm": (False,),
        "is_encoder": (True,),
        "summary_type": ("first",),
        "summary_use_proj": (True,),
        "summary_proj_to_labels": (True,),
        "summary_activation": (None,),
        "pruned_heads": ({}, None),
    },
    tied={"pred_layer.proj.weight": "transformer.embeddings.weight"},
    ignored=("position_ids",),
)
