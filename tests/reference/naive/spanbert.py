"""SpanBERT's boundary objective (Joshi et al. 2019, section 3.2) for one batch of texts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from . import Weights, cross_entropy, gelu, linear, norm

HEAD = "cls.pair_target_predictions"


def scores(w: Weights, left: Tensor, right: Tensor, place: int, eps: float) -> list[float]:
    """Of the token at `place` (1 is the span's first) between two states."""
    h = torch.cat([left, right, w[f"{HEAD}.position_embeddings.weight"][place - 1]])
    for n in ("1", "2"):
        h = norm(w, f"{HEAD}.mlp_layer_norm.layer_norm{n}", gelu(linear(w, f"{HEAD}.mlp_layer_norm.linear{n}", h)), eps)
    return (w["bert.embeddings.word_embeddings.weight"] @ h + w[f"{HEAD}.bias"]).tolist()


def loss(w: Weights, texts: Sequence[list[Tensor]], spans: Sequence[list[tuple[int, int]]],
         tokens: Sequence[list[int]], most: int, eps: float) -> float:  # fmt: skip
    """texts: top states; spans: first and last position of each; tokens: the texts before masking."""
    total, count = 0.0, 0
    for states, found, ids in zip(texts, spans, tokens, strict=True):
        for first, last in found:
            if first == 0 or last == len(ids) - 1:
                continue                                    # at an edge: no boundary
            for i in range(first, min(last, first + most - 1) + 1):
                total += cross_entropy(scores(w, states[first - 1], states[last + 1], i - first + 1, eps), ids[i])
                count += 1
    return total / (count + 1)
