"""`load` and `save`: a model from a folder in the Hugging Face layout, and back."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from ..models import Model
from .files import SAFE, Stored, open_folder, read_json
from .layout import Layout, Place
from .layouts import LAYOUTS, layout_meant, layout_of

__all__ = ["load", "save"]

AS_SAVED = "as saved"
M = TypeVar("M", bound=Model)
_SHOWN = 5


def load(
    path_or_name: str | os.PathLike[str], head: str | None = AS_SAVED, dtype: torch.dtype = torch.float32, *,
    model: type[M] = Model, **changes: Any,
) -> M:  # fmt: skip
    """The model of a folder, or of a name at huggingface.co, in evaluation mode.

    The folder holds config.json and the weights, as safetensors or as a pickle of tensors alone, in one file or in
    shards. A name is fetched through `huggingface_hub` and its cache.
    `head`: as config.json names it; or another (or None), whose weights are then drawn anew while the body's are read.
    `model`: a class whose folders say another's model_type, SpanBert (bert); else config.json says which it is.
    `changes`: fields of the configuration to replace, `num_labels=3`.
    Loading is strict: raises ValueError that names what is missing, left over or of another shape, before reading.
    """
    folder = _folder(path_or_name)
    published = read_json(folder / "config.json")
    layout = _layout(published, folder, model)
    saved = layout.head_of(next(iter(published.get("architectures") or [f"{layout.architecture}Model"])))
    wanted = saved if head == AS_SAVED else head
    config = layout.read_config({**published, **{layout.names.get(k, k): v for k, v in changes.items()}})
    with torch.device("meta"):
        made = layout.model(config, wanted)  # pyright: ignore[reportCallIssue]  # models take a head
    stored = _named_anew(open_folder(folder))
    places = _places(layout, made, stored, new_head=wanted != saved)
    _compare(layout, places, made, stored, folder, saved, wanted)
    tensors = {name: place.ours(stored[place.key].read()).to(dtype).contiguous() for name, place in places.items()}
    _check_tied(layout, made, stored, folder)
    _fill(made, tensors, dtype)
    made.published = published
    return made.eval()  # pyright: ignore[reportReturnType]  # the layout's model is of this class


def save(model: Model, folder: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Writes config.json and model.safetensors, which `load` and the transformers library read back.

    Each file is written beside its place and moved there whole. Raises FileExistsError where the folder already holds a
    model, unless `overwrite`.
    """
    folder = Path(folder)
    layout = layout_of(type(model))
    taken = [name for name in ("config.json", SAFE) if (folder / name).exists()]
    if taken and not overwrite:
        raise FileExistsError(f"{folder} already holds {' and '.join(taken)}; choose another folder, or overwrite=True")
    places, pieces = layout.places(model), {}
    for name, parameter in model.named_parameters():
        pieces.setdefault(places[name].key, []).append((places[name], parameter.detach().cpu()))
    tensors = {key: _joined(found) for key, found in pieces.items()}
    for second, first in layout.tied.items():       # an untied bias: other versions of the library read its first name
        if second in tensors and first not in tensors:
            tensors[first] = tensors[second].clone()
    config = {**model.published, **layout.write_config(model.config, model.head_name)}
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, ensure_ascii=False, indent=2) + "\n"
    _move_in(folder / SAFE, lambda path: save_file(tensors, path, metadata={"format": "pt"}))
    _move_in(folder / "config.json", lambda path: path.write_text(text, encoding="utf-8"))
    return folder


def _joined(found: list[tuple[Place, Tensor]]) -> Tensor:
    whole = torch.cat([piece for _, piece in sorted(found, key=lambda x: x[0].part)])
    whole = whole[None] if found[0][0].row else whole
    return (whole.mT if found[0][0].transpose and whole.dim() == 2 else whole).contiguous()


def _move_in(path: Path, write: Any) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        write(Path(name))
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


# ── where the files are ───────────────────────────────────────────────────────────────────────────────────────────


