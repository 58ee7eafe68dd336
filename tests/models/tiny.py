"""Tiny forms of the registered models, with random weights everywhere, and inputs for them.

A new model needs no line here: its sizes are found among the fields of its configuration.
"""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from lmexplain.models import MODELS, Config, Model
from lmexplain.models.counts import config_of
from tests.reference.peers import drawn

V, H, LAYERS, LONGEST = 37, 16, 3, 23
SIZES = {
    "vocab_size": V, "hidden_size": H, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": LONGEST, "num_labels": 3,
}  # fmt: skip
NARROW = 8      # any other width: an embedding's, a second stream's


def tiny_config(name: str, **changes: Any) -> Config:
    """Small sizes, no dropout."""
    kind = config_of(MODELS[name])
    sizes: dict[str, Any] = {}
    for field in fields(kind):
        if field.name in SIZES:
            sizes[field.name] = SIZES[field.name]
        elif isinstance(field.default, float) and "drop" in field.name:
            sizes[field.name] = 0.0
        elif field.name.endswith("_layers"):
            sizes[field.name] = LAYERS
        elif type(field.default) is int and field.default > LONGEST and "token" not in field.name:
            sizes[field.name] = NARROW
        elif isinstance(field.default, tuple) and {*map(type, field.default)} == {int} and max(field.default) > V:
            sizes[field.name] = V // 3, 2 * V // 3      # places in the vocabulary
    return kind(**{**sizes, **changes})


def tiny(name: str, head: str | None = None, **changes: Any) -> Model:
    """The model of this name, in float64 and evaluation mode."""
    model = MODELS[name](tiny_config(name, **changes), head)  # pyright: ignore[reportCallIssue]
    return drawn(model).double().eval()  # pyright: ignore[reportReturnType]


def tokens(*shape: int, seed: int = 0) -> Tensor:
    """Ids that are neither special nor padding in any model."""
    return torch.randint(6, V, shape, generator=torch.Generator().manual_seed(seed))


def takes(model: Model | type[Model], argument: str) -> bool:
    """Does its forward pass take this argument?"""
    return argument in inspect.signature(model.forward).parameters


def given(model: Model, input_ids: Tensor, **others: Any) -> dict[str, Any]:
    """Arguments of a pass: a model with a decoder gets a text for that too, one with a head of tasks a task."""
    more: dict[str, Any] = {"decoder_input_ids": input_ids.flip(1)} if takes(model, "decoder_input_ids") else {}
    if takes(model, "task") and model.head_name == "MultiTask":
        more["task"] = next(iter(model.config.tasks))
    return {"input_ids": input_ids, **more, **others}
