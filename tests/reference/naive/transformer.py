"""The Transformer as its paper states it (Vaswani et al. 2017, section 3): plain Python, position by position, float64.

Weights come by the names of our model's state_dict, as numpy arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Vector = np.ndarray
Weights = dict[str, np.ndarray]


def affine(w: Weights, name: str, x: Vector) -> Vector:
    return w[f"{name}.weight"] @ x + w[f"{name}.bias"]


def norm(w: Weights, name: str, x: Vector, eps: float) -> Vector:
    centred = x - x.mean()
    return w[f"{name}.weight"] * centred / math.sqrt((centred**2).mean() + eps) + w[f"{name}.bias"]


def softmax(scores: Sequence[float]) -> list[float]:
    most = max(scores)
    powers = [math.exp(s - most) for s in scores]
    return [p / sum(powers) for p in powers]


def sinusoid(position: int, hidden: int) -> Vector:
    """Section 3.5."""
    code = np.zeros(hidden)
    for i in range(hidden // 2):
        angle = position / 10000 ** (2 * i / hidden)
        code[2 * i], code[2 * i + 1] = math.sin(angle), math.cos(angle)
    return code


def embed(w: Weights, ids: Sequence[int]) -> list[Vector]:
    """Section 3.4: the tables are one, and multiplied by the root of the width."""
    table = w["embeddings.token.weight"]
    H = table.shape[1]
    return [table[token] * math.sqrt(H) + sinusoid(place, H) for place, token in enumerate(ids)]


def attention(
    w: Weights, name: str, heads: int, query: Vector, memory: Sequence[Vector], open_to: Sequence[int]
) -> Vector:  # fmt: skip
    """Section 3.2: one query over those places of a memory that are open to it."""
    width = len(query) // heads
    q = affine(w, f"{name}.query", query)
    together = []
    for n in range(heads):
        part = slice(n * width, (n + 1) * width)
        keys = [affine(w, f"{name}.key", memory[j])[part] for j in open_to]
        values = [affine(w, f"{name}.value", memory[j])[part] for j in open_to]
        weights = softmax([float(q[part] @ k) / math.sqrt(width) for k in keys])
        together.append(sum(a * v for a, v in zip(weights, values, strict=True)))
    return affine(w, f"{name}.output", np.concatenate(together))


def feed_forward(w: Weights, name: str, x: Vector) -> Vector:
    """Equation 2."""
    return affine(w, f"{name}.outer", np.maximum(0.0, affine(w, f"{name}.inner", x)))


def logits(
    weights: Weights, layers: int, heads: int, eps: float, source: Sequence[int], real: Sequence[bool],
    target: Sequence[int], start: int,
) -> np.ndarray:  # fmt: skip
    """(T, V): scores of each target token from the source and the tokens before it. `real`: which of the source is."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    open_source = [j for j, is_real in enumerate(real) if is_real]

    x = embed(w, source)
    for n in range(layers):
        block = f"encoder.{n}.attention"
        x = [norm(w, f"{block}.norm", h + attention(w, f"{block}.sublayer", heads, h, x, open_source), eps) for h in x]
        block = f"encoder.{n}.feed_forward"
        x = [norm(w, f"{block}.norm", h + feed_forward(w, f"{block}.sublayer", h), eps) for h in x]
    memory = x

    y = embed(w, [start, *target[:-1]])
    for n in range(layers):
        block = f"layers.{n}.attention"
        y = [norm(w, f"{block}.norm", h + attention(w, f"{block}.sublayer", heads, h, y, range(i + 1)), eps)
             for i, h in enumerate(y)]  # fmt: skip
        block = f"layers.{n}.cross"
        y = [norm(w, f"{block}.norm", h + attention(w, f"{block}.sublayer", heads, h, memory, open_source), eps)
             for h in y]  # fmt: skip
        block = f"layers.{n}.feed_forward"
        y = [norm(w, f"{block}.norm", h + feed_forward(w, f"{block}.sublayer", h), eps) for h in y]
    return np.stack([w["embeddings.token.weight"] @ h for h in y])


def smoothed_loss(scores: np.ndarray, target: Sequence[int], smoothing: float) -> float:
    """Section 5.4: cross-entropy with (1 - ε) on the target and ε spread over the whole vocabulary alike."""
    total, V = 0.0, scores.shape[1]
    for row, token in zip(scores, target, strict=True):
        chances = softmax([float(s) for s in row])
        for v in range(V):
            total -= ((1 - smoothing) * (v == token) + smoothing / V) * math.log(chances[v])
    return total / len(target)
