"""XLM against the transformers library.

Where a causal model is padded only real positions are compared: the library lets padded queries see padding, and with
padding on the left real ones too, which is not tried here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers
from torch import Tensor

from ..peers import Case, batches, class_labels, token_labels
from .bert import span

V, LONGEST, LANGUAGES = 61, 24, 3


def config(**changes: Any) -> transformers.XLMConfig:
    sizes = {
        "vocab_size": V, "emb_dim": 24, "n_layers": 3, "n_heads": 4, "max_position_embeddings": LONGEST,
        "n_langs": LANGUAGES, "dropout": 0.0, "attention_dropout": 0.0, "summary_first_dropout": 0.0,
    }  # fmt: skip
    return transformers.XLMConfig(**{**sizes, **changes}, attn_implementation="eager")


def sinusoidal() -> transformers.XLMWithLMHeadModel:
    """The library computes the table and lets it learn; the released code does not, nor do we."""
    model = transformers.XLMWithLMHeadModel(config(sinusoidal_embeddings=True))
    model.transformer.position_embeddings.weight.requires_grad_(False)
    return model


def inputs(left: bool = True) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from batches(V, LONGEST, left=left)
    for name, batch in list(batches(V, LONGEST, left=left, seed=1))[:3]:
        T = batch["input_ids"].shape[1]
        yield f"languages, {name}", {**batch, "langs": (torch.arange(T) % LANGUAGES).expand_as(batch["input_ids"])}
    second = torch.tensor([[0, 0, 0, 0, 2, 2, 2], [1, 1, 1, 2, 2, 2, 2]])
    restarted = torch.tensor([[0, 1, 2, 3, 0, 1, 2], [0, 1, 2, 0, 1, 2, 3]])
    yield "a sentence and its translation", {
        "input_ids": torch.tensor([[1, 7, 8, 1, 1, 9, 1], [1, 7, 1, 1, 8, 9, 1]]),
        "langs": second, "position_ids": restarted,
    }  # fmt: skip
    padded = torch.tensor([[7, 8, 9, 10], [7, 8, 2, 2], [7, 2, 2, 2]])
    yield "lengths", {"input_ids": padded + 10 * (padded == 2), "lengths": torch.tensor([4, 2, 1])}
    yield "padding told by its token", {"input_ids": padded}
    yield "token types, which are tokens", {"input_ids": padded + 1, "token_type_ids": padded % 2}


def to_the_right() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from inputs(left=False)


def real(batch: dict[str, Any]) -> Tensor:
    ids = batch["input_ids"]
    if "lengths" in batch:
        return torch.arange(ids.shape[1]) < batch["lengths"][:, None]
    return batch["attention_mask"] > 0 if "attention_mask" in batch else ids != 2


CASES = [
    Case("xlm without a head, one layer", lambda: transformers.XLMModel(config(n_layers=1)), inputs),
    Case("xlm, relu, eps 1e-5, two layers", lambda: transformers.XLMWithLMHeadModel(
        config(gelu_activation=False, layer_norm_eps=1e-5, n_layers=2)), inputs, token_labels(V)),
    Case("xlm, language-blind", lambda: transformers.XLMWithLMHeadModel(
        config(use_lang_emb=False)), inputs, token_labels(V)),
    Case("xlm, sinusoids", sinusoidal, inputs, token_labels(V)),
    Case("xlm without a head, causal", lambda: transformers.XLMModel(
        config(causal=True, n_layers=1)), to_the_right, compared=real),
    Case("xlm for tokens to come", lambda: transformers.XLMWithLMHeadModel(
        config(causal=True)), to_the_right, token_labels(V), compared=real),
    Case("xlm for masked tokens", lambda: transformers.XLMWithLMHeadModel(config()), inputs, token_labels(V)),
    Case("xlm for masked tokens, untied", lambda: transformers.XLMWithLMHeadModel(
        config(tie_word_embeddings=False)), inputs, token_labels(V)),
    Case("xlm for three classes", lambda: transformers.XLMForSequenceClassification(
        config(num_labels=3)), inputs, class_labels(3)),
    Case("xlm for a number", lambda: transformers.XLMForSequenceClassification(
        config(num_labels=1)), inputs, class_labels(1)),
    Case("xlm for tokens", lambda: transformers.XLMForTokenClassification(
        config(num_labels=5)), inputs, token_labels(5)),
    Case("xlm for answers", lambda: transformers.XLMForQuestionAnsweringSimple(config()), inputs, span),
]  # fmt: skip
