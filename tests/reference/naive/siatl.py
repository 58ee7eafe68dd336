"""SiATL's network (Chronopoulou et al. 2019, section 3, and its released code) for one text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from . import Weights, cross_entropy, linear, softmax
from .lstm import lstm


def bottom(w: Weights, ids: Sequence[int], layers: int) -> list[Tensor]:
    """What the language model and the task read: the last layer's states, projected where the decoder is tied."""
    states = [w["embed.embedding.weight"][i] for i in ids]
    for number in range(layers):
        states = lstm(w, "bottom_rnn.rnn", number, states)
    return [linear(w, "down", h) for h in states] if "down.weight" in w else states


def next_words(w: Weights, states: Sequence[Tensor]) -> list[list[float]]:
    table = w["vocab.weight"] if "vocab.weight" in w else w["embed.embedding.weight"]
    return [(table @ h + w["vocab.bias"]).tolist() for h in states]


def classes(w: Weights, states: Sequence[Tensor]) -> tuple[list[float], list[float]]:
    """Scores of the classes, and the share of attention that each token gets."""
    top = lstm(w, "top_rnn.rnn", 0, states)
    shares = softmax([math.tanh(float(linear(w, "attention.attention.0", h)[0])) for h in top])
    pooled = torch.stack([a * h for a, h in zip(shares, top, strict=True)]).sum(0)
    return linear(w, "classes", pooled).tolist(), shares


def lm_losses(scores: Sequence[list[float]], ids: Sequence[int]) -> list[float]:
    return [cross_entropy(row, token) for row, token in zip(scores, ids[1:], strict=False)]
