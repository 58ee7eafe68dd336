"""Rung (b) of the ladder: what original implementations gave for tiny random weights, kept in `*.npz` beside this file.

Keys: `w/…` weights under the original's names, `in/…`, `out/…`; `meta` says package, version, sizes and conventions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["Frozen"]


class Frozen:
    """One file: `frozen["out/c2p/probs"]` is a tensor, `frozen.under("w/c2p/")` all those below a name."""

    def __init__(self, name: str) -> None:
        with np.load(Path(__file__).with_name(f"{name}.npz"), allow_pickle=False) as found:
            self.meta: dict[str, Any] = json.loads(str(found["meta"]))
            self.arrays = {key: torch.from_numpy(found[key]) for key in found.files if key != "meta"}

    def __getitem__(self, key: str) -> Tensor:
        return self.arrays[key]

    def under(self, start: str) -> dict[str, Tensor]:
        """Without the beginning of their names."""
        return {key.removeprefix(start): x for key, x in self.arrays.items() if key.startswith(start)}
