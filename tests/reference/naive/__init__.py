"""Definitions as loops: float64, one position at a time, under the names of released weights.

Nothing here calls the package. A test gives these loops a model's weights by its key map, which is thereby
held too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]
Rule = Callable[[int, int], bool]


def linear(w: Weights, name: str, x: Tensor) -> Tensor:
    return w[f"{name}.weight"] @ x + w[f"{name}.bias"]


def norm(w: Weights, name: str, x: Tensor, eps: float) -> Tensor:
    mean = sum(x.tolist()) / len(x)
    variance = sum((v - mean) ** 2 for v in x.tolist()) / len(x)
    return w[f"{name}.weight"] * (x - mean) / math.sqrt(variance + eps) + w[f"{name}.bias"]


def gelu(x: Tensor) -> Tensor:
    return vector([v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.tolist()])


def softmax(scores: Sequence[float]) -> list[float]:
    top = max(scores)
    powers = [math.exp(s - top) for s in scores]
    return [p / sum(powers) for p in powers]


def vector(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def cross_entropy(scores: Sequence[float], target: int) -> float:
    return -math.log(softmax(scores)[target])
