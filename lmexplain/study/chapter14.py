"""The exercises of chapter 14, long inputs: what is asked for, a solution, and the mistakes that one makes.

The target is written as the rule of the text, cell by cell, so that a solution is compared with something else than
itself. A solution is shown to the reader as it stands here.
"""

import torch

from lmexplain.patterns import Pattern, cells, global_tokens, random, table, window
from lmexplain.study.practice import Code, from_rule

__all__ = ["EXERCISES"]


def longformer_for_qa() -> Pattern:
    question = range(1, 4)
    return window(4) | global_tokens(*question)


def dilated_by_cells() -> Pattern:
    n = 10
    return cells(*((q, k) for q in range(n) for k in range(n) if abs(q - k) in (0, 2, 4)))


def bigbird_by_parts() -> Pattern:
    return window(3) | global_tokens(0) | random(2, seed=7)


def count_pairs() -> int:
    n, side = 4096, 256
    inside = n * (2 * side + 1) - side * (side + 1)  # two triangles are missing, one at each end
    row_and_column = 2 * n - 1
    already = 2 * (side + 1) - 1  # the part of them that the window has
    return inside + row_and_column - already


def layers_to_the_first_token() -> int:
    distance, step = 4095, 256
    return -(-distance // step)  # rounded up


def _cells_at(distances: set[int], n: int = 10) -> Pattern:
    return cells(*((q, k) for q in range(n) for k in range(n) if abs(q - k) in distances))


def _one_way() -> Pattern:
    """All tokens look at the first, which looks at its window and its random keys alone."""
    column = torch.zeros(12, 12, dtype=torch.bool)
    column[:, 0] = True
    return window(3) | table(column) | random(2, seed=7)


EXERCISES = {
    "14.1": Code(
        target=lambda: from_rule(12, lambda q, k: abs(q - k) <= 2 or 1 <= q <= 3 or 1 <= k <= 3),
        solution=longformer_for_qa,
        mistakes={
            "cls": lambda: window(4) | global_tokens(0),
            "one_side": lambda: window(8) | global_tokens(1, 2, 3),
            "separator": lambda: window(4) | global_tokens(1, 2, 3, 4),
        },
    ),
    "14.2": Code(
        target=lambda: from_rule(10, lambda q, k: abs(q - k) <= 4 and (q - k) % 2 == 0),
        solution=dilated_by_cells,
        mistakes={
            "gap": lambda: _cells_at({0, 3, 6}),
            "plain": lambda: _cells_at({0, 1, 2}),
            "itself": lambda: _cells_at({2, 4}),
        },
        made_with=("cells", "table"),
    ),
    "14.3": Code(
        target=lambda: from_rule(12, lambda q, k: abs(q - k) <= 1 or 0 in (q, k) or k in _floyd(7, q, 12, 2)),
        solution=bigbird_by_parts,
        mistakes={
            "half": _one_way,
            "seed": lambda: window(3) | global_tokens(0) | random(2),
            "both": lambda: window(3) & global_tokens(0) & random(2, seed=7),
        },
    ),
    "14.4": Code(
        target=lambda: sum(4096 if q == 0 else len({0, *_neighbours(q, 4096, 256)}) for q in range(4096)),
        solution=count_pairs,
        mistakes={
            "ends": lambda: 4096 * 513,
            "window_only": lambda: 4096 * 513 - 256 * 257,
            "twice": lambda: 4096 * 513 - 256 * 257 + 2 * 4096 - 1,
            "one_side": lambda: 4096 * 1025 - 512 * 513 + 2 * 4096 - 1 - 1025,
        },
    ),
    "14.5": Code(
        target=lambda: len(_walk_back(4095, 256)),
        solution=layers_to_the_first_token,
        mistakes={
            "both_sides": lambda: 8,
            "rounded_down": lambda: 15,
            "field": lambda: 4096 // 512 + 1,
        },
    ),
}


def _neighbours(q: int, n: int, side: int) -> range:
    """The places at most `side` away from q."""
    return range(max(0, q - side), min(n, q + side + 1))


def _floyd(seed: int, q: int, n: int, r: int) -> set[int]:
    """The r keys that query q draws of n: Floyd's sampling, on the hash that `patterns.hashing` states."""
    drawn: set[int] = set()
    for i, last in enumerate(range(n - r, n)):
        key = _mix(i ^ _mix(q ^ _mix(seed))) % (last + 1)
        drawn.add(last if key in drawn else key)
    return drawn


def _mix(x: int) -> int:
    x = (x + 0x9E3779B9) % 2**32
    x = (x ^ x >> 16) * 0x7FEB352D % 2**32
    x = (x ^ x >> 15) * 0x846CA68B % 2**32
    return x ^ x >> 16


def _walk_back(place: int, step: int) -> list[int]:
    """The places where information stands after each layer, on its way to place 0."""
    places = []
    while place > 0:
        place = max(0, place - step)
        places.append(place)
    return places
