"""The patterns of the papers: each a composition of a few lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .arguments import whole
from .base import Pattern
from .primitives import (
    causal,
    full,
    global_tokens,
    in_blocks,
    memory,
    permutation,
    prefix,
    random,
    random_blocks,
    window,
)  # fmt: skip

__all__ = ["bigbird", "bigbird_tokens", "longformer", "transformer_xl", "unilm", "xlnet"]


def longformer(width: int = 512, tokens: tuple[int, ...] = (0,), dilation: int = 1) -> Pattern:
    """Longformer: a sliding window and a few global tokens (Beltagy et al. 2020, section 3.1).

    Released models: width 512 (256 each side), no dilation, the first token global for classification.
    """
    return (window(width, dilation) | global_tokens(*_places(tokens))).titled("Longformer")


def bigbird(r: int = 3, width: int = 3, ends: int = 1, block: int = 64, seed: int = 0) -> Pattern:
    """BigBird in blocks, as its models run (ITC; Zaheer et al. 2020, section 2 and appendix D).

    Per block of queries: `width` neighbouring blocks (itself among them), the first and the last `ends` blocks as
    global tokens, and `r` random blocks. Released models: r=3, width=3, one block at each end, blocks of 64; how their
    random plans differ is said at `random_blocks`. With other widths or ends a random block may be one that those see:
    a set holds it once. Raises ValueError for `ends` below 0 and what its parts refuse.
    """
    ends = whole("bigbird", "ends", ends, 0, "BigBird's is 1")
    tokens = (*range(ends), *range(-ends, 0))
    pattern = in_blocks(block, window(width)) | in_blocks(block, global_tokens(*tokens)) | random_blocks(r, block, seed)
    return pattern.titled("BigBird, in blocks")


def bigbird_tokens(r: int = 3, width: int = 3, tokens: tuple[int, ...] = (0,), seed: int = 0) -> Pattern:
    """BigBird token by token, as section 2 defines it and interviews explain it; the published models run in blocks."""
    return (window(width) | global_tokens(*_places(tokens)) | random(r, seed)).titled("BigBird, by tokens")


def unilm(setting: str, source: Any = None) -> Pattern:
    """UniLM's four settings of one Transformer (Dong et al. 2019, section 2.3 and figure 1).

    `setting`: "bidirectional", "left-to-right", "right-to-left" or "sequence-to-sequence"; the last needs `source`, the
    length of the source segment, an int or one per sample. Raises ValueError for another setting.
    """
    settings = {
        "bidirectional": full,
        "left-to-right": causal,
        "right-to-left": lambda: ~causal() | window(1),
        "sequence-to-sequence": lambda: prefix(source),
    }
    if setting not in settings:
        raise ValueError(f"unilm: no setting {setting!r}; choose one of {', '.join(settings)}")
    if (setting == "sequence-to-sequence") != (source is not None):
        raise ValueError(
            f"unilm: source={source!r} with {setting!r}; the length of the source belongs to sequence-to-sequence alone"
        )
    return settings[setting]().titled(f"UniLM, {setting}")


def xlnet(order: Any, memory: int = 0, stream: str = "content") -> Pattern:
    """XLNet's two-stream attention for a factorization order, with Transformer-XL's memory (Yang et al. 2019)."""
    pattern = permutation(order, stream)
    whole = pattern | _memory(memory) if memory else pattern
    return whole.titled(f"XLNet, {stream} stream")


def transformer_xl(memory: int, same_length: bool = False) -> Pattern:
    """Transformer-XL: causal over the segment, and its memory (Dai et al. 2019, section 3.2).

    `memory`: how many of the cached keys are kept; older ones are closed.
    `same_length`: every query sees the same number of keys, itself and the `memory` before it (the evaluation setting).
    """
    pattern = _memory(memory) | (causal() & ~_memory())
    return (pattern & window(2 * memory + 1) if same_length else pattern).titled("Transformer-XL")


def _places(tokens: Any) -> tuple[int, ...]:
    if not isinstance(tokens, Iterable):
        raise ValueError(f"tokens must be several places, not {tokens!r}; write (0,) for the first token")
    return tuple(tokens)


_memory = memory
