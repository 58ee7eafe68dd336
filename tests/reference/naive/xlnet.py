"""XLNet's two streams (Yang et al. 2019, sections 2.3 to 2.5) for one text behind a memory, along an order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from . import Rule, Weights, gelu, linear, norm, softmax, vector


def sinusoid(distance: int, width: int) -> Tensor:
    """Sines, then cosines."""
    turns = [distance / 10000 ** (2 * n / width) for n in range(width // 2)]
    return vector([math.sin(x) for x in turns] + [math.cos(x) for x in turns])


def attend(
    w: Weights, name: str, x: Tensor, i: int, content: Sequence[Tensor], seen: Sequence[int], segments: Sequence[int],
    backwards: bool,
) -> Tensor:  # fmt: skip
    """Before the residual. x stands at i among the `content`, of which it sees those of `seen`."""
    H, N, D = w[f"{name}.q"].shape
    out = x * 0
    for n in range(N):
        q, k, v, r, o = (w[f"{name}.{part}"][:, n] for part in ("q", "k", "v", "r", "o"))       # (H, D) each
        query, scores = x @ q, []
        for j in seen:
            place = sinusoid(j - i if backwards else i - j, H) @ r
            segment = w[f"{name}.seg_embed"][int(segments[i] != segments[j]), n]
            score = (query + w[f"{name}.r_w_bias"][n]) @ (content[j] @ k)
            score = score + (query + w[f"{name}.r_r_bias"][n]) @ place + (query + w[f"{name}.r_s_bias"][n]) @ segment
            scores.append(float(score) / math.sqrt(D))
        for j, weight in zip(seen, softmax(scores) if seen else [], strict=True):
            out = out + o @ (weight * (content[j] @ v))
    return out


def finish(w: Weights, name: str, x: Tensor, read: Tensor, eps: float) -> Tensor:
    y = norm(w, f"{name}.rel_attn.layer_norm", x + read, eps)
    inner = linear(w, f"{name}.ff.layer_2", gelu(linear(w, f"{name}.ff.layer_1", y)))
    return norm(w, f"{name}.ff.layer_norm", y + inner, eps)


def streams(
    w: Weights, ids: Sequence[int], segments: Sequence[int], memory: Sequence[Sequence[Tensor]], earlier: Rule,
    targets: Sequence[int], *, layers: int, eps: float, backwards: bool = False,
) -> tuple[list[list[Tensor]], list[list[Tensor]]]:  # fmt: skip
    """The states of each level: of the text, and of the queries of `targets`. `memory`: of each layer, oldest first.

    `earlier(i, j)`: does token j come before token i in the order? The memory does, as segment 0.
    """
    M, places = len(memory[0]), range(len(ids))
    kinds = [0] * M + list(segments)
    h = [[w["transformer.word_embedding.weight"][i] for i in ids]]
    g = [[w["transformer.mask_emb"][0, 0]] * len(targets)]
    for n in range(layers):
        name, content = f"transformer.layer.{n}", [*memory[n], *h[-1]]
        before = {i: [*range(M), *(M + j for j in places if earlier(i, j) and i != j)] for i in places}
        texts, queries = [], []
        for i in places:
            own = sorted([*before[i], M + i])
            read = attend(w, f"{name}.rel_attn", h[-1][i], M + i, content, own, kinds, backwards)
            texts.append(finish(w, name, h[-1][i], read, eps))
        for p, i in enumerate(targets):
            read = attend(w, f"{name}.rel_attn", g[-1][p], M + i, content, before[i], kinds, backwards)
            queries.append(finish(w, name, g[-1][p], read, eps))
        h.append(texts)
        g.append(queries)
    return h, g
