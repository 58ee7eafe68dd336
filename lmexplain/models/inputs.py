"""What comes from a user is looked at before anything is computed.

Values are not looked at while torch.compile traces, since that would break its graph.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..layers import KeyValue, State
from ..layers.heads import check_tensors

__all__ = [
    "cached_length", "check_asked", "check_ids", "check_mapping", "check_mems", "check_ones", "check_state",
    "either_mask", "real_tokens", "shape_of",
]  # fmt: skip


def shape_of(
    input_ids: Tensor | None, inputs_embeds: Tensor | None, hidden: int, before: str = ""
) -> tuple[int, int]:  # fmt: skip
    """(B, T) of exactly one of `input_ids` (B, T) and `inputs_embeds` (B, T, hidden). before: "decoder_", or none."""
    ids, embeds = f"{before}input_ids", f"{before}inputs_embeds"
    given = {name: x for name, x in ((ids, input_ids), (embeds, inputs_embeds)) if x is not None}
    if len(given) != 1:
        raise ValueError(f"{'both' if given else 'neither'} of {ids} and {embeds} given; give exactly one")
    check_tensors(given)
    (x,) = given.values()
    if x.dim() != (2 if input_ids is not None else 3) or (inputs_embeds is not None and x.shape[2] != hidden):
        raise ValueError(
            f"{ids if input_ids is not None else embeds} has shape {tuple(x.shape)}; give "
            f"{'(batch, length)' if input_ids is not None else f'(batch, length, {hidden})'}"
        )
    if not x.numel():
        raise ValueError(f"the input has shape {tuple(x.shape)}: give at least one sentence of at least one token")
    return x.shape[0], x.shape[1]


def check_ids(name: str, ids: Tensor, size: int, shape: tuple[int, ...], remedy: str) -> None:
    """Raises unless `ids` are integers, as a table takes them, from 0 to size - 1 of this shape (an axis of 1
    broadcasts).
    """
    check_tensors({name: ids})
    if ids.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name} is {ids.dtype}; give integers (torch.long)")
    if ids.dim() != len(shape) or any(have not in (1, want) for have, want in zip(ids.shape, shape, strict=True)):
        raise ValueError(f"{name} has shape {tuple(ids.shape)}, the input {shape}; give one for each token")
    if torch.compiler.is_compiling() or ids.is_meta or not ids.numel():
        return
    low, high = (int(x) for x in ids.aminmax())
    if low < 0 or high >= size:
        raise ValueError(f"{name} holds {low if low < 0 else high}, outside 0 to {size - 1}; {remedy}")


def check_asked(new: int, vocab_size: int, **ids: int | None) -> None:
    """Raises ValueError unless it is clear what to write: `max_new_tokens`, and tokens by their names."""
    if not isinstance(new, int) or new < 1:
        raise ValueError(f"max_new_tokens is {new}; ask for a whole number, at least 1")
    for name, token in ids.items():
        if token is not None and not (isinstance(token, int) and 0 <= token < vocab_size):
            raise ValueError(f"{name} is {token}, not one of 0 to {vocab_size - 1}; give a token's id")


def real_tokens(attention_mask: Tensor | None, shape: tuple[int, int]) -> Tensor | None:
    """An attention mask (B, S) of bool or 0 and 1 as bool, True at real tokens; None where every token is real.

    A sentence of padding alone attends to nothing: its attention gives 0. Raises for any other value or shape.
    """
    if attention_mask is None:
        return None
    check_tensors({"attention_mask": attention_mask})
    if tuple(attention_mask.shape) != shape:
        raise ValueError(
            f"attention_mask has shape {tuple(attention_mask.shape)}, the keys {shape}; give one value for each token "
            f"(cached ones too), and who may attend to whom by pattern=…"
        )
    real = attention_mask != 0
    if torch.compiler.is_compiling() or attention_mask.is_meta:
        return real
    if attention_mask.dtype != torch.bool and not bool(((attention_mask == 1) | ~real).all()):
        odd = attention_mask[(attention_mask != 1) & real].flatten()[0].item()
        raise ValueError(f"attention_mask holds {odd}; give 1 (True) for a real token and 0 (False) for padding")
    return None if bool(real.all()) else real


def cached_length(past: Sequence[KeyValue] | None, layers: int, B: int, N: int, H: int) -> int:
    """How many tokens `past_key_values` hold: for each layer keys and values (B, N, past, H / N). Raises for others."""
    if not past:
        return 0
    found = [tuple(x.shape) for pair in past for x in pair]
    length = found[0][2] if len(found[0]) == 4 else 0
    want = (B, N, length, H // N)
    odd = next((shape for shape in found if shape != want), None)
    if odd is not None or len(found) != 2 * layers:
        raise ValueError(
            f"past_key_values hold {len(found)} tensors, of shape {odd or want}; give those of an earlier output, keys "
            f"and values {(B, N, 'past', H // N)} for each of the {layers} layers"
        )
    return length


def check_state(state: Sequence[State] | None, widths: Sequence[int], B: int) -> None:
    """Raises unless `state` holds h and c (B, width) for each of the layers, or is None."""
    want = [(B, width) for width in widths]
    found = None if state is None else [tuple(tuple(x.shape) for x in pair) for pair in state]
    if found is not None and found != [(shape, shape) for shape in want]:
        raise ValueError(
            f"state holds {', '.join(map(str, found)) or 'nothing'}; give an earlier output's, of texts that go on row "
            f"by row: h and c of shape {', '.join(map(str, want))} for the {len(want)} layers"
        )


def check_mems(mems: Sequence[Tensor] | None, layers: int, B: int, H: int) -> int:
    """How many positions `mems` hold: for each of the layers a tensor (M, B, H). Raises ValueError for others."""
    if mems is None:
        return 0
    found = [tuple(x.shape) for x in mems]
    M = found[0][0] if found and found[0] else 0
    if found != [(M, B, H)] * layers:
        raise ValueError(
            f"mems hold {', '.join(map(str, found)) or 'nothing'}; give an earlier output's, of texts that go on row "
            f"by row: (M, {B}, {H}), time first, for each of the {layers} layers"
        )
    return M


def check_ones(name: str, given: Tensor, shape: tuple[int, ...]) -> Tensor:
    """As bool. Raises ValueError unless `given` has this shape and holds 0 and 1 alone."""
    check_tensors({name: given})
    if tuple(given.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(given.shape)}, the input asks for {shape}")
    if not torch.compiler.is_compiling() and not bool(((given == 0) | (given == 1)).all()):
        odd = given[(given != 0) & (given != 1)].flatten()[0].item()
        raise ValueError(f"{name} holds {odd}; give 0 and 1 alone")
    return given.bool()


def either_mask(attention_mask: Tensor | None, input_mask: Tensor | None, shape: tuple[int, int]) -> Tensor | None:
    """An attention_mask; or of XLNet's input_mask (B, T), 1 at padding, the inverse. Raises ValueError for both."""
    if input_mask is None:
        return attention_mask
    if attention_mask is not None:
        raise ValueError("both attention_mask and input_mask given; give one, each is the other's inverse")
    return ~check_ones("input_mask", input_mask, shape)


