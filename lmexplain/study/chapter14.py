"""The exercises of chapter 14, long inputs: what is asked for, a solution, and the mistakes that one makes.

The target is written as the rule of the text, cell by cell, so that a solution is compared with something else than
itself. A solution is shown to the reader as it stands here.
"""

import torch

from lmexplain.patterns import Pattern, bigbird_tokens, cells, global_tokens, random, table, window
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
        target=lambda: bigbird_tokens(r=2, width=3, tokens=(0,), seed=7).at(12).dense(),
        solution=bigbird_by_parts,
        mistakes={
            "half": _one_way,
            "seed": lambda: window(3) | global_tokens(0) | random(2),
            "both": lambda: window(3) & global_tokens(0) & random(2, seed=7),
        },
    ),
    "14.4": Code(
        target=lambda: (window(512) | global_tokens(0)).at(4096).pairs(),
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


def _walk_back(place: int, step: int) -> list[int]:
    """The places where information stands after each layer, on its way to place 0."""
    places = []
    while place > 0:
        place = max(0, place - step)
        places.append(place)
    return places
