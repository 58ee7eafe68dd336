"""Rung (c) of the ladder: what no library has, against loops written from the papers (`naive/`), in float64.

The loops take a model's weights under their released names, so that a wrong name in a key map fails here too.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lmexplain.checkpoints import layout_of
from lmexplain.checkpoints.layout import Place, tensors_of
from lmexplain.models import Model

from .peers import drawn, noted

V, HEADS, LONGEST = 31, 2, 16
SIZES: dict[str, Any] = {
    "vocab_size": V, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": HEADS, "intermediate_size": 12,
    "max_position_embeddings": LONGEST, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip
LAYERS = ["bert.encoder.layer.0", "bert.encoder.layer.1"]


def exact(model: Model) -> Any:
    """The model with weights drawn everywhere, in float64 and evaluation mode."""
    return drawn(model).double().eval()


def released(model: Model) -> dict[str, Tensor]:
    """Its weights under released names and in released shapes."""
    layout = layout_of(type(model))
    places, tensors = layout.places(model, layout.prefix), tensors_of(model)
    pieces: dict[str, list[tuple[Place, Tensor]]] = {}
    for name, place in places.items():
        pieces.setdefault(place.key, []).append((place, tensors[name].detach()))
    return {key: Place.whole(found) for key, found in pieces.items()}


def same(ours: Tensor, theirs: Any, what: str) -> None:
    """In float64 an error of 1e-10 is none."""
    vectors = isinstance(theirs[0], Tensor)
    expected = torch.stack(list(theirs)).detach() if vectors else torch.tensor(theirs, dtype=torch.float64)
    assert ours.shape == expected.shape, f"{what}: {tuple(ours.shape)} against {tuple(expected.shape)}"
    error = float((ours.detach() - expected).abs().max())
    limit = 1e-10 * max(1.0, float(expected.abs().max()))
    assert error <= limit, f"{what}: differs by {error:.1e}"
    noted(error / limit)


def texts(*lengths: int, seed: int = 0) -> tuple[list[list[int]], Tensor, Tensor]:
    """Texts of these lengths, and as a batch padded on the right with its mask."""
    generator = torch.Generator().manual_seed(seed)
    found = [torch.randint(5, V, (n,), generator=generator).tolist() for n in lengths]
    ids = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    for row, text in zip(ids, found, strict=True):
        row[: len(text)] = torch.tensor(text)
    return found, ids, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def near(ours: Tensor, theirs: float, what: str) -> None:
    """Losses are float32."""
    found = ours.item()
    assert abs(found - theirs) <= 1e-6 * max(1.0, abs(theirs)), f"{what}: {found} against {theirs}"
