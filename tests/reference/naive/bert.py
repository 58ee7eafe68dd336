"""BERT's encoder (Devlin et al. 2019) for one text, with a rule for who may attend to whom."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from . import Rule, Weights, gelu, linear, norm, softmax


def embed(w: Weights, ids: Sequence[int], places: Sequence[int], segments: Sequence[int], eps: float) -> list[Tensor]:
    word, position, segment = (w[f"bert.embeddings.{x}_embeddings.weight"] for x in ("word", "position", "token_type"))
    return [
        norm(w, "bert.embeddings.LayerNorm", word[i] + position[p] + segment[s], eps)
        for i, p, s in zip(ids, places, segments, strict=True)
    ]


def layer(w: Weights, name: str, states: list[Tensor], heads: int, allowed: Rule, eps: float) -> list[Tensor]:
    q, k, v = ([linear(w, f"{name}.attention.self.{part}", x) for x in states] for part in ("query", "key", "value"))
    width = len(states[0]) // heads
    out = []
    for i, x in enumerate(states):
        seen = [j for j in range(len(states)) if allowed(i, j)]
        read = x * 0
        for h in range(heads):
            at = slice(h * width, (h + 1) * width)
            weights = softmax([float(q[i][at] @ k[j][at]) / math.sqrt(width) for j in seen])
            for j, weight in zip(seen, weights, strict=True):
                read[at] += weight * v[j][at]
        y = norm(w, f"{name}.attention.output.LayerNorm", x + linear(w, f"{name}.attention.output.dense", read), eps)
        inner = gelu(linear(w, f"{name}.intermediate.dense", y))
        out.append(norm(w, f"{name}.output.LayerNorm", y + linear(w, f"{name}.output.dense", inner), eps))
    return out


def encode(
    w: Weights, ids: Sequence[int], segments: Sequence[int], *, layers: Sequence[str], heads: int, eps: float,
    allowed: Rule = lambda q, k: True,
) -> list[list[Tensor]]:  # fmt: skip
    """The states of each level for each position; `layers` are names ("bert.encoder.layer.0"), in order."""
    states = [embed(w, ids, range(len(ids)), segments, eps)]
    for name in layers:
        states.append(layer(w, name, states[-1], heads, allowed, eps))
    return states


def cloze(w: Weights, x: Tensor, eps: float) -> list[float]:
    """Scores over the vocabulary."""
    h = gelu(linear(w, "cls.predictions.transform.dense", x))
    h = norm(w, "cls.predictions.transform.LayerNorm", h, eps)
    return (w["bert.embeddings.word_embeddings.weight"] @ h + w["cls.predictions.bias"]).tolist()


def pooled(w: Weights, x: Tensor) -> Tensor:
    return linear(w, "bert.pooler.dense", x).tanh()
