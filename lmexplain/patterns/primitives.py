"""The vocabulary of patterns, gathered from the rooms they live in."""

from .chance import random, random_blocks
from .given import memory, padding, permutation, prefix, segments
from .made import cells, in_blocks, per_head, table
from .place import causal, full, global_tokens, window

__all__ = [
    "causal", "cells", "full", "global_tokens", "in_blocks", "memory", "padding", "per_head", "permutation", "prefix",
    "random", "random_blocks", "segments", "table", "window",
]  # fmt: skip
