"""A folder that is not whole, or not what it says: an error that names it and the remedy, and nothing is run."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import lmexplain
from lmexplain.checkpoints import LAYOUTS

from ..models.tiny import tiny

WEIGHTS, CONFIG = "model.safetensors", "config.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole tiny BERT for masked tokens."""
    return lmexplain.save(tiny("bert", "MaskedLM").float(), tmp_path / "bert")


def edited(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """The folder with another config.json."""
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    (folder / CONFIG).write_text(json.dumps(change(config) or config), encoding="utf-8")
    return folder


def reweighted(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> Path:
    """The folder with other tensors."""
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)
    return folder


def pickled(folder: Path, found: Any, **options: Any) -> Path:
    """The folder with a pickle instead of its safetensors."""
    (folder / WEIGHTS).unlink(missing_ok=True)
    torch.save(found, folder / "pytorch_model.bin", **options)
    return folder


def refused(folder: Path | str, says: str, **options: Any) -> None:
    with pytest.raises(ValueError, match=says):
        lmexplain.load(folder, **options)


# ── half a folder ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_config(folder: Path) -> None:
    (folder / CONFIG).unlink()
    refused(folder, r"has no config\.json; give a folder in the Hugging Face layout")


def test_no_weights(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    refused(folder, r"neither model\.safetensors nor pytorch_model\.bin, whole or in shards; fetch the weights")


def test_not_a_folder(folder: Path) -> None:
    for wrong in (folder / WEIGHTS, folder / "nothing", "./nothing", "~/nothing", "a/b/c", r"a\b"):
        refused(wrong, "is not a folder; give the folder that holds config.json and the weights")


def sharded(folder: Path) -> Path:
    """The folder with its weights in two shards."""
    tensors = load_file(folder / WEIGHTS)
    names = sorted(tensors)
    halves = {"model-1.safetensors": names[::2], "model-2.safetensors": names[1::2]}
    for file, half in halves.items():
        save_file({name: tensors[name] for name in half}, folder / file)
    (folder / WEIGHTS).unlink()
    index(folder, {name: file for file, half in halves.items() for name in half})
    return folder


def index(folder: Path, places: Any) -> None:
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps({"weight_map": places}), encoding="utf-8")


def test_shards_are_read(folder: Path) -> None:
    whole = lmexplain.load(folder).state_dict()
    again = lmexplain.load(sharded(folder)).state_dict()
    assert all(torch.equal(again[name], whole[name]) for name in whole)


def test_a_missing_shard(folder: Path) -> None:
    (sharded(folder) / "model-2.safetensors").unlink()
    refused(folder, r"lacks 1 of 2 shards: model-2\.safetensors; fetch them again")


def test_an_index_that_names_absent_tensors(folder: Path) -> None:
    places = json.loads((sharded(folder) / f"{WEIGHTS}.index.json").read_text(encoding="utf-8"))["weight_map"]
    index(folder, {**places, "bert.nothing": "model-1.safetensors"})
    refused(folder, "the index names 1 tensors that no shard holds, bert.nothing among them")


@pytest.mark.parametrize("places", [None, [], {"a": 1}, {"a": ["model-1.safetensors"]}])
def test_an_index_without_a_map(folder: Path, places: Any) -> None:
    index(sharded(folder), places)
    refused(folder, "the index has no weight_map of names to files; fetch it again")


@pytest.mark.parametrize("way", ["../outside.safetensors", "sub/../../outside.safetensors", "{absolute}", ".."])
def test_shards_stay_in_the_folder(folder: Path, way: str) -> None:
    outside = folder.parent / "outside.safetensors"
    outside.write_bytes((folder / WEIGHTS).read_bytes())
    names = list(load_file(folder / WEIGHTS))
    (folder / WEIGHTS).unlink()
    index(folder, dict.fromkeys(names, way.format(absolute=outside)))
    refused(folder, "lacks 1 of 1 shards")


# ── files cut short, files of other things ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("share", [0, 0.0001, 0.01, 0.5, 0.999])
def test_truncated_safetensors(folder: Path, share: float) -> None:
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(data[: int(len(data) * share)])
    refused(folder, r"model\.safetensors is no whole safetensors file \(.*\); fetch it again")


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("old", [False, True])
def test_a_truncated_pickle(folder: Path, share: float, old: bool) -> None:
    pickled(folder, load_file(folder / WEIGHTS), _use_new_zipfile_serialization=not old)
    data = (folder / "pytorch_model.bin").read_bytes()
    (folder / "pytorch_model.bin").write_bytes(data[: int(len(data) * share)])
    refused(folder, r"pytorch_model\.bin is not a pickle of tensors alone")


def test_any_byte_of_a_pickle_may_be_wrong(folder: Path) -> None:
    """Read or refused; no other error."""
    pickled(folder, load_file(folder / WEIGHTS), _use_new_zipfile_serialization=False)
    file = folder / "pytorch_model.bin"
    data, generator = file.read_bytes(), torch.Generator().manual_seed(0)
    for place in torch.randint(0, 3000, (120,), generator=generator).tolist():
        file.write_bytes(data[:place] + bytes([data[place] ^ 0xA5]) + data[place + 1 :])
        try:
            lmexplain.load(folder)
        except ValueError as error:
            assert "pytorch_model.bin" in str(error) or "bert" in str(error)


@pytest.mark.parametrize("text", ["", "not a pickle", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"])
def test_a_file_of_something_else(folder: Path, text: str) -> None:
    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_text(text, encoding="utf-8")
    refused(folder, "is not a pickle of tensors alone")
    (folder / WEIGHTS).write_text(text, encoding="utf-8")
    refused(folder, "is no whole safetensors file")


class Runs:
    """Its pickle, opened by a careless reader, makes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("old", [False, True])
def test_a_pickle_that_runs_code_runs_nothing(folder: Path, tmp_path: Path, old: bool) -> None:
    mark = tmp_path / "was here"
    tensors: dict[str, Any] = load_file(folder / WEIGHTS)
    pickled(folder, {**tensors, "bad": Runs(mark)}, _use_new_zipfile_serialization=not old)
    refused(folder, r"is not a pickle of tensors alone \(.*\); nothing in it was run: take the safetensors file")
    assert not mark.exists()
    torch.load(folder / "pytorch_model.bin", weights_only=False)
    assert mark.exists(), "the same file does run where pickles may"


def test_a_bare_pickle_that_runs_code_runs_nothing(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "was here"
    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Runs(mark)))
    refused(folder, "nothing in it was run")
    assert not mark.exists()


@pytest.mark.parametrize("found", [
    [torch.zeros(2)], torch.zeros(2), {"state_dict": {"a": torch.zeros(2)}}, {"epoch": 3}, 7, None,
], ids=repr)  # fmt: skip
def test_a_pickle_of_other_things(folder: Path, found: Any) -> None:
    refused(pickled(folder, found), r"does not hold tensors by name; take the model's own pytorch_model\.bin")


def test_a_pickle_of_objects(folder: Path) -> None:
    refused(pickled(folder, torch.nn.Linear(2, 2)), "is not a pickle of tensors alone")


def test_a_bomb_of_zeros_is_not_unpacked(folder: Path) -> None:
    """A shape in the header that the file cannot hold."""
    (folder / WEIGHTS).unlink()
    header = b'{"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}}'
    (folder / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header)
    refused(folder, "is no whole safetensors file")


# ── tensors that do not belong ────────────────────────────────────────────────────────────────────────────────────

NORM = "bert.encoder.layer.0.output.LayerNorm.weight"


def test_a_missing_tensor(folder: Path) -> None:
    refused(reweighted(folder, lambda tensors: tensors.pop(NORM)),
            rf"lacks {NORM}; its config.json says BertForMaskedLM: correct it, or fetch")  # fmt: skip


def test_a_surplus_tensor(folder: Path) -> None:
    refused(reweighted(folder, lambda tensors: tensors.update({"bert.other": torch.zeros(2)})),
            "also holds bert.other;")  # fmt: skip


def test_tensors_of_another_shape(folder: Path) -> None:
    refused(reweighted(folder, lambda tensors: tensors.update({NORM: torch.zeros(2)})),
            rf"differs in shape: {NORM} is \(2,\), the configuration asks for \(16,\)")  # fmt: skip


@pytest.mark.parametrize("kind", [torch.int8, torch.complex64])
def test_numbers_of_another_kind(folder: Path, kind: torch.dtype) -> None:
    name = "bert.embeddings.word_embeddings.weight"
    reweighted(folder, lambda x: x.update({name: x[name].to(kind)}))
    refused(folder, rf"{name} holds {kind}; fetch weights that are stored as floats")


def test_a_tensor_under_its_old_and_its_new_name(folder: Path) -> None:
    name = "bert.embeddings.LayerNorm.weight"
    reweighted(folder, lambda x: x.update({"bert.embeddings.LayerNorm.gamma": x[name] + 1}))
    refused(folder, f"holds {name} twice, under an older name too; remove one of them")


def test_many_are_counted_and_some_are_named(folder: Path) -> None:
    refused(edited(folder, lambda config: config.update(num_hidden_layers=4)),
            r"lacks bert\.encoder\.layer\.3\.\S+(, bert\.encoder\.layer\.3\.\S+){4} and 11 more;")  # fmt: skip


# ── configurations ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("text", "says"), [
    ("[1, 2]", "holds list, not an object; fetch it again"),
    ("7", "holds int, not an object"),
    ("{", "is not JSON"),
    ("", "is not JSON"),
    ("[" * 100_000, "is not JSON"),
    ("{}", r"model_type=None; known are .*bert"),
    ('{"model_type": "mamba"}', r"model_type='mamba'; known are .*bert"),
    ('{"model_type": ["bert"]}', r"model_type=\['bert'\]; known are .*bert"),
])  # fmt: skip
def test_a_config_that_says_nothing_known(folder: Path, text: str, says: str) -> None:
    (folder / CONFIG).write_text(text, encoding="utf-8")
    refused(folder, says)


def test_a_config_in_another_encoding(folder: Path) -> None:
    (folder / CONFIG).write_bytes(b'{"model_type": "\xff"}')
    refused(folder, "is not JSON")


@pytest.mark.parametrize("named", [["BertForNothing"], "BertForNothing", [3], {"a": 1}])
def test_an_unknown_architecture(folder: Path, named: Any) -> None:
    refused(edited(folder, lambda config: config.update(architectures=named)), "architecture.*known are BertModel, ")


@pytest.mark.parametrize("named", [[], None, "BertModel"])
def test_without_a_head_in_its_architecture_it_is_the_model_itself(folder: Path, named: Any) -> None:
    refused(edited(folder, lambda config: config.update(architectures=named)), "its config.json says BertModel")


FIXED = [(kind, name) for kind, layout in LAYOUTS.items() for name in layout.fixed]


@pytest.mark.parametrize(("kind", "name"), FIXED)
def test_what_a_model_does_not_have_is_refused_by_name(kind: str, name: str, tmp_path: Path) -> None:
    tmp_path.joinpath(CONFIG).write_text(json.dumps({"model_type": kind, name: "something else"}), encoding="utf-8")
    refused(tmp_path, f"config.json says {name}='something else'; lmexplain's {LAYOUTS[kind].architecture} knows")


@pytest.mark.parametrize(("field", "value", "says"), [
    ("num_attention_heads", 3, "hidden_size is 16; it must be a multiple of the 3 heads"),
    ("num_hidden_layers", 0, "num_hidden_layers is 0; it must be at least 1"),
    ("hidden_size", "16", "hidden_size is '16'; give int"),
    ("hidden_size", 16.5, r"hidden_size is 16\.5; give int"),
    ("layer_norm_eps", "small", "layer_norm_eps is 'small'; give float"),
    ("tie_word_embeddings", "no", "tie_word_embeddings is 'no'; give bool"),
    ("hidden_act", "swoosh", "no activation 'swoosh'; choose one of"),
    ("hidden_act", 7, "hidden_act is 7; give str"),
])  # fmt: skip
def test_a_field_that_cannot_be(folder: Path, field: str, value: Any, says: str) -> None:
    refused(edited(folder, lambda config: config.update({field: value})), says)


def test_changes_are_fields_and_a_dtype_is_of_floats(folder: Path) -> None:
    refused(folder, "BertConfig has no num_lables", num_lables=3)
    refused(folder, "position_embedding_type='relative_key'", position_embedding_type="relative_key")
    for odd, named in ((torch.int8, "torch.int8"), ("float16", "'float16'"), (torch.float8_e5m2, "torch.float8_e5m2")):
        refused(folder, f"dtype is {named}; give one of torch.float32, ", dtype=odd)
    refused(folder, "no head 'Nothing'; choose one of", head="Nothing")


# ── names and the network ─────────────────────────────────────────────────────────────────────────────────────────

ASKS = """
import time, lmexplain
start = time.perf_counter()
try:
    lmexplain.load({name!r})
except ValueError as error:
    print(error, "|", time.perf_counter() - start)
"""


@pytest.mark.parametrize("offline", ["0", "1"])
def test_a_name_without_a_network_says_how_to_go_on_and_soon(offline: str, tmp_path: Path) -> None:
    environment = {**os.environ, "HF_HUB_OFFLINE": offline, "TRANSFORMERS_OFFLINE": offline, "HF_HOME": str(tmp_path)}
    code = ASKS.format(name="nobody/no-such-model")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8",
                         env=environment, cwd=Path(__file__).parents[2])  # fmt: skip
    said, _, took = run.stdout.rpartition("|")
    assert "neither a folder nor a model that could be fetched" in said, run.stderr
    assert "without a network give a folder with config.json and model.safetensors" in said
    assert float(took) < 20


def test_a_name_that_cannot_be_one(folder: Path) -> None:
    start = time.perf_counter()
    refused(Path("no such model!"), "neither a folder nor a model")
    assert time.perf_counter() - start < 5


def test_the_pickle_of_a_zip_is_no_zip_of_something_else(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as file:
        file.writestr("hello.txt", "hello")
    refused(folder, "is not a pickle of tensors alone")