def check_mapping(mapping: Tensor, shape: tuple[int, int], labels: Tensor | None) -> Tensor:
    """XLNet's target_mapping (B, P, T) as bool, for a text (B, T) and labels (B, P).

    Raises ValueError unless each target stands on one token of its own; one that only fills up may stand on none, and
    then has no label.
    """
    check_tensors({"target_mapping": mapping})
    if mapping.dim() != 3 or not mapping.shape[1]:
        raise ValueError(f"target_mapping has shape {tuple(mapping.shape)}; give (batch, targets, length), a 1 each")
    where = check_ones("target_mapping", mapping, (shape[0], mapping.shape[1], shape[1]))
    if torch.compiler.is_compiling():
        return where
    twice = (2, "target {1} of text {0} stands on {2} tokens"), (1, "text {0} has {2} targets on token {1}")
    for axis, says in twice:
        many = where.sum(axis)
        if int(many.max()) > 1:
            text, place = (many > 1).nonzero()[0].tolist()
            raise ValueError(f"target_mapping: {says.format(text, place, int(many[text, place]))}; give each its own")
    if isinstance(labels, Tensor) and labels.shape == where.shape[:2]:
        lost = ((labels != -100) & ~where.any(2)).nonzero().tolist()
        if lost:
            raise ValueError(f"target_mapping: target {lost[0][1]} of text {lost[0][0]} has a label and stands on no "
                             f"token; give it its own, or the label -100")  # fmt: skip
    return where
