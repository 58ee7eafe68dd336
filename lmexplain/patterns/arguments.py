"""Checks of what a user hands to a pattern: each error names the value, the limit and the remedy."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import Tensor

__all__ = ["MOST", "fits", "numbers", "samples", "seed_number", "shown", "truth", "whole"]

MOST = 2**31 - 1
"""No length, place or size is larger; sums of two stay exact everywhere."""


def samples(values: Tensor) -> int:
    """How many samples a table (S,) or (B, S) tells apart."""
    return values.shape[0] if values.dim() == 2 else 1


def fits(what: str, name: str, have: int, want: int) -> None:
    """Refuse data that does not have one place for each key."""
    if have != want:
        raise ValueError(f"{what}: {name} has {have} places, the keys have {want}; give one for each key")


def shown(values: Tensor) -> str:
    """A table as it is written in an expression; of a large one the shape."""
    values = values.int() if values.dtype == torch.bool else values
    if values.numel() > 4096:
        return f"<{'×'.join(map(str, values.shape))}>"
    return repr(values.tolist()).replace(" ", "")


def whole(what: str, name: str, value: Any, least: int, remedy: str, most: int = MOST) -> int:
    """The value as a plain int; ValueError for what is not a whole number from `least` to `most`."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{what}: {name} must be a whole number, not {value!r}; {remedy}") from None
    if number < least:
        raise ValueError(f"{what}: {name} is {number}, the least is {least}; {remedy}")
    if number > most:
        raise ValueError(f"{what}: {name} is {number}, the most is {most}; {remedy}")
    return number


def seed_number(what: str, seed: Any) -> int:
    """A seed of 32 bits, which JSON and the browser carry unchanged."""
    return whole(what, "seed", seed, 0, "take a seed of 32 bits", most=2**32 - 1)


def numbers(what: str, name: str, values: Any, dims: tuple[int, ...]) -> Tensor:
    """Whole numbers as an int64 tensor of one of these dimensions, on the CPU, a copy of its own."""
    try:
        tensor = torch.as_tensor(values).detach().cpu()
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise ValueError(f"{what}: {name} {values!r:.80} is not a table of numbers; give a list or a tensor") from None
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dim() not in dims or not tensor.numel():
        raise ValueError(
            f"{what}: {name} must be whole numbers in {' or '.join(map(str, dims))} dimensions, "
            f"not {tensor.dtype} of shape {tuple(tensor.shape)}; give a list or a tensor of integers"
        )
    return tensor.long().clone()


def truth(what: str, name: str, values: Any, dims: tuple[int, ...] = (1, 2)) -> Tensor:
    """True/False or 0/1 as a bool tensor; any other number is refused, since its meaning is unclear."""
    marks = numbers(what, name, values, dims)
    odd = marks[(marks != 0) & (marks != 1)]
    if len(odd):
        raise ValueError(
            f"{what}: {name} holds {odd[0].item()}; only 0 and 1, or False and True (may attend), are understood"
        )
    return marks.bool()
