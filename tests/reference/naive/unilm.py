"""UniLM's settings (Dong et al. 2019, section 2.3) and how it writes, for one text."""

from __future__ import annotations

from collections.abc import Sequence

from . import Rule, Weights
from .bert import cloze, encode


def rule(setting: str, source: int) -> Rule:
    """Does the token at q see the one at k?"""
    if setting == "bidirectional":
        return lambda q, k: True
    if setting == "left-to-right":
        return lambda q, k: k <= q
    if setting == "right-to-left":
        return lambda q, k: k >= q
    return lambda q, k: k < source or (q >= source and k <= q)     # eq. 2: the source sees itself, the target its past


def segments(setting: str, first: int, length: int) -> list[int]:
    pairs = {"bidirectional": (0, 1), "left-to-right": (2, 2), "right-to-left": (3, 3), "sequence-to-sequence": (4, 5)}
    a, b = pairs[setting]
    return [a if i < first else b for i in range(length)]


def write(
    w: Weights, source: Sequence[int], *, mask: int, end: int, most: int, layers: Sequence[str], heads: int, eps: float
) -> list[int]:
    """The likeliest target, all states computed anew for each of its tokens."""
    target: list[int] = []
    while len(target) < most and end not in target:
        ids = [*source, *target, mask]
        told = segments("sequence-to-sequence", len(source), len(ids))
        allowed = rule("sequence-to-sequence", len(source))
        states = encode(w, ids, told, layers=layers, heads=heads, eps=eps, allowed=allowed)
        found = cloze(w, states[-1][-1], eps)
        target.append(found.index(max(found)))
    return target
