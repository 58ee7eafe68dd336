"""DeBERTa's names in published files.

Query, key and value are one matrix there, cut anew for each head, with biases of their own beside it. The files that
its authors published hold the head of the enhanced mask decoder (`lm_predictions`) and its table of places.
"""

from __future__ import annotations

from ..models import Deberta, DebertaConfig
from .bert import BODY, MASKED_LM, tied, under
from .layout import Layout, Theirs

__all__ = ["DEBERTA"]

SELF = "encoder.layer.{i}.attention.self"
PARTS = {"query": 0, "key": 1, "value": 2}

DEBERTA = Layout(
    model=Deberta,
    config=DebertaConfig,
    model_type="deberta",
    architecture="Deberta",
    prefix="deberta.",
    body={
        **{ours: theirs for ours, theirs in BODY.items() if not ours.startswith("pooler")},
        "embeddings.projection": "embeddings.embed_proj",
        "relative": "encoder.rel_embeddings",
        **{f"layers.{{i}}.attention.sublayer.{part}.weight": Theirs(f"{SELF}.in_proj.weight", part=n, of=3, heads=-1)
           for part, n in PARTS.items()},
        **{f"layers.{{i}}.attention.sublayer.{part}.bias": f"{SELF}.{part[0]}_bias" for part in ("query", "value")},
        "layers.{i}.attention.sublayer.position_key": f"{SELF}.pos_proj",
        "layers.{i}.attention.sublayer.position_query": f"{SELF}.pos_q_proj",
    },
    heads={
        "MaskedLM": under("head", MASKED_LM),
        "EnhancedMaskedLM": {
            "embeddings.position": "deberta.embeddings.position_embeddings",
            "head.dense": "lm_predictions.lm_head.dense",
            "head.norm": "lm_predictions.lm_head.LayerNorm",
            "head.decoder.weight": "lm_predictions.lm_head.decoder.weight",
            "head.decoder.bias": "lm_predictions.lm_head.bias",
        },
        "SequenceClassification": {"head.pooler": "pooler.dense", "head.dense": "classifier"},
        "TokenClassification": {"head.dense": "classifier"},
        "QuestionAnswering": {"head.dense": "qa_outputs"},
    },
    names={"classifier_dropout": "cls_dropout"},
    absent={"relative_attention": False, "position_biased_input": True, "pos_att_type": []},
    fixed={"talking_head": (False,)},
    tied={**tied("cls.predictions", "deberta."),
          "lm_predictions.lm_head.decoder.weight": "deberta.embeddings.word_embeddings.weight"},
    ignored=("embeddings.position_ids",),
)  # fmt: skip
