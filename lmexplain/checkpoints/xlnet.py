"""XLNet's names in published files, where projections are kept as (H, heads, width)."""

from __future__ import annotations

from ..models import XLNet, XLNetConfig
from .layout import Layout, Theirs

__all__ = ["XLNET"]

ATTENTION = "layer.{i}.rel_attn"
PARTS = {"query": "q", "key": "k", "value": "v", "place": "r"}
SUMMARY = {"pooler.dense": "sequence_summary.summary", "head.dense": "logits_proj"}

XLNET = Layout(
    model=XLNet,
    config=XLNetConfig,
    model_type="xlnet",
    architecture="XLNet",
    prefix="transformer.",
    body={
        "embeddings.token": "word_embedding",
        "embeddings.query": "mask_emb",
        **{f"layers.{{i}}.attention.sublayer.{ours}.weight": Theirs(f"{ATTENTION}.{theirs}", True, heads=-1, axes=True)
           for ours, theirs in PARTS.items()},
        "layers.{i}.attention.sublayer.output.weight": Theirs(f"{ATTENTION}.o", heads=-1, axes=True),
        "layers.{i}.attention.sublayer.u": f"{ATTENTION}.r_w_bias",
        "layers.{i}.attention.sublayer.v": f"{ATTENTION}.r_r_bias",
        "layers.{i}.attention.sublayer.b": f"{ATTENTION}.r_s_bias",
        "layers.{i}.attention.sublayer.s": f"{ATTENTION}.seg_embed",
        "layers.{i}.attention.norm": f"{ATTENTION}.layer_norm",
        "layers.{i}.feed_forward.sublayer.inner": "layer.{i}.ff.layer_1",
        "layers.{i}.feed_forward.sublayer.outer": "layer.{i}.ff.layer_2",
        "layers.{i}.feed_forward.norm": "layer.{i}.ff.layer_norm",
    },
    heads={
        "PermutationLM": {"head.decoder": "lm_loss"},
        "SequenceClassification": SUMMARY,
        "MultipleChoice": SUMMARY,
        "TokenClassification": {"head.dense": "classifier"},
        "QuestionAnsweringSimple": {"head.dense": "qa_outputs"},
    },
    endings={"PermutationLM": "LMHeadModel"},
    names={
        "hidden_size": "d_model",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "intermediate_size": "d_inner",
        "hidden_act": "ff_activation",
        "hidden_dropout_prob": "dropout",
        "attention_probs_dropout_prob": "dropout",
        "classifier_dropout": "summary_last_dropout",
    },
    absent={"mem_len": 512},
    implied={"max_position_embeddings": XLNetConfig.max_position_embeddings},
    fixed={
        "untie_r": (True,),
        "summary_type": ("last",),
        "summary_use_proj": (True,),
        "summary_activation": ("tanh",),
    },
    tied={"lm_loss.weight": "transformer.word_embedding.weight"},
)  # fmt: skip
