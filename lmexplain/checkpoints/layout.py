"""How a model's tensors and configuration are called in published files, as data.

A *path* names a module, `{i}` a number in it: `layers.{i}.attention.sublayer.query` stands for its weight and bias.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..models import Config, Model

__all__ = ["Layout", "Place", "Theirs", "tensors_of"]


class Theirs(NamedTuple):
    """A published path that is not ours word for word.

    transpose: weights are (in, out), as GPT-2's convolutions of width 1 keep them.
    part, of: ours is the part-th of `of` equal pieces, joined along the outputs (query, key, value).
    row: a bias that is kept as a matrix of one row.
    heads: the pieces are joined anew for each of so many heads (-1: as many as the model has).
    axes: the outputs have two axes, (heads, width).
    """

    path: str
    transpose: bool = False
    part: int = 0
    of: int = 1
    row: bool = False
    heads: int = 1
    axes: bool = False


class Place(NamedTuple):
    """Where one of our tensors stands in a file."""

    key: str
    transpose: bool = False
    part: int = 0
    of: int = 1
    row: bool = False
    heads: int = 1
    axes: bool = False

    def ours(self, theirs: Tensor) -> Tensor:
        """The published tensor as ours."""
        theirs = theirs.flatten(1) if self.axes else theirs
        theirs = theirs.mT if self.transpose and theirs.dim() == 2 else theirs[0] if self.row else theirs
        if self.heads > 1 and not self.axes:
            theirs = theirs.unflatten(0, (self.heads, self.of, -1)).transpose(0, 1).flatten(0, 2)
        return theirs if self.of == 1 else theirs.chunk(self.of)[self.part]

    @staticmethod
    def whole(found: list[tuple[Place, Tensor]]) -> Tensor:
        """The published tensor of its pieces."""
        place = found[0][0]
        parts = [piece for _, piece in sorted(found, key=lambda x: x[0].part)]
        whole = torch.cat(parts) if len(parts) > 1 else parts[0]
        if place.heads > 1 and not place.axes:
            whole = whole.unflatten(0, (place.of, place.heads, -1)).transpose(0, 1).flatten(0, 2)
        whole = whole[None] if place.row else whole
        whole = whole.mT if place.transpose and whole.dim() == 2 else whole
        return (whole.unflatten(-1, (place.heads, -1)) if place.axes else whole).contiguous()

    def shape(self, ours: Iterable[int]) -> tuple[int, ...]:
        """The shape that the published tensor of ours has."""
        shape = tuple(ours)
        whole = (shape[0] * self.of, *shape[1:]) if self.of > 1 else shape
        whole = (1, *whole) if self.row else whole
        whole = whole[::-1] if self.transpose else whole
        return (*whole[:-1], self.heads, whole[-1] // self.heads) if self.axes else whole


@dataclass(frozen=True, kw_only=True)
class Layout:
    """One model in the Hugging Face layout: `config.json`, and tensors by name."""

    model: type[Model]
    config: type[Config]
    model_type: str
    """As config.json says."""
    older_types: tuple[str | None, ...] = ()
    """What other folders of this model say for it; None: nothing."""
    architecture: str
    """"Bert" of BertModel and BertForMaskedLM."""
    prefix: str
    """Before the paths of the body, where there is a head."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """Heads beside which the body has another prefix."""
    body: Mapping[str, str | Theirs]
    """Our paths to theirs, without the prefix."""
    heads: Mapping[str, Mapping[str, str | Theirs]]
    """For each head, our paths to theirs."""
    endings: Mapping[str, str] = field(default_factory=dict)
    """Architectures that do not end in For<head>: head to ending ("LMHeadModel"; "Model" is none)."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Fields of the configuration with another name there: ours to theirs."""
    older: Mapping[str, str] = field(default_factory=dict)
    """Names in older files to those of today."""
    values: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    """Fields whose values are called otherwise there: ours to theirs."""
    repeated: Mapping[str, str] = field(default_factory=dict)
    """Published fields that must equal another one."""
    implied: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ours that no such file states: what they all mean."""
    fixed: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Published fields that change what is computed, with the values that this model has."""
    tied: Mapping[str, str] = field(default_factory=dict)
    """Where the decoder is tied: the names of its tensors to those they are stored under."""
    absent: Mapping[str, Any] = field(default_factory=dict)
    """What a published field stands for where config.json leaves it out, if that is not our default."""
    chosen_by: Mapping[str, Any] = field(default_factory=dict)
    """Published fields by whose values this layout is told from the usual one of its model_type; written too."""
    ignored: tuple[str, ...] = ()
    """Endings of tensors in older files that hold no weights."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Parts of tensors' names in older files to those of today."""
    files: tuple[str, ...] = ()
    """Patterns of other files of weights that are published: pickles of tensors, alone or under the name "model"."""

    # ── names of tensors ──────────────────────────────────────────────────────────────────────────────────────────

    def places(self, model: Model, prefix: str | None = None) -> dict[str, Place]:
        """Where each of a model's tensors stands, a shared one once. `prefix`: of the body, where it is not usual.

        Raises KeyError for a tensor that the map does not know.
        """
        before = prefix if prefix is not None else self.before(model.head_name)
        return {name: self._place(name, model, before) for name in tensors_of(model)}

    def before(self, head: str | None) -> str:
        """The prefix of the body beside this head."""
        return "" if head is None else self.prefixes.get(head, self.prefix)

    def named_today(self, key: str) -> str:
        """The name of a tensor that an older file calls `key`."""
        for old, new in self.renamed.items():
            key = key.replace(old, new)
        return key

    def _place(self, name: str, model: Model, prefix: str) -> Place:
        head = _match(name, self.heads.get(model.head_name or "", {}))
        if head is not None:
            return head._replace(key=self.tied.get(head.key, head.key)) if model.config.tie_word_embeddings else head
        body = _match(name, self.body)
        if body is None:
            raise KeyError(f"{self.architecture}: no published name is known for {name}")
        heads = model.config.num_attention_heads if body.heads < 0 else body.heads
        return body._replace(key=prefix + body.key, heads=heads)

    def surplus(self, keys: Iterable[str]) -> list[str]:
        """Those of `keys` that hold weights of their own."""
        second = {*self.tied, *self.tied.values()}
        return sorted(key for key in keys if key not in second and not key.endswith(self.ignored))

    def elsewhere(self, key: str, prefix: str) -> bool:
        """Do the pooler or a head of this family, not necessarily the one at hand, have a tensor of this name?"""
        known = {_path(path) for head in self.heads.values() for path in head.values()}
        known |= {prefix + _path(path) for ours, path in self.body.items() if ours.startswith("pooler.")}
        known = "|".join(re.escape(path).replace(r"\{i\}", r"\d+") for path in known)
        return any(re.fullmatch(known, name) for name in (key, key.rpartition(".")[0]))

    # ── configuration ─────────────────────────────────────────────────────────────────────────────────────────────

    def read_config(self, published: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Config:
        """The configuration, some of its fields changed.

        Raises ValueError where the file, or a change, asks for what this model does not have.
        """
        changes = changes or {}
        hints = typing.get_type_hints(self.config)
        unknown = changes.keys() - {f.name for f in fields(self.config)} - self.fixed.keys()
        if unknown:
            raise ValueError(f"{self.config.__name__} has no {', '.join(sorted(unknown))}; "
                             f"`{self.config.__name__}()` shows its fields")  # fmt: skip
        changed = {self.names.get(name, name): value for name, value in changes.items()}
        changed |= {second: changed[first] for second, first in self.repeated.items() if first in changed}
        published = {self.older.get(name, name): value for name, value in published.items()}
        published = {**self.absent, **published, **changed}
        alike = {second: (published.get(first),) for second, first in self.repeated.items()}
        for name, values in {**self.fixed, **alike}.items():
            if name in published and published[name] not in values:
                raise ValueError(
                    f"config.json says {name}={published[name]!r}; lmexplain's {self.architecture} knows "
                    f"{' or '.join(map(repr, values))}"
                )
        known = {f.name: self.names.get(f.name, f.name) for f in fields(self.config)}
        given = {**self.implied, **{ours: published[theirs] for ours, theirs in known.items() if theirs in published}}
        for name in self.values.keys() & given.keys():
            given[name] = {theirs: ours for ours, theirs in self.values[name].items()}.get(given[name], given[name])
        if "num_labels" not in given and published.get("id2label"):
            given["num_labels"] = len(published["id2label"])
        if published.get("problem_type") == "regression" and given.get("num_labels", 2) > 1:
            raise ValueError(
                f"config.json says problem_type='regression' with {given.get('num_labels', 2)} labels; a head takes a "
                f"number for one label, and yes or no for each of several: remove problem_type, or load head=None"
            )
        for name, value in list(given.items()):
            if value is None and not _fits(value, hints[name]):
                del given[name]                 # null: not stated
            elif not _fits(value, hints[name]):
                wanted = getattr(hints[name], "__name__", hints[name])
                raise ValueError(f"{self.config.__name__}: {known[name]} is {value!r}; give {wanted}")
        return self.config(**given)

    def write_config(self, config: Config, head: str | None) -> dict[str, Any]:
        """What config.json says of this model. Raises ValueError where it can not say it."""
        ours = {f.name: getattr(config, f.name) for f in fields(config)}
        means = {**{name: (value,) for name, value in self.implied.items()}, **self.values}
        for name, choice in means.items():
            if ours[name] not in choice:
                raise ValueError(
                    f"{name} is {ours[name]!r}; a folder of {self.architecture} can only say "
                    f"{' or '.join(map(repr, choice))}: torch.save the model's state_dict() instead"
                )
        ours |= {name: theirs[ours[name]] for name, theirs in self.values.items()}
        values = {self.names.get(name, name): value for name, value in ours.items() if name not in self.implied}
        values |= {second: values[first] for second, first in self.repeated.items()}
        classes = values.pop("num_labels")
        labels = {str(i): f"LABEL_{i}" for i in range(classes)}
        return {
            "model_type": self.model_type,
            "architectures": [self.architecture + self.ending(head)],
            **values,
            **self.chosen_by,
            "id2label": labels,
            "label2id": {label: int(i) for i, label in labels.items()},
        }

    def stated(self) -> dict[str, Any]:
        """What this model always is, for readers that may take it for granted otherwise."""
        return {name: values[0] for name, values in self.fixed.items()}

    def ending(self, head: str | None) -> str:
        return "Model" if head is None else self.endings.get(head, f"For{head}")

    def architectures(self) -> dict[str, str | None]:
        """The architectures that are known, and the heads that they name."""
        return {self.architecture + self.ending(head): head for head in (None, *self.model.heads)}

    def head_of(self, architecture: str) -> str | None:
        """The head that an architecture names. Raises ValueError for one that is not known."""
        names = self.architectures()
        if architecture not in names:
            raise ValueError(f"config.json names the architecture {architecture!r}; known are {', '.join(names)}: load "
                             f"it with head=None, or another head")  # fmt: skip
        return names[architecture]


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """Its parameters, a shared one once, and what it gathers beside them (a batch norm's mean and variance)."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def _fits(value: Any, hint: Any) -> bool:
    """Is a value of JSON what a field's type hint asks for? A whole number is a float too; a bool is no number."""
    kinds = typing.get_args(hint) if isinstance(hint, UnionType) else (hint,)
    plain = [kind for kind in kinds if kind in (int, float, str, bool, NoneType)]
    return len(plain) < len(kinds) or type(value) in plain or (type(value) is int and float in plain)


def _path(theirs: str | Theirs) -> str:
    return theirs.path if isinstance(theirs, Theirs) else theirs


def _match(name: str, paths: Mapping[str, str | Theirs]) -> Place | None:
    """The place of a parameter whose own name, or whose module, is among the paths."""
    module, _, last = name.rpartition(".")
    for whole, ending in ((name, ""), (module, f".{last}")):
        numbers = re.findall(r"(?<=\.)\d+(?=\.|$)", whole)
        found = paths.get(re.sub(r"(?<=\.)\d+(?=\.|$)", "{i}", whole))
        if found is not None:
            theirs = found if isinstance(found, Theirs) else Theirs(found)
            key = theirs.path
            for number in numbers:
                key = key.replace("{i}", number, 1)
            return Place(key + ending, *theirs[1:])
    return None
