"""RoBERTa's names in published files, which XLM-R keeps."""

from __future__ import annotations

from dataclasses import replace

from ..models import Roberta, RobertaConfig, XlmRoberta, XlmRobertaConfig
from .bert import BERT, tied, under

__all__ = ["ROBERTA", "XLM_ROBERTA"]

MASKED_LM = {
    "dense": "lm_head.dense",
    "norm": "lm_head.layer_norm",
    "decoder.weight": "lm_head.decoder.weight",
    "decoder.bias": "lm_head.decoder.bias",
}
ABSENT = {"max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12}

ROBERTA = replace(
    BERT,
    model=Roberta,
    config=RobertaConfig,
    model_type="roberta",
    architecture="Roberta",
    prefix="roberta.",
    heads={
        **{head: BERT.heads[head] for head in ("MultipleChoice", "TokenClassification", "QuestionAnswering")},
        "MaskedLM": under("head", MASKED_LM),
        "SequenceClassification": {"head.pooler.dense": "classifier.dense", "head.dense": "classifier.out_proj"},
    },
    absent=ABSENT,
    tied=tied("lm_head", "roberta."),
)
XLM_ROBERTA = replace(
    ROBERTA,
    model=XlmRoberta,
    config=XlmRobertaConfig,
    model_type="xlm-roberta",
    architecture="XLMRoberta",
    absent={**ABSENT, "vocab_size": 30522},
)
