"""GPT's and GPT-2's names in published files: every matrix is (in, out), query, key and value are joined in one."""

from __future__ import annotations

from ..models import Gpt, Gpt2, Gpt2Config, GptConfig
from .layout import Layout, Theirs

__all__ = ["GPT", "GPT2"]

LAYER = {
    "attention.sublayer.query": Theirs("attn.c_attn", transpose=True, part=0, of=3),
    "attention.sublayer.key": Theirs("attn.c_attn", transpose=True, part=1, of=3),
    "attention.sublayer.value": Theirs("attn.c_attn", transpose=True, part=2, of=3),
    "attention.sublayer.output": Theirs("attn.c_proj", transpose=True),
    "attention.norm": Theirs("ln_1"),
    "feed_forward.sublayer.inner": Theirs("mlp.c_fc", transpose=True),
    "feed_forward.sublayer.outer": Theirs("mlp.c_proj", transpose=True),
    "feed_forward.norm": Theirs("ln_2"),
}
LAYERS = {f"layers.{{i}}.{ours}": theirs._replace(path=f"h.{{i}}.{theirs.path}") for ours, theirs in LAYER.items()}
HEADS = {"CausalLM": {"head.decoder": "lm_head"}, "SequenceClassification": {"head.dense": "score"}}
NAMES = {
    "hidden_size": "n_embd",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "max_position_embeddings": "n_positions",
    "layer_norm_eps": "layer_norm_epsilon",
    "hidden_dropout_prob": "resid_pdrop",
    "attention_probs_dropout_prob": "attn_pdrop",
}

#: What older files hold beside the weights: the triangle of who may attend, and the score of who may not.
BUFFERS = (".attn.bias", ".attn.masked_bias")

GPT = Layout(
    model=Gpt,
    config=GptConfig,
    model_type="openai-gpt",
    architecture="OpenAIGPT",
    prefix="transformer.",
    body={"embeddings.token": "tokens_embed", "embeddings.position": "positions_embed", **LAYERS},
    heads=HEADS,
    endings={"CausalLM": "LMHeadModel"},
    names={**NAMES, "hidden_act": "afn"},
    tied={"lm_head.weight": "transformer.tokens_embed.weight"},
    ignored=(*BUFFERS, "position_ids"),
)
GPT2 = Layout(
    model=Gpt2,
    config=Gpt2Config,
    model_type="gpt2",
    architecture="GPT2",
    prefix="transformer.",
    body={"embeddings.token": "wte", "embeddings.position": "wpe", **LAYERS, "norm": "ln_f"},
    heads={
        **HEADS,
        "TokenClassification": {"head.dense": "classifier"},
        "QuestionAnswering": {"head.dense": "qa_outputs"},
    },
    endings={"CausalLM": "LMHeadModel"},
    names={**NAMES, "hidden_act": "activation_function", "intermediate_size": "n_inner"},
    # reorder_and_upcast_attn is always so here: scores of half types are float32
    fixed={
        "scale_attn_weights": (True,),
        "scale_attn_by_inverse_layer_idx": (False,),
        "add_cross_attention": (False,),
    },
    tied={"lm_head.weight": "transformer.wte.weight"},
    ignored=BUFFERS,
)
