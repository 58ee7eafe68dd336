"""The models that are there, what each differs in, how large it is and how it was proved (`lmexplain models`)."""

import argparse
import difflib
import inspect
import re
import sys
from dataclasses import dataclass
from itertools import groupby

import torch

from lmexplain.models import MODELS, Model
from lmexplain.models.counts import Count, Figure, config_of, count, figures, on_meta, verification
from lmexplain.study.terminal import bold, fill, pad, width

__all__ = ["Row", "Size", "add_arguments", "evidence", "rows", "run", "table"]

RUNGS = {
    "a": "tiny random models of the transformers library",
    "b": "frozen outputs of the original code",
    "c": "loops written from the paper",
}


@dataclass(frozen=True)
class Size:
    """A published size, counted here, and what the sources say of it."""

    name: str
    parameters: int
    """Without a head, with a pooler where the model has one."""
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Row:
    """One model in the table."""

    name: str
    model: type[Model]
    title: str
    """Name, authors, year and paper."""
    parent: str
    """What it differs from; "" where it is no one's descendant."""
    difference: str
    sizes: tuple[Size, ...]


def rows() -> list[Row]:
    """The registered models, in the order of the course."""
    return [_row(name, model) for name, model in MODELS.items()]


def evidence(name: str) -> str:
    """The rungs of the ladder that a model reached, with the number of cases and the largest error in them."""
    proved = verification()["models"].get(name, {})
    said = []
    for rung, cases in proved.items():
        against = f"transformers {verification()['versions']['transformers']}" if rung == "a" else RUNGS[rung]
        many = f"{len(cases)} {'case' if len(cases) == 1 else 'cases'}"
        said.append(f"({rung}) {many} against {against}, largest error {max(cases.values()):.2g} of the tolerance")
    return "; ".join(said)


def table() -> str:
    """All models as a table in Markdown."""
    lines = ["| model | differs from | published sizes: parameters | proved |", "| --- | --- | --- | --- |"]
    for row in rows():
        sizes = "<br>".join(f"`{size.name}`: {size.parameters:,}{' ✓' if size.figures else ''}" for size in row.sizes)
        file = row.model.__module__.replace(".", "/")
        lines.append(f"| [`{row.name}`]({file}.py): {row.title} | {row.parent} | {sizes} | {evidence(row.name)} |")
    return "\n".join(lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `lmexplain models`."""
    parser.add_argument("name", nargs="?", help="explain this model: its parts, counts, grids and departures")
    parser.add_argument("--size", help="with a name: which published size to explain (default: the first)")


def run(args: argparse.Namespace) -> int:
    """`lmexplain models`: print the table, or one model; the exit status."""
    if args.name is None:
        if args.size is not None:
            raise ValueError("--size is a size of one model; name the model too: lmexplain models bert --size …")
        for row in rows():
            print(_summary(row), end="\n\n")
        print(fill("Parameters without a head, with a pooler where there is one; ✓: counted as a source counts, they "
                   "are its number. `lmexplain models NAME` explains one model."))  # fmt: skip
        return 0
    name = args.name.lower()
    if name not in MODELS:
        near = difflib.get_close_matches(name, MODELS, n=1) or list(MODELS)
        raise ValueError(f"there is no model {args.name!r}; there is {', '.join(near)}")
    row = _row(name, MODELS[name])
    print(_summary(row, sources=True))
    print("\n" + _counted(row, args.size or row.sizes[0].name))
    print("\n" + _grids(row))
    print("\n" + bold("In its own words") + "\n" + _docstring(row.model))
    return 0


# ── one model ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _row(name: str, model: type[Model]) -> Row:
    first = " ".join(_docstring(model).split("\n\n")[0].split())
    title, _, rest = first.partition("). ")
    found = re.match(r"Differs from (.+?) in: (.+)", rest)
    parent, difference = found.groups() if found else ("", rest)
    sizes = (_size(name, model, size) for size in config_of(model).PUBLISHED)
    return Row(name, model, title + ")", parent, difference, tuple(sizes))


def _size(name: str, model: type[Model], size: str) -> Size:
    stated = tuple(figure for figure in figures() if figure.model == name and size in figure.sizes)
    return Size(size, _published(model, size).parameters, stated)


def _published(model: type[Model], size: str) -> Count:
    return count(on_meta(model, config_of(model).published(size)))


def _docstring(model: type[Model]) -> str:
    return inspect.cleandoc(sys.modules[model.__module__].__doc__ or "")


def _summary(row: Row, sources: bool = False) -> str:
    """Title, difference, sizes (on request with what the sources say of them), evidence."""
    differs = f"Differs from {row.parent} in: {row.difference}" if row.parent else row.difference
    lines = [bold(f"{row.name}  {row.title}"), fill(differs, "  ")]
    cells = max(width(size.name) for size in row.sizes)
    for size in row.sizes:
        lines.append(f"  {pad(size.name, cells)} {size.parameters:>13,}{' ✓' if size.figures else ''}")
        if sources:
            lines += [f"  {pad('', cells)} {f.parameters:>13,} {f.how} (sources)" for f in size.figures]
    lines.append(fill(evidence(row.name) or "not yet", "  proved: "))
    return "\n".join(lines)


def _counted(row: Row, size: str) -> str:
    """Every part with its tensors."""
    counted = _published(row.model, size)
    lines = [bold(f"{size}: {counted.parameters:,} parameters")]
    if counted.used != counted.parameters:
        lines[0] += f" ({counted.used:,} with tied tensors counted in each place)"
    for part in counted.parts:
        shared = f", and {part.shared:,} shared" if part.shared else ""
        lines.append(f"  {part.name}: {part.parameters:,} ({part.parameters / counted.parameters:.1%}){shared}")
        cells = max(width(tensor.path) for tensor in part.tensors)
        for tensor in part.tensors:
            shape = " × ".join(f"{n:,}" for n in (*((tensor.times,) if tensor.times > 1 else ()), *tensor.shape))
            lines.append(f"    {pad(tensor.path, cells)}  {shape}{'  (shared)' if tensor.shared else ''}")
    return "\n".join(lines)


def _grids(row: Row) -> str:
    """Who attends to whom in a pass over eight tokens."""
    model = on_meta(row.model, config_of(row.model).published(row.sizes[0].name))
    table = getattr(model.embeddings, "token", None)            # an adaptive one has several
    tokens = torch.zeros(1, 8, model.config.hidden_size if table is None else table.embedding_dim, device="meta")
    sides = [name for name in inspect.signature(model.forward).parameters if name.endswith("inputs_embeds")]
    output = model(**dict.fromkeys(sides, tokens))
    lines = [bold("Who attends to whom, bottom to top")]
    stacks = {"layers": output.grids} if output.encoder is None else {
        "encoder layers": output.encoder.grids, "decoder layers": output.grids}  # fmt: skip
    for stack, grids in stacks.items():
        for pattern, alike in groupby(repr(grid.pattern) for grid in grids):
            lines.append(f"  {len(list(alike))} {stack}: {pattern}")
    return "\n".join(lines)
