"""MT-DNN's heads (Liu et al. 2019, section 3) and the stochastic answer network (Liu, Duh & Gao 2018), for one text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from . import Weights, linear, softmax


def gru(w: Weights, name: str, x: Tensor, s: Tensor) -> Tensor:
    """Cho et al. 2014 with two biases: reset and update gates, then the new state."""
    from_x = w[f"{name}.weight_ih"] @ x + w[f"{name}.bias_ih"]
    from_s = w[f"{name}.weight_hh"] @ s + w[f"{name}.bias_hh"]
    H, out = len(s), []
    for i in range(H):
        r = 1 / (1 + math.exp(-float(from_x[i] + from_s[i])))
        z = 1 / (1 + math.exp(-float(from_x[H + i] + from_s[H + i])))
        n = math.tanh(float(from_x[2 * H + i] + r * from_s[2 * H + i]))
        out.append((1 - z) * n + z * float(s[i]))
    return torch.tensor(out, dtype=torch.float64)


def turns(w: Weights, task: int, premise: list[Tensor], hypothesis: list[Tensor], K: int) -> list[list[float]]:
    """P^0 … P^{K-1}."""
    name = f"scoring_list.{task}"
    alpha = softmax([float(linear(w, f"{name}.query_wsum.att.linear", m)) for m in hypothesis])
    s = sum((a * m for a, m in zip(alpha, hypothesis, strict=True)), torch.zeros_like(hypothesis[0]))
    found = []
    for _ in range(K):
        asked = linear(w, f"{name}.attn.score_func.linear", s)
        beta = softmax([float(m @ asked) for m in premise])
        x = sum((b * m for b, m in zip(beta, premise, strict=True)), torch.zeros_like(s))
        found.append(softmax(linear(w, f"{name}.classifier.proj", torch.cat([x, s, (x - s).abs(), x * s])).tolist()))
        s = gru(w, f"{name}.rnn", x, s)
    return found


def mean(answers: Sequence[list[float]], kept: Sequence[bool], p: float) -> list[float]:
    """Log of the mean over all turns; a dropped one adds nothing, a kept one is scaled up."""
    turns = [[float(k) / (1 - p) * score for score in answer] for answer, k in zip(answers, kept, strict=True)]
    return [math.log(sum(scores) / len(turns)) for scores in zip(*turns, strict=True)]


def rank(relevance: Sequence[float], gamma: float) -> list[float]:
    """P(A | Q) of the candidates."""
    return softmax([gamma * r for r in relevance])
