"""Files of tensors, opened without reading them whole and without running what is in them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

__all__ = ["SAFE", "WEIGHTS", "Stored", "open_folder", "others_of", "read_json"]

SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
#: Every file by which a folder holds weights.
WEIGHTS = (SAFE, f"{SAFE}.index.json", PICKLED, f"{PICKLED}.index.json")


class Stored(NamedTuple):
    """A tensor in a file: its shape, and how to read it."""

    shape: tuple[int, ...]
    read: Callable[[], Tensor]


def read_json(path: Path) -> dict[str, Any]:
    """Raises ValueError where the file is missing or is not a JSON object."""
    if not path.is_file():
        raise ValueError(f"{path.parent} has no {path.name}; give a folder in the Hugging Face layout")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON ({error}); fetch it again") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds {type(found).__name__}, not an object; fetch it again")
    return found


def open_folder(folder: Path, others: Sequence[str] = ()) -> dict[str, Stored]:
    """The tensors of a folder by name: safetensors if there are some, else a weights-only pickle; in shards or one.
    Where there is neither, the one file that fits one of the patterns `others`, a pickle too.

    Raises ValueError for files that are missing, cut short, or that hold anything but tensors.
    """
    for name, opened in ((SAFE, _safe), (PICKLED, _pickled)):
        if (folder / name).is_file():
            return opened(folder / name)
        index = folder / f"{name}.index.json"
        if index.is_file():
            return _shards(folder, read_json(index), opened)
    found = sorted(path for pattern in others for path in folder.glob(pattern))
    if len(found) == 1:
        return _pickled(found[0], "model")
    if found:
        names = ", ".join(path.name for path in found)
        raise ValueError(f"{folder} holds {len(found)} files of weights, {names}; keep the one to be read")
    raise ValueError(f"{folder} has neither {SAFE} nor {PICKLED}, whole or in shards"
                     f"{''.join(f', nor {pattern}' for pattern in others)}; fetch the weights")  # fmt: skip


def others_of(folder: Path) -> list[Path]:
    """The files by which a folder holds weights beside model.safetensors: pickles, indices and shards."""
    names = [name for name in WEIGHTS if name != SAFE]
    shards = [f"{Path(name).stem}-*-of-*{Path(name).suffix}" for name in (SAFE, PICKLED)]
    return [path for pattern in (*names, *shards) for path in folder.glob(pattern)]


def _shards(folder: Path, index: Mapping[str, Any], opened: Callable[[Path], dict[str, Stored]]) -> dict[str, Stored]:
    places = index.get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(shard, str) for shard in places.values()):
        raise ValueError(f"{folder}: the index has no weight_map of names to files; fetch it again")
    shards = sorted(set(places.values()))
    absent = [shard for shard in shards if Path(shard).name != shard or not (folder / shard).is_file()]
    if absent:
        raise ValueError(f"{folder} lacks {len(absent)} of {len(shards)} shards: {', '.join(absent)}; fetch them again")
    tensors = {name: stored for shard in shards for name, stored in opened(folder / shard).items()}
    lost = sorted(places.keys() - tensors.keys())
    if lost:
        raise ValueError(f"{folder}: the index names {len(lost)} tensors that no shard holds, {lost[0]} among them")
    return tensors


def _safe(path: Path) -> dict[str, Stored]:
    try:
        file = safe_open(path, framework="pt")
        return {key: Stored(tuple(file.get_slice(key).get_shape()), lambda k=key: file.get_tensor(k))
                for key in file.keys()}  # noqa: SIM118  # fmt: skip
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is no whole safetensors file ({error}); fetch it again") from None


def _pickled(path: Path, within: str | None = None) -> dict[str, Stored]:
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError, AttributeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"{path} is not a pickle of tensors alone ({reason}); nothing in it was run: "
            f"take the safetensors file, or fetch it again"
        ) from None
    if isinstance(found, Mapping) and isinstance(found.get(within), Mapping):
        found = found[within]               # beside an optimizer's state
    if not isinstance(found, Mapping) or not all(isinstance(x, Tensor) for x in found.values()):
        raise ValueError(f"{path} does not hold tensors by name; take the model's own pytorch_model.bin")
    return {str(key): Stored(tuple(value.shape), lambda v=value: v) for key, value in found.items()}
