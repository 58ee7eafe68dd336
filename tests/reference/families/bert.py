"""BERT against the transformers library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ..peers import Case, batches, class_labels, token_labels

V, LONGEST = 61, 24


def config(**changes: Any) -> transformers.BertConfig:
    sizes = {
        "vocab_size": V, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40,
        "max_position_embeddings": LONGEST, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    }  # fmt: skip
    return transformers.BertConfig(**{**sizes, **changes}, attn_implementation="eager")


def inputs() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from batches(V, LONGEST, left=True)
    for _, batch in list(batches(V, LONGEST, seed=1))[:2]:
        T = batch["input_ids"].shape[1]
        segments = (torch.arange(T) > T // 2).long().expand_as(batch["input_ids"])
        yield f"two segments of {T}", {**batch, "token_type_ids": segments}
    yield "places given", {"input_ids": torch.tensor([[7, 8, 9]]), "position_ids": torch.tensor([[5, 0, 23]])}


def pretraining(batch: dict[str, Any]) -> dict[str, Any]:
    rows = torch.arange(len(batch["input_ids"]))
    return {**token_labels(V)(batch), "next_sentence_label": rows % 2}


def span(batch: dict[str, Any]) -> dict[str, Any]:
    rows = torch.arange(len(batch["input_ids"]))
    return {"start_positions": rows * 0, "end_positions": rows * 50}       # an end beyond the text is no target


def choices() -> Iterator[tuple[str, dict[str, Any]]]:
    """Three sentences for each question."""
    for name, batch in list(batches(V, LONGEST, left=True))[:3]:
        yield name, {key: torch.stack([x, x.flip(0), x.roll(1, 0)], dim=1) for key, x in batch.items()}


CASES = [
    Case("bert", lambda: transformers.BertModel(config()), inputs),
    Case("bert, relu, eps 1e-5, one layer", lambda: transformers.BertModel(
        config(hidden_act="relu", layer_norm_eps=1e-5, num_hidden_layers=1)), inputs),
    Case("bert for pretraining", lambda: transformers.BertForPreTraining(config()), inputs, pretraining),
    Case("bert for masked tokens", lambda: transformers.BertForMaskedLM(
        config(hidden_act="gelu_new")), inputs, token_labels(V)),
    Case("bert for masked tokens, untied", lambda: transformers.BertForMaskedLM(
        config(tie_word_embeddings=False)), inputs, token_labels(V), unread=("cls.predictions.bias",)),
    Case("bert for the next sentence", lambda: transformers.BertForNextSentencePrediction(
        config()), inputs, class_labels(2)),
    Case("bert for three classes", lambda: transformers.BertForSequenceClassification(
        config(num_labels=3)), inputs, class_labels(3)),
    Case("bert for a number", lambda: transformers.BertForSequenceClassification(
        config(num_labels=1)), inputs, class_labels(1)),
    Case("bert for one of three", lambda: transformers.BertForMultipleChoice(config()), choices, class_labels(3)),
    Case("bert for tokens", lambda: transformers.BertForTokenClassification(
        config(num_labels=5)), inputs, token_labels(5)),
    Case("bert for answers", lambda: transformers.BertForQuestionAnswering(config()), inputs, span),
]  # fmt: skip
