"""BigBird against the transformers library, which draws its random blocks in training alone: there, without dropout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ..peers import Case, batches, class_labels, real_positions
from .bert import pretraining
from .deberta import real_labels

V, LONGEST = 61, 68


def config(**changes: Any) -> transformers.BigBirdConfig:
    sizes = {
        "vocab_size": V, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40,
        "max_position_embeddings": LONGEST, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
        "block_size": 4, "num_random_blocks": 2,
    }  # fmt: skip
    return transformers.BigBirdConfig(**{**sizes, **changes})


def text(*lengths: int, seed: int = 0) -> dict[str, torch.Tensor]:
    T = max(lengths)
    mask = torch.arange(T)[None] < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, V, (len(lengths), T), generator=torch.Generator().manual_seed(seed))
    return {"input_ids": ids.masked_fill(~mask, 0), "attention_mask": mask.long()}


def inputs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Beyond 5 + 2 r blocks of 4 tokens the attention is sparse; first the long ones, since theirs stays full after."""
    yield "ten blocks", text(40, 40)
    yield "lengths that no block divides", text(53, 41, seed=1)
    yield "the longest", text(LONGEST, seed=2)
    batch = text(45, 45, seed=3)
    yield "two segments", {**batch, "token_type_ids": (torch.arange(45) > 20).long().expand(2, -1)}


def short() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from batches(V, 24, left=True)


def sentences(batch: dict[str, Any]) -> dict[str, Any]:
    return {**pretraining(batch), **real_labels(V)(batch)}


def cropped(batch: dict[str, Any], output: Any) -> None:
    """Its states and weights keep the padding up to whole blocks; none where it went over to full attention."""
    T = batch["input_ids"].shape[1]
    output.hidden_states = tuple(x[:, :T] for x in output.hidden_states)
    output.attentions = tuple(x[:, :, :T, :T] for x in output.attentions) or None


def case(name: str, kind: str = "Model", given: Any = inputs, targets: Any = None, **changes: Any) -> Case:
    return Case(
        f"bigbird{name}", lambda: getattr(transformers, f"BigBird{kind}")(config(**changes)), given,
        targets or (lambda batch: {}), real_positions, training=True, as_ours=cropped,
    )  # fmt: skip


CASES = [
    case(""),
    case(", one random block, no bias, rescaled, relu, eps 1e-3", num_random_blocks=1, use_bias=False,
         rescale_embeddings=True, hidden_act="relu", layer_norm_eps=1e-3),
    case(", full", "Model", short, attention_type="original_full"),
    case(", too short to be sparse", "Model", short),
    case(" for masked tokens", "ForMaskedLM", targets=real_labels(V)),
    case(" for pretraining", "ForPreTraining", targets=sentences),
    case(" for three classes", "ForSequenceClassification", targets=class_labels(3), num_labels=3),
    case(" for tokens", "ForTokenClassification", targets=real_labels(5), num_labels=5),
]  # fmt: skip
