"""Published translation models that are the original Transformer: Marian's (Junczys-Dowmunt et al. 2018)."""

from __future__ import annotations

from ..models import Transformer, TransformerConfig
from .layout import Layout, Theirs

__all__ = ["MARIAN"]

PARTS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
ENCODER = {
    **{f"attention.sublayer.{ours}": f"self_attn.{theirs}" for ours, theirs in PARTS.items()},
    "attention.norm": "self_attn_layer_norm",
    "feed_forward.sublayer.inner": "fc1",
    "feed_forward.sublayer.outer": "fc2",
    "feed_forward.norm": "final_layer_norm",
}
DECODER = {
    **ENCODER,
    **{f"cross.sublayer.{ours}": f"encoder_attn.{theirs}" for ours, theirs in PARTS.items()},
    "cross.norm": "encoder_attn_layer_norm",
}
EITHER = ("encoder", "decoder")

MARIAN = Layout(
    model=Transformer,
    config=TransformerConfig,
    model_type="marian",
    architecture="Marian",
    prefix="model.",
    body={
        "embeddings.token": "shared",
        **{f"encoder.{{i}}.{ours}": f"encoder.layers.{{i}}.{theirs}" for ours, theirs in ENCODER.items()},
        **{f"layers.{{i}}.{ours}": f"decoder.layers.{{i}}.{theirs}" for ours, theirs in DECODER.items()},
    },
    heads={
        "ConditionalGeneration": {
            "head.decoder.weight": "lm_head.weight",
            "head.decoder.bias": Theirs("final_logits_bias", row=True),
        }
    },
    endings={"ConditionalGeneration": "MTModel"},
    names={
        "hidden_size": "d_model",
        "num_hidden_layers": "encoder_layers",
        "num_attention_heads": "encoder_attention_heads",
        "intermediate_size": "encoder_ffn_dim",
        "hidden_act": "activation_function",
        "hidden_dropout_prob": "dropout",
        "attention_probs_dropout_prob": "attention_dropout",
        "initializer_range": "init_std",
    },
    repeated={
        "decoder_layers": "encoder_layers",
        "decoder_attention_heads": "encoder_attention_heads",
        "decoder_ffn_dim": "encoder_ffn_dim",
        "decoder_vocab_size": "vocab_size",
    },
    absent={"label_smoothing": 0.0},
    implied={"sinusoid_halves": True, "output_bias": True, "layer_norm_eps": 1e-5},
    fixed={
        "scale_embedding": (True,),
        "tie_word_embeddings": (True,),
        "share_encoder_decoder_embeddings": (True,),
        "is_decoder": (False,),
        "activation_dropout": (0.0,),
        "encoder_layerdrop": (0.0,),
        "decoder_layerdrop": (0.0,),
        "normalize_before": (False,),
        "normalize_embedding": (False,),
        "add_final_layer_norm": (False,),
        "static_position_embeddings": (True,),
    },
    tied={
        "lm_head.weight": "model.shared.weight",
        **{f"model.{side}.embed_tokens.weight": "model.shared.weight" for side in EITHER},
    },
    ignored=("embed_positions.weight",),
)
