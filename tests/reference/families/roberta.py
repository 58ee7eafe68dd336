"""RoBERTa and XLM-R against the transformers library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ..peers import Case, batches, class_labels, token_labels
from .bert import LONGEST, V, choices, span

PAD = 1                                     # also the padding of `batches`
SIZES = {
    "vocab_size": V, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40,
    "max_position_embeddings": LONGEST + PAD + 1, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": PAD,
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip


def config(**changes: Any) -> transformers.RobertaConfig:
    return transformers.RobertaConfig(**{**SIZES, **changes}, attn_implementation="eager")


def xlm(**changes: Any) -> transformers.XLMRobertaConfig:
    return transformers.XLMRobertaConfig(**{**SIZES, **changes}, attn_implementation="eager")


def inputs() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from batches(V, LONGEST, left=True)
    yield "pads within, and no mask", {"input_ids": torch.tensor([[0, 7, PAD, 8, PAD, 9], [PAD, 5, 6, 7, PAD, 8]])}
    yield "places given", {"input_ids": torch.tensor([[7, 8, 9]]), "position_ids": torch.tensor([[5, 0, 25]])}


def embedded() -> Iterator[tuple[str, dict[str, Any]]]:
    generator = torch.Generator().manual_seed(0)
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 4:] = 0
    for T in (1, 7, LONGEST):
        yield f"{T} embedded tokens", {"inputs_embeds": torch.randn(2, T, 24, generator=generator)}
    yield "padded", {"inputs_embeds": torch.randn(2, 7, 24, generator=generator), "attention_mask": mask}


def two_segments() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, batch in inputs():
        if "position_ids" not in batch:
            segments = (torch.arange(batch["input_ids"].shape[1]) > 2).long().expand_as(batch["input_ids"])
            yield name, {**batch, "token_type_ids": segments}


CASES = [
    Case("roberta", lambda: transformers.RobertaModel(config()), inputs),
    Case("roberta, embedded tokens", lambda: transformers.RobertaModel(config()), embedded),
    Case("roberta, relu, eps 1e-12, one layer, two segment types", lambda: transformers.RobertaModel(
        config(hidden_act="relu", layer_norm_eps=1e-12, num_hidden_layers=1, type_vocab_size=2)), two_segments),
    Case("roberta, pad id 0", lambda: transformers.RobertaModel(config(pad_token_id=0)), inputs),
    Case("roberta for masked tokens", lambda: transformers.RobertaForMaskedLM(
        config(hidden_act="relu")), inputs, token_labels(V)),
    Case("roberta for masked tokens, untied", lambda: transformers.RobertaForMaskedLM(
        config(tie_word_embeddings=False)), inputs, token_labels(V), unread=("lm_head.bias",)),
    Case("roberta for three classes", lambda: transformers.RobertaForSequenceClassification(
        config(num_labels=3)), inputs, class_labels(3)),
    Case("roberta for a number", lambda: transformers.RobertaForSequenceClassification(
        config(num_labels=1)), inputs, class_labels(1)),
    Case("roberta for one of three", lambda: transformers.RobertaForMultipleChoice(config()), choices, class_labels(3)),
    Case("roberta for tokens", lambda: transformers.RobertaForTokenClassification(
        config(num_labels=5)), inputs, token_labels(5)),
    Case("roberta for answers", lambda: transformers.RobertaForQuestionAnswering(config()), inputs, span),
    Case("xlm-r", lambda: transformers.XLMRobertaModel(xlm()), inputs),
    Case("xlm-r for masked tokens", lambda: transformers.XLMRobertaForMaskedLM(xlm()), inputs, token_labels(V)),
    Case("xlm-r for three classes", lambda: transformers.XLMRobertaForSequenceClassification(
        xlm(num_labels=3)), inputs, class_labels(3)),
    Case("xlm-r for one of three", lambda: transformers.XLMRobertaForMultipleChoice(xlm()), choices, class_labels(3)),
    Case("xlm-r for tokens", lambda: transformers.XLMRobertaForTokenClassification(
        xlm(num_labels=5)), inputs, token_labels(5)),
    Case("xlm-r for answers", lambda: transformers.XLMRobertaForQuestionAnswering(xlm()), inputs, span),
]  # fmt: skip
