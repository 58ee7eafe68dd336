"""GPT and GPT-2 against the transformers library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ..peers import Case, batches, class_labels, next_labels, real_positions, token_labels

V, LONGEST = 61, 24
SIZES = {
    "vocab_size": V, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": LONGEST,
    "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "attn_implementation": "eager",
}  # fmt: skip


def gpt(**changes: Any) -> transformers.OpenAIGPTConfig:
    return transformers.OpenAIGPTConfig(**{**SIZES, **changes})


def gpt2(**changes: Any) -> transformers.GPT2Config:
    return transformers.GPT2Config(**{**SIZES, "bos_token_id": 0, "eos_token_id": 0, **changes})


def right() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from batches(V, LONGEST)


def both() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from batches(V, LONGEST, left=True)
    ids = torch.tensor([[7, 8, 9, 10, 11]])
    yield "tokens added to tokens", {"input_ids": ids, "token_type_ids": torch.tensor([[3, 3, 4, 4, 4]])}
    yield "places given", {"input_ids": ids, "position_ids": torch.tensor([[5, 0, 23, 1, 1]])}


def ends() -> Iterator[tuple[str, dict[str, Any]]]:
    """With padding, whether a mask or the padding's id says so."""
    for name, batch in both():
        yield name, batch
        if "attention_mask" in batch and bool(batch["attention_mask"][:, 0].all()):
            yield f"{name}, without a mask", {"input_ids": batch["input_ids"]}


def alone() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "one sentence", {"input_ids": torch.tensor([[7, 8, 9]])}


def real_labels(batch: dict[str, Any]) -> dict[str, Any]:
    labels, real = token_labels(5)(batch)["labels"], real_positions(batch)
    if real is not None:
        labels = torch.where(real, labels, -100)
        labels[real & (real.cumsum(1) == 1)] = 2
    return {"labels": labels}


def span(batch: dict[str, Any]) -> dict[str, Any]:
    rows = torch.arange(len(batch["input_ids"]))
    return {"start_positions": rows * 0, "end_positions": rows * 50}       # an end beyond the text is no target


CASES = [
    Case("gpt", lambda: transformers.OpenAIGPTModel(gpt()), both, compared=real_positions, cached=True),
    Case("gpt, relu, eps 1e-3, one layer", lambda: transformers.OpenAIGPTModel(
        gpt(afn="relu", layer_norm_epsilon=1e-3, n_layer=1)), both, compared=real_positions),
    Case("gpt for the next token", lambda: transformers.OpenAIGPTLMHeadModel(
        gpt()), both, next_labels, real_positions, cached=True),
    Case("gpt for the next token, untied", lambda: transformers.OpenAIGPTLMHeadModel(
        gpt(tie_word_embeddings=False, afn="silu")), both, next_labels, real_positions),
    Case("gpt for three classes", lambda: transformers.OpenAIGPTForSequenceClassification(
        gpt(num_labels=3, pad_token_id=1)), ends, class_labels(3), real_positions),
    Case("gpt2", lambda: transformers.GPT2Model(gpt2()), both, compared=real_positions, cached=True),
    Case("gpt2, exact GELU, eps 1e-3, one layer, wide", lambda: transformers.GPT2Model(
        gpt2(activation_function="gelu", layer_norm_epsilon=1e-3, n_layer=1, n_inner=28)),
        both, compared=real_positions),
    Case("gpt2, scores in float32 first", lambda: transformers.GPT2Model(
        gpt2(reorder_and_upcast_attn=True)), both, compared=real_positions),
    Case("gpt2 for the next token", lambda: transformers.GPT2LMHeadModel(
        gpt2()), both, next_labels, real_positions, cached=True),
    Case("gpt2 for the next token, untied", lambda: transformers.GPT2LMHeadModel(
        gpt2(tie_word_embeddings=False, activation_function="relu")), both, next_labels, real_positions),
    Case("gpt2 for three classes", lambda: transformers.GPT2ForSequenceClassification(
        gpt2(num_labels=3, pad_token_id=1)), ends, class_labels(3), real_positions),
    Case("gpt2 for a number", lambda: transformers.GPT2ForSequenceClassification(
        gpt2(num_labels=1)), alone, class_labels(1)),
    Case("gpt2 for tokens", lambda: transformers.GPT2ForTokenClassification(
        gpt2(num_labels=5)), both, real_labels, real_positions),
    Case("gpt2 for answers", lambda: transformers.GPT2ForQuestionAnswering(gpt2()), right, span),
]  # fmt: skip
