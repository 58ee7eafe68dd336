"""Who may attend to whom: composable values, and the grid they make for given lengths.

    pattern = window(4) | global_tokens(0)
    grid = pattern.at(16)              # 16 queries, 16 keys
    grid.dense(), grid.pairs(), grid.path(15, 3), grid.why(5, 0)
"""

from .base import ALL, NONE, SOME, Pattern, Span
from .expression import from_spec, parse
from .grid import Cost, Grid, reach
from .papers import bigbird, bigbird_tokens, longformer, transformer_xl, unilm, xlnet
from .primitives import (
    causal,
    cells,
    full,
    global_tokens,
    in_blocks,
    memory,
    padding,
    per_head,
    permutation,
    prefix,
    random,
    random_blocks,
    segments,
    table,
    window,
)  # fmt: skip

__all__ = [
    "ALL", "NONE", "SOME", "Cost", "Grid", "Pattern", "Span",
    "bigbird", "bigbird_tokens", "causal", "cells", "from_spec", "full", "global_tokens", "in_blocks", "longformer",
    "memory", "padding", "parse", "per_head", "permutation", "prefix", "random", "random_blocks", "reach", "segments",
    "table", "transformer_xl", "unilm", "window", "xlnet",
]  # fmt: skip
