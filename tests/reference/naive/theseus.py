"""BERT-of-Theseus (Xu et al. 2020, section 3.1): which layers run, by their released names."""

from __future__ import annotations

from collections.abc import Sequence


def layers(replaced: Sequence[bool], predecessor: int) -> list[str]:
    size, names = predecessor // len(replaced), []
    for i, r in enumerate(replaced):
        if r:
            names.append(f"bert.encoder.scc_layer.{i}")
        else:
            for j in range(size):
                names.append(f"bert.encoder.layer.{i * size + j}")
    return names
