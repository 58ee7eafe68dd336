"""ERNIE 1.0 and 2.0 of Baidu against the transformers library, where they are one model with a switch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ..peers import Case, class_labels, token_labels
from .bert import LONGEST, V, choices, inputs, pretraining, span


def config(**changes: Any) -> transformers.ErnieConfig:
    """ERNIE 1.0, as released: ReLU, eps 1e-5."""
    sizes = {
        "vocab_size": V, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40,
        "max_position_embeddings": LONGEST, "hidden_act": "relu", "layer_norm_eps": 1e-5, "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }  # fmt: skip
    return transformers.ErnieConfig(**{**sizes, **changes}, attn_implementation="eager")


def second(**changes: Any) -> transformers.ErnieConfig:
    """ERNIE 2.0."""
    sizes = {"use_task_id": True, "task_type_vocab_size": 7, "type_vocab_size": 4, "hidden_act": "gelu"}
    return config(**{**sizes, **changes})


def tasks() -> Iterator[tuple[str, dict[str, Any]]]:
    for i, (name, batch) in enumerate(inputs()):
        yield name, batch if i % 2 else {**batch, "task_type_ids": torch.full_like(batch["input_ids"], i % 7)}
    yield "a task for each sentence", {
        "input_ids": torch.tensor([[7, 8, 9], [5, 6, 7]]), "task_type_ids": torch.tensor([[6] * 3, [2] * 3]),
    }  # fmt: skip


def embedded() -> Iterator[tuple[str, dict[str, Any]]]:
    tokens = torch.randn(2, 7, 24, generator=torch.Generator().manual_seed(0))
    yield "embedded tokens", {"inputs_embeds": tokens, "task_type_ids": torch.full((2, 7), 4)}


def told_choices() -> Iterator[tuple[str, dict[str, Any]]]:
    """The reference wants the tasks flat, (B · 3, T), unlike all the rest; ours takes them either way."""
    for name, batch in choices():
        yield name, {**batch, "task_type_ids": torch.full_like(batch["input_ids"].flatten(0, 1), 3)}


CASES = [
    Case("ernie", lambda: transformers.ErnieModel(config()), inputs),
    Case("ernie for pretraining", lambda: transformers.ErnieForPreTraining(config()), inputs, pretraining),
    Case("ernie for masked tokens", lambda: transformers.ErnieForMaskedLM(config()), inputs, token_labels(V)),
    Case("ernie for the next sentence", lambda: transformers.ErnieForNextSentencePrediction(
        config()), inputs, class_labels(2)),
    Case("ernie for three classes", lambda: transformers.ErnieForSequenceClassification(
        config(num_labels=3)), inputs, class_labels(3)),
    Case("ernie for one of three", lambda: transformers.ErnieForMultipleChoice(config()), choices, class_labels(3)),
    Case("ernie for tokens", lambda: transformers.ErnieForTokenClassification(
        config(num_labels=5)), inputs, token_labels(5)),
    Case("ernie for answers", lambda: transformers.ErnieForQuestionAnswering(config()), inputs, span),
    Case("ernie 2.0", lambda: transformers.ErnieModel(second()), tasks),
    Case("ernie 2.0, embedded tokens", lambda: transformers.ErnieModel(second()), embedded),
    Case("ernie 2.0, one task, one layer", lambda: transformers.ErnieModel(
        second(task_type_vocab_size=1, num_hidden_layers=1)), inputs),
    Case("ernie 2.0 for pretraining", lambda: transformers.ErnieForPreTraining(second()), tasks, pretraining),
    Case("ernie 2.0 for masked tokens", lambda: transformers.ErnieForMaskedLM(second()), tasks, token_labels(V)),
    Case("ernie 2.0 for masked tokens, untied", lambda: transformers.ErnieForMaskedLM(
        second(tie_word_embeddings=False)), tasks, token_labels(V), unread=("cls.predictions.bias",)),
    Case("ernie 2.0 for the next sentence", lambda: transformers.ErnieForNextSentencePrediction(
        second()), tasks, class_labels(2)),
    Case("ernie 2.0 for three classes", lambda: transformers.ErnieForSequenceClassification(
        second(num_labels=3)), tasks, class_labels(3)),
    Case("ernie 2.0 for one of three", lambda: transformers.ErnieForMultipleChoice(
        second()), told_choices, class_labels(3)),
    Case("ernie 2.0 for tokens", lambda: transformers.ErnieForTokenClassification(
        second(num_labels=5)), tasks, token_labels(5)),
    Case("ernie 2.0 for answers", lambda: transformers.ErnieForQuestionAnswering(second()), tasks, span),
]  # fmt: skip