def _folder(path_or_name: str | os.PathLike[str]) -> Path:
    path = Path(path_or_name)
    if path.is_dir():
        return path
    name = os.fspath(path_or_name)
    if path.exists() or path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1 or "\\" in name:
        raise ValueError(f"{name} is not a folder; give the folder that holds config.json and the weights")
    # imported here, since only a name needs it
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        found = Path(snapshot_download(name, allow_patterns=["config.json", "model*.safetensors*"]))
        if not any(found.glob("*.safetensors")):
            found = Path(snapshot_download(name, allow_patterns=["config.json", "pytorch_model*"]))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"{name} is neither a folder nor a model that could be fetched ({reason}); without a network give a folder "
            f"with config.json and model.safetensors"
        ) from None
    return found


def _layout(published: dict[str, Any], folder: Path, model: type[Model]) -> Layout:
    kind = published.get("model_type")
    layout = layout_meant(published) if model is Model else layout_of(model)
    if layout is None or layout.model_type != kind:
        known = ", ".join(LAYOUTS) if layout is None else f"for {model.__name__} {layout.model_type}"
        raise ValueError(f"{folder / 'config.json'} says model_type={kind!r}; known are {known}")
    return layout


# ── strict both ways ──────────────────────────────────────────────────────────────────────────────────────────────


def _named_anew(stored: dict[str, Stored]) -> dict[str, Stored]:
    """Norms of the first released files: gamma and beta are weight and bias."""
    old = {".gamma": ".weight", ".beta": ".bias"}
    return {next((key.removesuffix(a) + b for a, b in old.items() if key.endswith(a)), key): x
            for key, x in stored.items()}  # fmt: skip


def _places(layout: Layout, model: Model, stored: Iterable[str], new_head: bool) -> dict[str, Place]:
    prefix = layout.prefix if any(key.startswith(layout.prefix) for key in stored) else ""
    places = layout.places(model, prefix)
    return {name: place for name, place in places.items() if not (new_head and name.startswith("head."))}


def _compare(
    layout: Layout, places: dict[str, Place], model: Model, stored: dict[str, Stored], folder: Path,
    saved: str | None, wanted: str | None,
) -> None:  # fmt: skip
    """Raises ValueError unless file and model hold the same tensors."""
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    used = {place.key for place in places.values()}
    missing = sorted(used - stored.keys())
    surplus = layout.surplus(stored.keys() - used)
    if wanted != saved:         # the body is read; what the file's own head and pooler hold is not asked for
        body = [key for key in surplus if key.startswith(layout.prefix)]
        surplus = [key for key in body if not key.startswith(f"{layout.prefix}pooler.")]
    wrong = [
        f"{place.key} is {stored[place.key].shape}, the configuration asks for {place.shape(shapes[name])}"
        for name, place in places.items()
        if place.key in stored and stored[place.key].shape != place.shape(shapes[name])
    ]
    for what, found in (("lacks", missing), ("also holds", surplus), ("differs in shape:", wrong)):
        if found:
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise ValueError(
                f"{folder} {what} {', '.join(found[:_SHOWN])}{more}; its config.json says {layout.architecture}"
                f"{layout.ending(saved)}: correct it, or fetch the weights that belong to it"
            )


def _check_tied(layout: Layout, model: Model, stored: dict[str, Stored], folder: Path) -> None:
    if not model.config.tie_word_embeddings:
        return
    for second, first in layout.tied.items():
        if {first, second} <= stored.keys() and not torch.equal(stored[second].read(), stored[first].read()):
            raise ValueError(
                f"{folder}: {second} differs from {first}, but config.json ties them; "
                f'set "tie_word_embeddings": false there'
            )


def _fill(model: Model, tensors: dict[str, Tensor], dtype: torch.dtype) -> None:
    """Gives a model without memory its tensors; what is shared or frozen stays so, what is new is drawn."""
    made = {
        id(old): nn.Parameter(tensors.get(name, torch.empty(old.shape, dtype=dtype)), old.requires_grad)
        for name, old in model.named_parameters()
    }
    for module in model.modules():
        for name, old in module._parameters.items():
            if old is not None:
                module._parameters[name] = made[id(old)]
    own = {id(parameter): name for name, parameter in model.named_parameters() if name.startswith("head.")}
    if model.head is not None and own.values() - tensors.keys():
        body = [(p, p.detach().clone()) for p in model.head.parameters() if id(p) not in own]
        model.head.apply(_default)
        model.head.apply(model.init_weights)
        for parameter, value in body:               # the token table, drawn along with the decoder tied to it
            parameter.data.copy_(value)


def _default(module: nn.Module) -> None:
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()  # pyright: ignore[reportCallIssue]
