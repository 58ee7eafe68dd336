"""A layer of long short-term memory (Hochreiter & Schmidhuber 1997, with forget gates), one text, gate by gate."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from . import Weights, vector


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def lstm(w: Weights, name: str, number: int, xs: Sequence[Tensor]) -> list[Tensor]:
    """h_1 … h_T. Rows of the released matrices are input, forget, cell and output gates."""
    ih, hh, b, c = (w[f"{name}.{kind}_l{number}"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    H = hh.shape[1]
    h, memory, out = vector([0.0] * H), [0.0] * H, []
    for x in xs:
        gates = [float(ih[r] @ x + b[r] + hh[r] @ h + c[r]) for r in range(4 * H)]
        for u in range(H):
            i, f, g, o = (gates[k * H + u] for k in range(4))
            memory[u] = sigmoid(f) * memory[u] + sigmoid(i) * math.tanh(g)
        h = vector([sigmoid(gates[3 * H + u]) * math.tanh(memory[u]) for u in range(H)])
        out.append(h)
    return out
