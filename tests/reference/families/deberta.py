"""DeBERTa against the transformers library.

A query of padding attends to all alike there, to the real tokens here: only real positions are compared, and losses
that hang on other ones (answers, the first token of a text padded on the left) on texts without padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ..peers import Case, batches, class_labels, real_positions, token_labels
from .bert import span

V, LONGEST = 61, 24


def config(**changes: Any) -> transformers.DebertaConfig:
    sizes = {
        "vocab_size": V, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40,
        "max_position_embeddings": LONGEST, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
        "relative_attention": True, "position_biased_input": False, "pos_att_type": "c2p|p2c",
    }  # fmt: skip
    return transformers.DebertaConfig(**{**sizes, **changes})


def inputs() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from batches(V, LONGEST, left=True)


def segments() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, batch in list(batches(V, LONGEST, left=True))[:3]:
        T = batch["input_ids"].shape[1]
        yield name, {**batch, "token_type_ids": (torch.arange(T) > T // 2).long().expand_as(batch["input_ids"])}


def unpadded() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from (pair for pair in batches(V, LONGEST) if "attention_mask" not in pair[1])


def real_labels(classes: int) -> Any:
    """Labels at real tokens alone."""
    return lambda batch: {"labels": token_labels(classes)(batch)["labels"].masked_fill(
        batch.get("attention_mask", torch.ones(1)) == 0, -100)}  # fmt: skip


def case(name: str, kind: str = "Model", given: Any = inputs, targets: Any = None, **changes: Any) -> Case:
    return Case(
        f"deberta{name}", lambda: getattr(transformers, f"Deberta{kind}")(config(**changes)), given,
        targets or (lambda batch: {}), real_positions,
        unread=() if changes.get("tie_word_embeddings", True) else ("cls.predictions.bias",),
    )  # fmt: skip


CASES = [
    case(""),
    case(", content to position alone, k 3", pos_att_type="c2p", max_relative_positions=3),
    case(", position to content alone, k 5", pos_att_type=["p2c"], max_relative_positions=5, num_attention_heads=1),
    case(", content alone, absolute places", relative_attention=False, position_biased_input=True, pos_att_type=[]),
    case(", k longer than any text, relu, one layer", max_relative_positions=40, hidden_act="relu",
         num_hidden_layers=1),
    case(", two segments, absolute places too, narrow embeddings, eps 1e-3", "Model", segments, type_vocab_size=2,
         position_biased_input=True, embedding_size=10, layer_norm_eps=1e-3),
    case(" for masked tokens", "ForMaskedLM", targets=real_labels(V), hidden_act="gelu_new"),
    case(" for masked tokens, untied", "ForMaskedLM", targets=real_labels(V), tie_word_embeddings=False),
    case(" for three classes", "ForSequenceClassification", unpadded, targets=class_labels(3), num_labels=3,
         pooler_hidden_act="tanh"),
    case(" for tokens", "ForTokenClassification", targets=real_labels(5), num_labels=5),
    case(" for answers", "ForQuestionAnswering", unpadded, targets=span),
]  # fmt: skip
