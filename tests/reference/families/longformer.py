"""Longformer against the transformers library, whose weights are of windows and global columns apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers
from torch import Tensor

from ..peers import Case, class_labels, real_positions
from .deberta import real_labels

V, SEP = 61, 2


def config(**changes: Any) -> transformers.LongformerConfig:
    sizes = {
        "vocab_size": V, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40,
        "max_position_embeddings": 64, "type_vocab_size": 1, "attention_window": [4, 8], "layer_norm_eps": 1e-5,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "pad_token_id": 1, "sep_token_id": SEP,
    }  # fmt: skip
    return transformers.LongformerConfig(**{**sizes, **changes})


def text(*lengths: int, seed: int = 0, left: bool = False) -> dict[str, Tensor]:
    T, generator = max(lengths), torch.Generator().manual_seed(seed)
    mask = torch.arange(T)[None] < torch.tensor(lengths)[:, None]
    mask = mask.flip(1) if left else mask
    ids = torch.randint(5, V, (len(lengths), T), generator=generator).masked_fill(~mask, 1)
    return {"input_ids": ids, "attention_mask": mask.long()}


def at(batch: dict[str, Tensor], *places: list[int]) -> dict[str, Tensor]:
    """The batch with global tokens at these places of each text."""
    marked = torch.zeros_like(batch["input_ids"])
    for row, columns in zip(marked, places, strict=True):
        row[columns] = 1
    return {**batch, "global_attention_mask": marked}


def inputs() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "no global token", text(16, 9)
    yield "a length that no window divides", text(23, 23)
    yield "one global token", at(text(13, 7), [0], [0])
    yield "others in each text", at(text(17, 12, 5), [0, 9, 16], [3], [])
    yield "padding on the left", at(text(14, 6, left=True), [0, 2], [13])
    yield "shorter than a window", at(text(3), [1])
    yield "one token", text(1)


def questions() -> Iterator[tuple[str, dict[str, Any]]]:
    for T in (12, 19):
        batch = text(T, T)
        for row, end in zip(batch["input_ids"], (3, 5), strict=True):
            row[[end, end + 1, T - 1]] = SEP
        yield f"questions in {T}", batch


def span(batch: dict[str, Any]) -> dict[str, Tensor]:
    rows = torch.arange(len(batch["input_ids"]))
    return {"start_positions": rows + 1, "end_positions": rows + 4}


def dense(batch: dict[str, Any], output: Any) -> None:
    """Weights (B, N, T, G + w + 1) of each layer, global columns before the window, as (B, N, T, T)."""
    real = batch["attention_mask"].bool()
    marked = batch.get("global_attention_mask", torch.zeros_like(batch["input_ids"])).bool() & real
    B, T = real.shape
    whole = []
    for layer, local in enumerate(output.attentions):
        G = 0 if output.global_attentions is None else output.global_attentions[layer].shape[-1]
        N, w = local.shape[1], local.shape[-1] - G - 1
        found = torch.zeros(B, N, T, T)
        for offset in range(w + 1):
            i = torch.arange(T)
            j = i + offset - w // 2
            inside = (j >= 0) & (j < T)
            found[:, :, i[inside], j[inside]] += local[:, :, i[inside], G + offset]
        for b in range(B):
            for g, place in enumerate(marked[b].nonzero()[:, 0].tolist()):
                found[b, :, :, place] += local[b, :, :, g]
                found[b, :, place] = output.global_attentions[layer][b, :, :T, g]
        whole.append(found)
    output.attentions = tuple(whole)


def chosen(where: Any) -> Any:
    """`dense` with the global tokens that a head chooses by itself."""
    return lambda batch, output: dense({**batch, "global_attention_mask": where(batch).long()}, output)


def first(batch: dict[str, Any]) -> Tensor:
    return torch.arange(batch["input_ids"].shape[1]).expand_as(batch["input_ids"]) == 0


def question(batch: dict[str, Any]) -> Tensor:
    return (batch["input_ids"] == SEP).long().cumsum(1) == 0


def unmarked() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from (pair for pair in inputs() if "global_attention_mask" not in pair[1])


def case(name: str, kind: str = "Model", given: Any = inputs, targets: Any = None, weights: Any = dense,
         **changes: Any) -> Case:  # fmt: skip
    return Case(
        f"longformer{name}", lambda: getattr(transformers, f"Longformer{kind}")(config(**changes)), given,
        targets or (lambda batch: {}), real_positions, as_ours=weights,
    )  # fmt: skip


CASES = [
    case(""),
    case(", one window for all, two segments, relu, eps 1e-3", attention_window=6, type_vocab_size=2,
         hidden_act="relu", layer_norm_eps=1e-3),
    case(", a window wider than the text, one layer", attention_window=40, num_hidden_layers=1),
    case(" for masked tokens", "ForMaskedLM", targets=real_labels(V)),
    case(" for three classes", "ForSequenceClassification", unmarked, class_labels(3), chosen(first), num_labels=3),
    case(" for tokens", "ForTokenClassification", targets=real_labels(5), num_labels=5),
    case(" for answers", "ForQuestionAnswering", questions, span, chosen(question)),
]  # fmt: skip
