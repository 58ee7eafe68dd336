"""`load` and `save`: a model from a folder in the Hugging Face layout, and back."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from ..models import Model
from .files import SAFE, WEIGHTS, Stored, open_folder, others_of, read_json
from .layout import Layout, Place, tensors_of
from .layouts import LAYOUTS, layout_meant, layout_of

__all__ = ["load", "save"]

AS_SAVED = "as saved"
_FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
M = TypeVar("M", bound=Model)
_SHOWN = 5


def load(
    path_or_name: str | os.PathLike[str], head: str | None = AS_SAVED, dtype: torch.dtype = torch.float32, *,
    model: type[M] = Model, pooler: bool = True, **changes: Any,
) -> M:  # fmt: skip
    """The model of a folder, or of a name at huggingface.co, in evaluation mode.

    The folder holds config.json and the weights, as safetensors or as a pickle of tensors alone, in one file or in
    shards, or in a file of the name that it was published under (fastai's `lstm_fwd.pth`). A name is fetched through
    `huggingface_hub` and its cache.
    `head`: as config.json names it; or another (or None), whatever is named there. Another's weights are read where
    the file holds them (a file of BERT's pretraining has those of MaskedLM; DeBERTa's name no head at all); else they,
    and a pooler that is not there, are drawn anew.
    `model`: a class whose folders say another's model_type, SpanBert (bert); else config.json says which it is.
    `pooler`: False where the file holds an encoder without its pooler.
    `changes`: fields of the configuration to replace, `num_labels=3`.
    Loading is strict: raises ValueError that names what is missing, left over or of another shape, before reading.
    Published files hold more than they name, and less than other heads ask for. A UserWarning names what is not read:
    a pooler, or another head of the same family; where you ask for another head than the file's, what no head of this
    family has. And it names what is drawn anew, to be trained before its answers mean anything.
    """
    if dtype not in _FLOATS:
        raise ValueError(f"dtype is {dtype!r}; give one of {', '.join(map(str, _FLOATS))}")
    folder = _folder(path_or_name)
    published = read_json(folder / "config.json")
    layout = _layout(published, folder, model)
    named = _architecture(published, layout)
    saved = layout.head_of(named) if head == AS_SAVED else layout.architectures().get(named, named)
    wanted = saved if head == AS_SAVED else head
    config = layout.read_config(published, changes)
    if not pooler and not layout.model.has_pooler:
        raise ValueError(f"{layout.model.__name__} has no pooler to do without; leave pooler=False out")
    with torch.device("meta"):
        without = {} if pooler else {"pooler": False}
        made = layout.model(config, wanted, **without)  # pyright: ignore[reportCallIssue]  # models take a head
    stored = _named_anew(open_folder(folder, layout.files), layout, folder)
    if config.tie_word_embeddings:
        stored = _under_first_names(stored, layout)
    places = _places(layout, made, stored, saved)
    left = _compare(layout, places, made, stored, folder, saved, named)
    said = f"{layout.architecture}{layout.ending(wanted)}"
    if left:
        warnings.warn(f"{folder} also holds {_some(left)}, for which {said} has no part; not read", stacklevel=2)
    new = sorted(name for name, _ in made.named_parameters() if name not in places)
    if new:
        warnings.warn(f"{folder} holds nothing for {_some(new)} of {said}; drawn anew, to be trained", stacklevel=2)
    _check_tied(layout, made, stored, folder)
    shapes = tensors_of(made)
    tensors = {
        name: _as(place.ours(_numbers(folder, place.key, stored, shapes[name])), dtype).contiguous()
        for name, place in places.items()
    }
    _fill(made, tensors, dtype)
    made.published = published
    return made.eval()  # pyright: ignore[reportReturnType]  # the layout's model is of this class


def save(model: Model, folder: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Writes config.json and model.safetensors, which `load` and the transformers library read back.

    Both are first written whole beside their places. An interruption leaves what was there or, between the two, a
    folder without config.json, which nobody takes for a model: never new weights under an old one's sizes. Raises
    FileExistsError where the folder already holds a model, unless `overwrite`; then shards and pickles of the old one
    go, too.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; give a folder to save into")
    layout = layout_of(type(model))
    if any(tensor.is_meta for tensor in tensors_of(model).values()):
        raise ValueError("the model is on the meta device, where tensors hold no numbers; load or train it first")
    taken = [path.name for pattern in ("config.json", *WEIGHTS, *layout.files) for path in folder.glob(pattern)]
    if taken and not overwrite:
        raise FileExistsError(f"{folder} already holds {' and '.join(taken)}; choose another folder, or overwrite=True")
    places, pieces = layout.places(model), {}
    for name, parameter in tensors_of(model).items():
        pieces.setdefault(places[name].key, []).append((places[name], parameter.detach().cpu()))
    tensors = {key: Place.whole(found) for key, found in pieces.items()}
    for second, first in layout.tied.items():       # an untied bias: other versions of the library read its first name
        if second in tensors and first not in tensors:
            tensors[first] = tensors[second].clone()
    config = {**layout.stated(), **model.published, **layout.write_config(model.config, model.head_name)}
    if len(model.published.get("id2label") or ()) == model.config.num_labels:       # the classes keep their names
        config.update({key: model.published[key] for key in ("id2label", "label2id") if key in model.published})
    config["dtype"] = str(next(model.parameters()).dtype).removeprefix("torch.")
    config.pop("torch_dtype", None)                                                 # its name in older files
    text = json.dumps(config, ensure_ascii=False, indent=2) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as new:
        save_file(tensors, Path(new, SAFE), metadata={"format": "pt"})
        Path(new, "config.json").write_text(text, encoding="utf-8")
        shutil.copymode(Path(new, "config.json"), Path(new, SAFE))      # safetensors writes for the owner alone
        Path(folder, "config.json").unlink(missing_ok=True)
        for name in (SAFE, "config.json"):
            os.replace(Path(new, name), folder / name)
        for path in others_of(folder):
            path.unlink(missing_ok=True)
    return folder


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
    if layout is None or kind not in (layout.model_type, *layout.older_types):
        known = (f"known are {', '.join(LAYOUTS)}" if layout is None
                 else f"{model.__name__} reads {layout.model_type!r}: leave model=… out")  # fmt: skip
        raise ValueError(f"{folder / 'config.json'} says model_type={kind!r}; {known}")
    return layout


def _architecture(published: dict[str, Any], layout: Layout) -> str:
    named = published.get("architectures") or [f"{layout.architecture}Model"]
    return str(named[0] if isinstance(named, list) else named)


# ── strict both ways ──────────────────────────────────────────────────────────────────────────────────────────────


def _named_anew(stored: dict[str, Stored], layout: Layout, folder: Path) -> dict[str, Stored]:
    """Names of today; in norms of the first released files gamma and beta are weight and bias."""
    old, found = {".gamma": ".weight", ".beta": ".bias"}, {}
    for key, x in stored.items():
        name = layout.named_today(next((key.removesuffix(a) + b for a, b in old.items() if key.endswith(a)), key))
        if name in found:
            raise ValueError(f"{folder} holds {name} twice, under an older name too; remove one of them")
        found[name] = x
    return found


def _under_first_names(stored: dict[str, Stored], layout: Layout) -> dict[str, Stored]:
    """A tied tensor that a file holds under its second name alone stands for the first, as the library reads it."""
    for second, first in layout.tied.items():
        if second in stored and stored.keys().isdisjoint((first, first.removeprefix(layout.prefix))):
            stored = {first if key == second else key: x for key, x in stored.items()}
    return stored


def _numbers(folder: Path, key: str, stored: dict[str, Stored], ours: Tensor) -> Tensor:
    """A tensor as it is stored. Raises ValueError where it holds other numbers than ours, quantised ones."""
    found = stored[key].read()
    if found.is_complex() or found.is_floating_point() != ours.is_floating_point():
        raise ValueError(f"{folder}: {key} holds {found.dtype}; fetch weights that are stored as floats")
    return found


def _places(layout: Layout, model: Model, stored: Collection[str], saved: str | None) -> dict[str, Place]:
    """Where the tensors to be read stand. A head or pooler that the file need not and does not hold has none."""
    prefix = _prefix(layout, stored)
    places = layout.places(model, prefix)
    if model.head_name == saved:
        return places
    held = saved is None or _nested(layout, model.head_name, saved)
    for part in ("head.", "pooler."):
        own = {name: place for name, place in places.items() if name.startswith(part)}
        if any(place.key not in stored for place in own.values()) or (part == "head." and not held):
            places = {name: place for name, place in places.items() if name not in own}
    if model.head is None and not any(name.startswith("pooler.") for name in places):
        model.pooler = None
    return places


def _prefix(layout: Layout, stored: Collection[str]) -> str:
    known = sorted({layout.prefix, *layout.prefixes.values()}, key=len, reverse=True)
    return next((prefix for prefix in known if any(key.startswith(prefix) for key in stored)), "")


def _nested(layout: Layout, one: str | None, other: str | None) -> bool:
    """Is one of the heads a part of the other, as MaskedLM is of PreTraining? Equal names alone tell nothing."""
    a, b = (set(layout.heads.get(head or "", {}).values()) for head in (one, other))
    return bool(a and b) and (a < b or b < a)


def _compare(
    layout: Layout, places: dict[str, Place], model: Model, stored: dict[str, Stored], folder: Path, saved: str | None,
    named: str,
) -> list[str]:  # fmt: skip
    """Raises ValueError unless file and model hold the same tensors, a pooler or other heads apart: those are given."""
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors_of(model).items()}
    used, prefix = {place.key for place in places.values()}, _prefix(layout, stored)
    missing = sorted(used - stored.keys())
    left = layout.surplus(stored.keys() - used)
    surplus = [key for key in left if not layout.elsewhere(key, prefix)]
    if model.head_name != saved:        # the body is read; a head of any kind may have stood there
        left, surplus = surplus, [key for key in surplus if key.startswith(prefix)]
    wrong = [
        f"{place.key} is {stored[place.key].shape}, the configuration asks for {place.shape(shapes[name])}"
        for name, place in places.items()
        if place.key in stored and stored[place.key].shape != place.shape(shapes[name])
    ]
    for what, found in (("lacks", missing), ("also holds", surplus), ("differs in shape:", wrong)):
        if found:
            without = found is missing and all(".pooler." in f".{key}" for key in missing)
            raise ValueError(
                f"{folder} {what} {_some(found)}{' (load it with pooler=False)' if without else ''}; its config.json "
                f"says {named}: correct it, or fetch the weights that belong to it"
            )
    return left


def _some(names: list[str]) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


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
    made = {id(old): nn.Parameter(torch.empty(old.shape, dtype=dtype), old.requires_grad) for old in model.parameters()}
    for module in model.modules():
        for name, old in module._parameters.items():
            if old is not None:
                module._parameters[name] = made[id(old)]
        for name, old in module._buffers.items():
            if old is not None:
                module._buffers[name] = _as(torch.empty_like(old, device="cpu"), dtype)
    for part in ("head", "pooler"):
        module = getattr(model, part)
        if module is not None and not any(name.startswith(f"{part}.") for name in tensors):
            module.apply(_default)
            module.apply(model.init_weights)
    for name, new in tensors_of(model).items():     # last: a new head's tied decoder was drawn over the token table
        if name in tensors:
            new.data = tensors[name]


def _as(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Counts stay whole numbers."""
    return x.to(dtype) if x.is_floating_point() else x


def _default(module: nn.Module) -> None:
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()  # pyright: ignore[reportCallIssue]
