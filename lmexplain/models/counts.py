"""How many parameters a model has, part by part, a shared tensor counted once.

`count(on_meta(Bert, BertConfig.published("bert-base-uncased")))` takes no memory: only shapes are made.
"""

from __future__ import annotations

import json
import math
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import torch
import yaml
from torch import nn

from ..layers import FeedForward, Head, Lstm, MultiHeadAttention, Pooler, PostNormBlock, PreNormBlock
from .base import Config, Model

__all__ = ["Count", "Figure", "Part", "Tensors", "config_of", "count", "figures", "on_meta", "verification"]

_PARTS: tuple[tuple[type[nn.Module], str], ...] = (
    (MultiHeadAttention, "attention"),
    (FeedForward, "feed-forward"),
    (Lstm, "recurrent"),
    (Pooler, "pooler"),
    (Head, "head"),
)


@dataclass(frozen=True)
class Tensors:
    """Equal tensors of a part: `layers.{i}.attention.norm.weight`, one in each layer."""

    path: str
    shape: tuple[int, ...]
    times: int
    shared: bool
    """These stand elsewhere too and were counted there."""

    @property
    def parameters(self) -> int:
        return self.times * math.prod(self.shape)


@dataclass(frozen=True)
class Part:
    """A part of a model: embedding, attention, feed-forward, recurrent layers, pooler, head. A norm belongs to the part
    that it follows.
    """

    name: str
    tensors: tuple[Tensors, ...]

    @property
    def parameters(self) -> int:
        """Of this part alone."""
        return sum(t.parameters for t in self.tensors if not t.shared)

    @property
    def shared(self) -> int:
        """Used here, and counted in another place."""
        return sum(t.parameters for t in self.tensors if t.shared)


@dataclass(frozen=True)
class Count:
    """A model's parameters, in parts."""

    parts: tuple[Part, ...]

    @property
    def parameters(self) -> int:
        """All of them, each once."""
        return sum(part.parameters for part in self.parts)

    @property
    def used(self) -> int:
        """As if no tensor stood in two places: a tied decoder counts twice (a layer run twice once)."""
        return sum(part.parameters + part.shared for part in self.parts)

    def __getitem__(self, name: str) -> Part:
        return next(part for part in self.parts if part.name == name)


def count(model: Model) -> Count:
    """The parameters of a model, in the order in which it makes them."""
    seen: set[int] = set()
    found: dict[str, dict[tuple[str, tuple[int, ...], bool], int]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        key = (re.sub(r"(?<=\.)\d+(?=\.)", "{i}", name), tuple(parameter.shape), id(parameter) in seen)
        seen.add(id(parameter))
        part = found.setdefault(_part(model, name), {})
        part[key] = part.get(key, 0) + 1
    return Count(tuple(
        Part(name, tuple(Tensors(path, shape, times, shared) for (path, shape, shared), times in tensors.items()))
        for name, tensors in found.items()
    ))  # fmt: skip


def _part(model: nn.Module, name: str) -> str:
    """What the innermost of the known modules on the way to a parameter says, else the topmost module's own name."""
    part, module = None, model
    for step in name.split(".")[:-1]:
        module = getattr(module, step)
        inner = module.sublayer if isinstance(module, PostNormBlock | PreNormBlock) else module
        part = next((part for kind, part in _PARTS if isinstance(inner, kind)), part)
        if part in ("head", "pooler"):
            return part
    top = name.partition(".")[0].replace("_", " ")
    return part or {"embeddings": "embedding", "norm": "last norm"}.get(top, top)


def config_of(model: type[Model]) -> type[Config]:
    """The configuration's class, as the model declares it."""
    return typing.get_type_hints(model)["config"]


def on_meta(model: type[Model], config: Config, head: str | None = None, **options: Any) -> Model:
    """The model without memory for its weights."""
    with torch.device("meta"):
        return model(config, head, **options)  # pyright: ignore[reportCallIssue]  # models take a head


# ── what others say ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Figure:
    """A published count, or one recomputed from published shapes, and what it counts."""

    model: str
    """Its name in `MODELS`."""
    sizes: tuple[str, ...]
    """The published sizes that have it."""
    parameters: int
    how: str
    head: str | None = None
    pooler: bool | None = None
    """None: as the head asks."""
    changes: Mapping[str, Any] | None = None
    """Fields that differ from the published size."""
    part: str | None = None
    """The part that is counted, None: all."""

    def counted(self, model: type[Model], size: str) -> Count:
        """Our count of the same."""
        options = {} if self.pooler is None else {"pooler": self.pooler}
        made = count(on_meta(model, config_of(model).published(size, **self.changes or {}), self.head, **options))
        return made if self.part is None else Count((made[self.part],))


@cache
def figures() -> tuple[Figure, ...]:
    """`published_counts.yaml`."""
    return tuple(_figures(yaml.safe_load(_read("published_counts.yaml"))["figures"]))


def _figures(rows: list[dict[str, Any]]) -> Iterator[Figure]:
    for row in rows:
        yield Figure(**{**row, "sizes": tuple(row["sizes"])})


@cache
def verification() -> dict[str, Any]:
    """`verification.json`, which `make verify` writes: versions, and for each model and rung its cases, each with the
    largest error as a share of the tolerance.
    """
    return json.loads(_read("verification.json"))


def _read(name: str) -> str:
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")
