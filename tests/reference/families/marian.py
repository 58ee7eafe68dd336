"""The original Transformer against the transformers library's Marian: the same network, its sinusoids in halves.

Embedded tokens are not tried: ours are scaled in encoder and decoder, the library's in the decoder alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers
from torch import Tensor

from ..peers import Case, batches

V, LONGEST = 61, 24


def config(**changes: Any) -> transformers.MarianConfig:
    sizes = {
        "vocab_size": V, "d_model": 24, "max_position_embeddings": LONGEST, "activation_function": "relu",
        "scale_embedding": True, "dropout": 0.0, "pad_token_id": 60, "decoder_start_token_id": 60,
        **{f"{side}_{what}": size for side in ("encoder", "decoder")
           for what, size in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 40))},
    }  # fmt: skip
    return transformers.MarianConfig(**{**sizes, **changes}, attn_implementation="eager")


def translator(**changes: Any) -> transformers.MarianMTModel:
    model = transformers.MarianMTModel(config(**changes))
    model.final_logits_bias.copy_(torch.linspace(-1, 1, V))
    return model


def target(B: int, T: int, seed: int = 5) -> Tensor:
    return torch.randint(5, V, (B, T), generator=torch.Generator().manual_seed(seed))


def inputs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Sources of every kind, targets shorter, longer, of one token, and padded on either side."""
    for length, (name, batch) in zip((9, 5, 13, 3, LONGEST), batches(V, LONGEST, left=True), strict=True):
        yield f"{name}, a target of {length}", {**batch, "decoder_input_ids": target(len(batch["input_ids"]), length)}
    for name, batch in list(batches(V, LONGEST, left=True, seed=1))[1:3]:
        for side, flip in (("right", False), ("left", True)):
            mask = torch.arange(6)[None] < torch.tensor([6, 3, 1])[:, None]
            mask = mask.flip(1) if flip else mask
            yield f"{name}, target on the {side}", {
                **batch, "decoder_input_ids": target(3, 6), "decoder_attention_mask": mask.long(),
            }  # fmt: skip


def compared(batch: dict[str, Any]) -> Tensor | None:
    """A padded target's first places see nothing where padding stands on the left; the library spreads them evenly."""
    mask = batch.get("decoder_attention_mask")
    return None if mask is None else mask > 0


def labels(batch: dict[str, Any]) -> dict[str, Tensor]:
    found = target(*batch["decoder_input_ids"].shape, seed=6)
    found[:, 1::3] = -100
    where = compared(batch)
    return {"labels": found if where is None else found.masked_fill(~where, -100)}


def without_target() -> Iterator[tuple[str, dict[str, Any]]]:
    """The decoder's inputs are the labels, shifted."""
    for name, batch in inputs():
        yield name, {"input_ids": batch["input_ids"], "attention_mask": batch.get("attention_mask")}


def target_labels(batch: dict[str, Any]) -> dict[str, Tensor]:
    found = target(len(batch["input_ids"]), 7)
    found[0, 4:] = -100
    return {"labels": found}


TABLES = ("encoder.embed_positions.weight", "decoder.embed_positions.weight")

CASES = [
    Case("marian without a head, one layer", lambda: transformers.MarianModel(
        config(encoder_layers=1, decoder_layers=1)), inputs, compared=compared, computed=TABLES),
    Case("marian, swish, three layers", lambda: translator(
        activation_function="swish", encoder_layers=3, decoder_layers=3), inputs, labels, compared=compared),
    Case("marian for a target", translator, inputs, labels, compared=compared),
    Case("marian for labels alone", translator, without_target, target_labels),
]  # fmt: skip
