"""ALBERT against the transformers library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ..peers import Case, class_labels, token_labels
from .bert import LONGEST, V, choices, inputs, span


def config(**changes: Any) -> transformers.AlbertConfig:
    sizes = {
        "vocab_size": V, "embedding_size": 10, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
        "intermediate_size": 40, "max_position_embeddings": LONGEST, "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0, "classifier_dropout_prob": 0.0,
    }  # fmt: skip
    return transformers.AlbertConfig(**{**sizes, **changes}, attn_implementation="eager")


def embedded() -> Iterator[tuple[str, dict[str, Any]]]:
    generator = torch.Generator().manual_seed(0)
    yield "embedded tokens, as narrow as the table", {"inputs_embeds": torch.randn(2, 7, 10, generator=generator)}


def pretraining(batch: dict[str, Any]) -> dict[str, Any]:
    rows = torch.arange(len(batch["input_ids"]))
    return {**token_labels(V)(batch), "sentence_order_label": rows % 2}


CASES = [
    Case("albert", lambda: transformers.AlbertModel(config()), inputs),
    Case("albert, embedded tokens", lambda: transformers.AlbertModel(config()), embedded),
    Case("albert, gelu, eps 1e-5, one layer", lambda: transformers.AlbertModel(
        config(hidden_act="gelu", layer_norm_eps=1e-5, num_hidden_layers=1)), inputs),
    Case("albert, two groups for five layers", lambda: transformers.AlbertModel(
        config(num_hidden_layers=5, num_hidden_groups=2)), inputs),
    Case("albert, a group for each layer", lambda: transformers.AlbertModel(config(num_hidden_groups=3)), inputs),
    Case("albert, two layers in each of two groups", lambda: transformers.AlbertModel(
        config(num_hidden_layers=2, num_hidden_groups=2, inner_group_num=2)), inputs),
    Case("albert, embeddings wider than the layers", lambda: transformers.AlbertModel(
        config(embedding_size=31, num_hidden_layers=1)), inputs),
    Case("albert for pretraining", lambda: transformers.AlbertForPreTraining(config()), inputs, pretraining),
    Case("albert for masked tokens", lambda: transformers.AlbertForMaskedLM(
        config(hidden_act="relu")), inputs, token_labels(V)),
    Case("albert for masked tokens, untied", lambda: transformers.AlbertForMaskedLM(
        config(tie_word_embeddings=False)), inputs, token_labels(V), unread=("predictions.bias",)),
    Case("albert for three classes", lambda: transformers.AlbertForSequenceClassification(
        config(num_labels=3)), inputs, class_labels(3)),
    Case("albert for a number", lambda: transformers.AlbertForSequenceClassification(
        config(num_labels=1)), inputs, class_labels(1)),
    Case("albert for one of three", lambda: transformers.AlbertForMultipleChoice(config()), choices, class_labels(3)),
    Case("albert for tokens", lambda: transformers.AlbertForTokenClassification(
        config(num_labels=5)), inputs, token_labels(5)),
    Case("albert for answers", lambda: transformers.AlbertForQuestionAnswering(config()), inputs, span),
]  # fmt: skip
