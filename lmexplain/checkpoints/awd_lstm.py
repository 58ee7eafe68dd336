"""AWD-LSTM's and SiATL's names in released states. Neither came with a config.json; what `lmexplain.save` writes there,
and `load` asks for, are model_type, architectures and the fields of fastai's (SiATL's) configuration.

A folder of the former holds, beside its config.json, fastai's own file: `lstm_fwd.pth`, `fwd_wt103.h5` (a pickle too),
a learner's (`model` and `opt`) or an encoder's.
"""

from __future__ import annotations

from ..models import AwdLstm, AwdLstmConfig, Siatl, SiatlConfig
from .layout import Layout

__all__ = ["AWD_LSTM", "SIATL"]

#: The table of the embedding dropout, today and before.
SAME_TABLE = ("encoder_dp.emb.weight", "encoder_with_dropout.embed.weight")

AWD_LSTM = Layout(
    model=AwdLstm,
    config=AwdLstmConfig,
    model_type="awd-lstm",
    architecture="AwdLstm",
    prefix="0.",
    prefixes={"SequenceClassification": "0.module."},
    body={
        "embeddings.token": "encoder",
        "layers.{i}.input.weight": "rnns.{i}.module.weight_ih_l0",
        "layers.{i}.input.bias": "rnns.{i}.module.bias_ih_l0",
        "layers.{i}.recurrent.weight": "rnns.{i}.weight_hh_l0_raw",
        "layers.{i}.recurrent.bias": "rnns.{i}.module.bias_hh_l0",
    },
    heads={
        "CausalLM": {"head.decoder": "1.decoder"},
        "SequenceClassification": {"head.blocks.{i}.{i}": "1.layers.{i}.{i}"},
    },
    names={
        "vocab_size": "vocab_sz", "hidden_size": "emb_sz", "intermediate_size": "n_hid",
        "num_hidden_layers": "n_layers", "pad_token_id": "pad_token", "tie_word_embeddings": "tie_weights",
        "output_bias": "out_bias", "classifier_hidden": "lin_ftrs", "classifier_dropout": "ps",
        "embedding_dropout": "embed_p", "input_dropout": "input_p", "hidden_dropout_prob": "hidden_p",
        "output_dropout": "output_p", "weight_dropout": "weight_p",
    },  # fmt: skip
    fixed={"bidir": (False,), "qrnn": (False,)},
    tied={
        "1.decoder.weight": "0.encoder.weight",
        **{f"{prefix}{same}": f"{prefix}encoder.weight" for prefix in ("", "0.", "0.module.") for same in SAME_TABLE},
    },
    ignored=(".module.weight_hh_l0",),      # what was left of the last draw
    renamed={".module.weight_hh_l0_raw": ".weight_hh_l0_raw"},
    files=("*.pth", "*.h5"),
)

_TASK = {
    "input.weight": "top_rnn.rnn.weight_ih_l0", "input.bias": "top_rnn.rnn.bias_ih_l0",
    "recurrent.weight": "top_rnn.rnn.weight_hh_l0", "recurrent.bias": "top_rnn.rnn.bias_hh_l0",
}  # fmt: skip

SIATL = Layout(
    model=Siatl,
    config=SiatlConfig,
    model_type="siatl",
    architecture="Siatl",
    prefix="",
    body={
        "embeddings.token": "embed.embedding",
        "layers.{i}.input.weight": "bottom_rnn.rnn.weight_ih_l{i}",
        "layers.{i}.input.bias": "bottom_rnn.rnn.bias_ih_l{i}",
        "layers.{i}.recurrent.weight": "bottom_rnn.rnn.weight_hh_l{i}",
        "layers.{i}.recurrent.bias": "bottom_rnn.rnn.bias_hh_l{i}",
        "projection": "down",
    },
    heads={
        "CausalLM": {"head.decoder": "vocab"},
        "SequenceClassification": {
            "head.lm.decoder": "vocab",
            **{f"head.task.{ours}": theirs for ours, theirs in _TASK.items()},
            "head.pooling.dense": "attention.attention.0",
            "head.dense": "classes",
        },
    },
    names={
        "vocab_size": "ntokens", "hidden_size": "emb_size", "intermediate_size": "bottom_rnn_size",
        "num_hidden_layers": "bottom_rnn_layers", "task_hidden_size": "top_rnn_size",
        "tie_word_embeddings": "tie_weights", "embedding_dropout": "dropoute", "input_dropout": "dropouti",
        "hidden_dropout_prob": "bottom_rnn_dropout", "output_dropout": "dropout", "weight_dropout": "wdrop",
    },  # fmt: skip
    fixed={"top_rnn_layers": (1,), "top_rnn_bidir": (False,), "attention_layers": (1,), "has_att": (True,)},
    tied={"vocab.weight": "embed.embedding.weight"},
    renamed={"encoder.rnn.": "bottom_rnn.rnn.", "decoder.": "vocab."},      # of the language model alone
)
