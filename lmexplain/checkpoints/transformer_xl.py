"""Transformer-XL's names in published files: those of the library's first port, transfo-xl-wt103."""

from __future__ import annotations

from ..models import TransformerXl, TransformerXlConfig
from .layout import Layout, Theirs

__all__ = ["TRANSFORMER_XL"]

LAYER = {
    **{f"attention.sublayer.{part}": Theirs("dec_attn.qkv_net", part=n, of=3)
       for n, part in enumerate(("query", "key", "value"))},
    "attention.sublayer.output": "dec_attn.o_net",
    "attention.sublayer.place": "dec_attn.r_net",
    "attention.sublayer.u": "dec_attn.r_w_bias",
    "attention.sublayer.v": "dec_attn.r_r_bias",
    "attention.norm": "dec_attn.layer_norm",
    "feed_forward.sublayer.inner": "pos_ff.CoreNet.0",
    "feed_forward.sublayer.outer": "pos_ff.CoreNet.3",
    "feed_forward.norm": "pos_ff.layer_norm",
}  # fmt: skip
MOST = 8        # clusters that a file can have

TRANSFORMER_XL = Layout(
    model=TransformerXl,
    config=TransformerXlConfig,
    model_type="transfo-xl",
    architecture="TransfoXL",
    prefix="transformer.",
    body={
        "embeddings.tables.{i}": "word_emb.emb_layers.{i}",
        "embeddings.projections.{i}.weight": "word_emb.emb_projs.{i}",
        **{f"layers.{{i}}.{ours}": theirs._replace(path=f"layers.{{i}}.{theirs.path}") if isinstance(theirs, Theirs)
           else f"layers.{{i}}.{theirs}" for ours, theirs in LAYER.items()},
    },
    heads={
        "CausalLM": {
            "head.tables.{i}": "crit.out_layers.{i}",
            "head.projections.{i}.weight": "crit.out_projs.{i}",
            "head.rare.weight": "crit.cluster_weight",
            "head.rare.bias": "crit.cluster_bias",
        }
    },
    endings={"CausalLM": "LMHeadModel"},
    names={
        "hidden_size": "d_model",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "intermediate_size": "d_inner",
        "hidden_dropout_prob": "dropout",
        "attention_probs_dropout_prob": "dropatt",
        "layer_norm_eps": "layer_norm_epsilon",
        "initializer_range": "init_std",
        "tie_word_embeddings": "tie_weight",
    },
    older={"n_token": "vocab_size"},
    repeated={"d_embed": "d_model"},
    implied={"hidden_act": "relu", "max_position_embeddings": TransformerXlConfig.max_position_embeddings},
    fixed={
        "adaptive": (True,),
        "attn_type": (0,),
        "pre_lnorm": (False,),
        "untie_r": (True,),
        "ext_len": (0,),
        "proj_share_all_but_first": (True,),
        "sample_softmax": (-1,),
    },
    tied={
        **{f"crit.out_layers.{i}.weight": f"transformer.word_emb.emb_layers.{i}.weight" for i in range(MOST)},
        **{f"crit.out_projs.{i}": f"transformer.word_emb.emb_projs.{i}" for i in range(1, MOST)},
    },
    ignored=("pos_emb.inv_freq",),
)  # fmt: skip
