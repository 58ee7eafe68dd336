"""XLNet against the transformers library.

There a token of padding sees itself, here nothing: only real positions are compared. Every target sees something, since
a query that may see nothing is spread over all tokens there, its own among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ..peers import Case, batches, class_labels, real_positions
from .bert import span
from .deberta import real_labels

V = 61


def config(**changes: Any) -> transformers.XLNetConfig:
    sizes = {"vocab_size": V, "d_model": 24, "n_layer": 3, "n_head": 4, "d_inner": 40, "dropout": 0.0,
             "summary_last_dropout": 0.0, "mem_len": None, "pad_token_id": 0}  # fmt: skip
    return transformers.XLNetConfig(**{**sizes, **changes})


def inputs() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from batches(V, 24, left=True)
    ids = torch.arange(5, 19).view(2, 7)
    yield "two segments", {"input_ids": ids, "token_type_ids": (torch.arange(7) > 3).long().expand(2, -1)}
    mask = torch.arange(7) < torch.tensor([7, 4])[:, None]
    yield "padding the other way round", {"input_ids": ids, "input_mask": (~mask).long()}


def permuted(ids: torch.Tensor, seed: int, targets: int) -> dict[str, torch.Tensor]:
    """The last places of a drawn order are predicted; each sees what stands before it there, the first token too."""
    B, T = ids.shape
    drawn = [torch.randperm(T - 1, generator=torch.Generator().manual_seed(seed + b)) + 1 for b in range(B)]
    order = torch.cat([torch.zeros(B, 1).long(), torch.stack(drawn)], dim=1)
    rank = order.argsort(1)
    chosen = order[:, T - targets :]
    mapping = torch.zeros(B, targets, T).scatter_(2, chosen[..., None], 1.0)
    return {"perm_mask": (rank[:, None, :] >= rank[:, :, None]).float(), "target_mapping": mapping}


def streams() -> Iterator[tuple[str, dict[str, Any]]]:
    for T, targets in ((7, 3), (4, 1), (11, 10)):
        ids = torch.randint(5, V, (2, T), generator=torch.Generator().manual_seed(T))
        yield f"{targets} of {T}", {"input_ids": ids, **permuted(ids, T, targets)}
    segments = (torch.arange(11) > 5).long().expand(2, -1)
    yield "two segments", {"input_ids": ids, **permuted(ids, 3, 4), "token_type_ids": segments}


def target_labels(batch: dict[str, Any]) -> dict[str, torch.Tensor]:
    """What stands at each target; of the first none."""
    if "target_mapping" not in batch:
        return real_labels(V)(batch)
    labels = (batch["target_mapping"] @ batch["input_ids"][..., None].float())[..., 0].long()
    labels[0, 0] = -100 if labels.numel() > 2 else labels[0, 0]
    return {"labels": labels}


def even() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from (pair for pair in inputs() if len(pair[1]["input_ids"]) % 2 == 0)


def full_length() -> Iterator[tuple[str, dict[str, Any]]]:
    """Without padding, or with all of it before the text."""
    yield from (pair for pair in inputs() if "attention_mask" not in pair[1] and "input_mask" not in pair[1])


def choices() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, batch in list(batches(V, 24))[:1]:
        yield name, {key: torch.stack([x, x.flip(0), x.roll(1, 0)], dim=1) for key, x in batch.items()}


def real(batch: dict[str, Any]) -> torch.Tensor | None:
    if "input_mask" in batch:
        return batch["input_mask"] == 0
    return batch["target_mapping"].bool().any(1) if "target_mapping" in batch else real_positions(batch)


def case(name: str, kind: str = "Model", given: Any = inputs, targets: Any = None, **changes: Any) -> Case:
    memory = changes.pop("memory", False)
    return Case(
        f"xlnet{name}", lambda: getattr(transformers, f"XLNet{kind}")(config(**changes)), given,
        targets or (lambda batch: {}), real, memory=memory,
    )  # fmt: skip


CASES = [
    case("", memory=True),
    case(", one layer, one head, relu, clamped at 3, eps 1e-3", n_layer=1, n_head=1, ff_activation="relu", clamp_len=3,
         layer_norm_eps=1e-3, mem_len=5, memory=True),
    case(", one way", "Model", full_length, attn_type="uni", mem_len=9, reuse_len=4, memory=True),
    case(", half of a batch backwards", "Model", even, bi_data=True, clamp_len=4, mem_len=3, memory=True),
    case(" for targets", "LMHeadModel", streams, target_labels, mem_len=6, memory=True),
    case(" for targets, untied, one layer", "LMHeadModel", streams, target_labels, tie_word_embeddings=False,
         n_layer=1),
    case(" for tokens in place", "LMHeadModel", targets=real_labels(V)),
    case(" for three classes", "ForSequenceClassification", full_length, class_labels(3), num_labels=3),
    case(" for one of three", "ForMultipleChoice", choices, class_labels(3)),
    case(" for tokens", "ForTokenClassification", targets=real_labels(5), num_labels=5),
    case(" for answers", "ForQuestionAnsweringSimple", full_length, span),
]  # fmt: skip
