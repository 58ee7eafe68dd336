"""Tiny random models of the transformers library, and how ours are held against them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from lmexplain.checkpoints import layout_of
from lmexplain.models import Model

TOLERANCE = 1e-5
SHARES: list[float] = []
"""Errors that the running test found, as shares of its tolerance (`--record-verification` keeps the largest)."""


def noted(share: float) -> float:
    """Any comparison with a reference tells its error here."""
    SHARES.append(share)
    return share


@dataclass(frozen=True)
class Case:
    """One configuration of a reference model, with what it is given.

    reference: makes the transformers model; its weights are drawn anew here, biases and norms too.
    batches: keyword arguments for both, by a name that says what they try.
    targets: labels for a batch, or none.
    ours: what replaces or joins the arguments on our side (edges that differ on purpose are said in the family's file).
    """

    name: str
    reference: Callable[[], nn.Module]
    batches: Callable[[], Iterator[tuple[str, dict[str, Any]]]]
    targets: Callable[[dict[str, Any]], dict[str, Tensor]] = field(default=lambda batch: {})
    compared: Callable[[dict[str, Any]], Tensor | None] = field(default=lambda batch: None)
    """Positions (B, T) at which outputs are compared, None: all. Of a query stream: where its targets stand."""
    model: type[Model] = Model
    """What the folder is opened as, where it says another model's name."""
    unread: tuple[str, ...] = ()
    """Parameters of the reference that no output depends on."""
    as_ours: Callable[[dict[str, Any], Any], None] = field(default=lambda batch, output: None)
    """Brings a batch's output of the reference into shapes of ours: weights (B, N, T, S), None where it gives none."""
    training: bool = False
    """Whether the reference computes what its weights were trained for in training mode alone."""
    memory: bool = False
    """Whether the states of one segment go into the next."""
    cached: bool = False
    """Whether the model keeps keys and values, so that a sequence may come in pieces."""
    computed: tuple[str, ...] = ()
    """Tables that the reference computes, but asks its files for."""

    def __str__(self) -> str:
        return self.name


def drawn(model: nn.Module, seed: int = 0) -> nn.Module:
    """The model with random weights everywhere: norms around 1, biases around 0, so that no term is idle."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:             # a computed table
                continue
            noise = torch.randn(parameter.shape, generator=generator) * (0.3 if parameter.dim() > 1 else 0.2)
            is_norm = parameter.dim() == 1 and name.endswith("weight")
            parameter.copy_(1 + noise if is_norm else noise)
    return model


def batches(
    vocabulary: int, longest: int, *, left: bool = False, seed: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:  # fmt: skip
    """Inputs of unequal and odd lengths: no padding, padding on the right (and left), one token, the longest."""
    generator = torch.Generator().manual_seed(seed)

    def ids(*shape: int) -> Tensor:
        return torch.randint(5, vocabulary, shape, generator=generator)

    def padded(lengths: list[int], T: int, flip: bool) -> dict[str, Tensor]:
        mask = torch.arange(T)[None] < torch.tensor(lengths)[:, None]
        mask = mask.flip(1) if flip else mask
        return {"input_ids": ids(len(lengths), T).masked_fill(~mask, 1), "attention_mask": mask.long()}

    yield "no padding", {"input_ids": ids(2, 7)}
    yield "padded on the right", padded([7, 11, 1], 11, False)
    if left:
        yield "padded on the left", padded([11, 4, 1], 11, True)
    yield "one token", {"input_ids": ids(1, 1)}
    yield "the longest", {"input_ids": ids(1, longest)}


def token_labels(vocabulary: int, seed: int = 1) -> Callable[[dict[str, Any]], dict[str, Tensor]]:
    """Labels for a third of the tokens and at least two, the first and the last."""

    def labels(batch: dict[str, Any]) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(seed)
        shape = batch["input_ids"].shape
        found = torch.randint(0, vocabulary, shape, generator=generator)
        found[torch.rand(shape, generator=generator) > 0.33] = -100
        found[0, 0] = found[0, -1] = 3
        return {"labels": found}

    return labels


def next_labels(batch: dict[str, Any]) -> dict[str, Tensor]:
    """The tokens themselves, where a real token stands before them: padding predicts nothing."""
    ids = batch["input_ids"]
    real = batch.get("attention_mask", torch.ones_like(ids)).bool()
    if ids.shape[1] == 1:
        return {}
    return {"labels": ids.masked_fill(~(real & real.roll(1, 1)).index_fill(1, torch.tensor(0), False), -100)}


def class_labels(classes: int) -> Callable[[dict[str, Any]], dict[str, Tensor]]:
    """A class for each sentence; with one class a number."""

    def labels(batch: dict[str, Any]) -> dict[str, Tensor]:
        rows = torch.arange(len(batch["input_ids"]))
        return {"labels": rows % classes if classes > 1 else rows.float() - 0.3}

    return labels


def real_positions(batch: dict[str, Any]) -> Tensor | None:
    """Where there is no padding: what a query of padding attends to is anybody's choice."""
    mask = batch.get("attention_mask")
    return None if mask is None else mask.bool()


def close(ours: Tensor, theirs: Tensor, what: str, where: Tensor | None = None) -> float:
    """Asserts max|a − b| ≤ 1e-5 · max(1, max|b|) (the design's tolerance) and returns the left over the right side."""
    assert ours.shape == theirs.shape, f"{what}: {tuple(ours.shape)} against {tuple(theirs.shape)}"
    ours, theirs = (x.detach() if where is None else x.detach()[where] for x in (ours, theirs))
    if not theirs.numel():
        return 0.0
    error, limit = float((ours - theirs).abs().max()), TOLERANCE * max(1.0, float(theirs.abs().max()))
    assert error <= limit, f"{what}: differs by {error:.2e}, more than {limit:.2e}"
    return noted(error / limit)


def same_outputs(ours: Any, theirs: Any, where: Tensor | None) -> float:
    """Every output that both have; returns the largest error as a share of the tolerance."""
    worst = 0.0
    names = ("loss", "logits", "seq_relationship_logits", "sop_logits", "start_logits", "end_logits", "pooler_output")
    for name in names:
        their_name = "prediction_logits" if name == "logits" and not hasattr(theirs, "logits") else name
        found = getattr(theirs, their_name, None)
        if found is not None:
            assert getattr(ours, name) is not None, name
            if name == "pooler_output" and where is not None:       # of the first token, where that is a real one
                worst = max(worst, close(ours.pooler_output, found, name, where[:, 0]))
                continue
            tokens = where if found.dim() >= 2 and where is not None and found.shape[:2] == where.shape else None
            worst = max(worst, close(getattr(ours, name), found, name, tokens))
    for ours_kept, kept in zip(ours.mems or (), getattr(theirs, "mems", None) or (), strict=False):
        if where is None or ours_kept.shape[:2] == where.T.shape:
            worst = max(worst, close(ours_kept, kept, "memory", None if where is None else where.T))
    if getattr(ours, "query_states", None):         # the library's two streams come in turn
        states, pairs = theirs.hidden_states, theirs.attentions
        content, queries = ({"hidden_states": states[n::2], "attentions": [pair[n] for pair in pairs]} for n in (0, 1))
        content["query_states"] = queries["hidden_states"]
        rows = same_layers(ours, where, query_attentions=queries["attentions"])         # where targets stand
        return max(worst, rows, same_layers(ours, None, **content))
    if not hasattr(theirs, "decoder_hidden_states"):
        return max(worst, same_layers(ours, where, hidden_states=theirs.hidden_states, attentions=theirs.attentions))
    encoder = {"hidden_states": theirs.encoder_hidden_states, "attentions": theirs.encoder_attentions}
    decoder = {"hidden_states": theirs.decoder_hidden_states, "attentions": theirs.decoder_attentions}
    worst = max(worst, same_layers(ours.encoder, None, **encoder))
    return max(worst, same_layers(ours, where, **decoder, cross_attentions=theirs.cross_attentions))


def states_of(output: Any) -> tuple[Tensor, ...]:
    """The hidden states of an output, of its decoder where there are two stacks."""
    return getattr(output, "decoder_hidden_states", None) or output.hidden_states


def same_layers(ours: Any, where: Tensor | None, **theirs: Sequence[Tensor] | None) -> float:
    """What the layers made, one after the other: states (B, T, H), weights (B, N, T, S)."""
    worst = 0.0
    for name, expected in theirs.items():
        if expected is None:
            continue
        for i, (a, b) in enumerate(zip(getattr(ours, name), expected, strict=True)):
            rows = where if where is None or a.dim() == 3 else where[:, None, :].expand(a.shape[:3])
            worst = max(worst, close(a, b, f"{name}[{i}]", rows))
    return worst


def same_gradients(ours: Model, theirs: nn.Module) -> float:
    """Every parameter's gradient, under its published name; what the reference holds fixed has none there."""
    layout = layout_of(type(ours))
    places, expected, worst = layout.places(ours), dict(theirs.named_parameters(remove_duplicate=False)), 0.0
    held = {name for name, _ in theirs.named_buffers()}
    for name, parameter in ours.named_parameters():
        place = places[name]
        if place.key in held:
            continue
        theirs_grad = expected[place.key].grad
        assert (parameter.grad is None) == (theirs_grad is None), f"gradient of {name}"
        if parameter.grad is not None and theirs_grad is not None:
            worst = max(worst, close(parameter.grad, place.ours(theirs_grad), f"gradient of {name}"))
    return worst
