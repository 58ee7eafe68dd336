"""Rung (b): AWD-LSTM against frozen outputs of fastai 2.8.12 (tests/reference/awdlstm_*.npz; axes in their `meta`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import lmexplain
from lmexplain.models import AwdLstm
from lmexplain.models.awd_lstm import ConcatPooling

from .peers import close

FOLDER = Path(__file__).parent
HEADS = {"lm": "CausalLM", "clf": "SequenceClassification"}


def frozen(name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    with np.load(FOLDER / f"awdlstm_{name}.npz", allow_pickle=False) as file:
        arrays = {key: torch.as_tensor(file[key]) for key in file.files if key != "meta"}
        return arrays, json.loads(str(file["meta"]))


def released(folder: Path, name: str, nested: bool = False) -> Path:
    """A folder with the original's state under its own names, and its configuration as config.json."""
    arrays, meta = frozen(name)
    known = {"emb_sz", "n_hid", "n_layers", "pad_token", "vocab_sz", "embed_p", "hidden_p", "input_p", "output_p",
             "weight_p", "tie_weights", "out_bias", "bidir", "lin_ftrs"}  # fmt: skip
    config = {key: value for key, value in meta["config"].items() if key in known}
    config |= {"model_type": "awd-lstm", "architectures": [f"AwdLstmFor{HEADS[name]}"]}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    state = {key.removeprefix("w/"): value for key, value in arrays.items() if key.startswith("w/")}
    torch.save({"model": state, "opt": {"state": {0: {"step": 3}}}} if nested else state, folder / "lstm_fwd.pth")
    return folder


@pytest.fixture
def lm(tmp_path: Path, verified: Callable[..., None], request: pytest.FixtureRequest) -> AwdLstm:
    verified(AwdLstm, "b", request.node.originalname)
    return lmexplain.load(released(tmp_path, "lm"), model=AwdLstm)


@pytest.fixture
def clf(tmp_path: Path, verified: Callable[..., None], request: pytest.FixtureRequest) -> AwdLstm:
    verified(AwdLstm, "b", request.node.originalname)
    return lmexplain.load(released(tmp_path, "clf"), model=AwdLstm)


def same(output: Any, arrays: Mapping[str, Tensor], at: str) -> None:
    close(output.last_hidden_state, arrays[f"{at}/raw"], f"{at}: states")
    close(output.logits, arrays[f"{at}/logits"], f"{at}: logits")


def test_three_batches_with_carried_state_and_one_after_a_reset(lm: AwdLstm) -> None:
    arrays, _ = frozen("lm")
    state = None
    for b in range(3):
        output = lm(arrays[f"in/b{b}/ids"], state=state)
        same(output, arrays, f"out/eval/b{b}")
        for i, pair in enumerate(output.state):
            for name, x in zip("hc", pair, strict=True):
                close(x, arrays[f"out/eval/b{b}/{name}{i}"][0], f"batch {b}: {name} of layer {i}")
        state = output.state
    same(lm(arrays["in/b1/ids"]), arrays, "out/eval/b1_after_reset")


def only_weights_dropped(model: AwdLstm, drawn: list[Tensor], monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Training in which the entries of state-to-state matrices are dropped that were dropped there, and no others.

    Returns the list in which the matrices that were used appear.
    """
    used: list[Tensor] = []

    def drop(x: Tensor, p: float, *_: Any) -> Tensor:
        assert p == 0.5 and x.dim() == 2
        used.append(x * (drawn[len(used)] != 0) / (1 - p))
        return used[-1]

    model.train()
    model.embeddings.dropout.rate = model.embeddings.words.rate = model.between.rate = 0.0
    model.head.dropout.rate = 0.0  # pyright: ignore
    monkeypatch.setattr(F, "dropout", drop)
    return used


def test_two_calls_in_training_with_weights_dropped(lm: AwdLstm, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, _ = frozen("lm")
    drawn = [arrays[f"out/train/b{b}/weight_hh{i}"] for b in range(2) for i in range(2)]
    used, state = only_weights_dropped(lm, drawn, monkeypatch), None
    for b in range(2):
        output = lm(arrays[f"in/b{b}/ids"], state=state)
        same(output, arrays, f"out/train/b{b}")
        state = output.state
    assert len(used) == 4, "one draw for each layer and call"
    for ours, theirs in zip(used, drawn, strict=True):
        close(ours, theirs, "the matrix that was used")


def test_loss_and_gradients_with_weights_dropped(lm: AwdLstm, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, _ = frozen("lm")
    only_weights_dropped(lm, [arrays[f"out/grad/weight_hh{i}"] for i in range(2)], monkeypatch)
    logits = lm(arrays["in/b0/ids"]).logits
    assert logits is not None
    loss = F.cross_entropy(logits.flatten(0, 1), arrays["in/grad/labels"].flatten())    # of the next batch's ids too
    loss.backward()
    close(loss, arrays["out/grad/loss"], "loss")
    for i, layer in enumerate(lm.layers):
        grad = layer.recurrent.weight.grad  # pyright: ignore
        close(grad, arrays[f"out/grad/rnns.{i}.weight_hh_l0_raw"], f"gradient of layer {i}'s own matrix")  # pyright: ignore
        assert bool((grad[arrays[f"out/grad/weight_hh{i}"] == 0] == 0).all())  # pyright: ignore
    close(lm.embeddings.token.weight.grad, arrays["out/grad/encoder.weight"], "gradient of the tied table")


def test_a_padded_batch_to_pooled_and_classes(clf: AwdLstm) -> None:
    arrays, _ = frozen("clf")
    ids, lengths = arrays["in/ids"], arrays["in/lengths"]
    real = ids != 1
    assert real.sum(1).tolist() == lengths.tolist() and not bool(real[:, 0].all()) and not bool(real[:, -1].all())
    output = clf(ids, real)
    close(output.last_hidden_state, arrays["out/encoder_out"], "states", real)
    pooled = ConcatPooling.pool(output.last_hidden_state, output.state[-1][0], real)
    close(pooled, arrays["out/pooled"], "pooled")
    close(output.logits, arrays["out/logits"], "logits")


def test_plain_end_padding(clf: AwdLstm) -> None:
    """States are the released code's; what is pooled is that of padding in front, where it takes a pad for the last."""
    arrays, _ = frozen("clf")
    ids, ended = arrays["in/end_padded_ids"], ~arrays["out/end_padded/encoder_mask"]
    output = clf(ids, ids != 1)
    assert torch.equal(ended, ids != 1)
    close(output.last_hidden_state, arrays["out/end_padded/encoder_out"], "states", ended)
    pooled = ConcatPooling.pool(output.last_hidden_state, output.state[-1][0], ended)
    close(pooled, arrays["out/pooled"], "pooled")
    close(output.logits, arrays["out/logits"], "logits")
    H = output.last_hidden_state.shape[-1]
    close(pooled[:, H:], arrays["out/end_padded/pooled"][:, H:], "maximum and mean")
    assert not torch.allclose(pooled[:, :H], arrays["out/end_padded/pooled"][:, :H], atol=1e-3), "the fault is theirs"


def test_pooling_alone(verified: Callable[..., None]) -> None:
    verified(AwdLstm, "b", "test_pooling_alone")
    arrays, _ = frozen("clf")
    x, real = arrays["in/pool/x"], ~arrays["in/pool/mask"]
    last = (torch.arange(x.shape[1]) * real).argmax(1)
    close(ConcatPooling.pool(x, x[torch.arange(len(x)), last], real), arrays["out/pool/y"], "pooled")


# ── in and out ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", HEADS)
def test_saved_under_the_original_names(name: str, tmp_path: Path) -> None:
    arrays, _ = frozen(name)
    (tmp_path / "a").mkdir()
    model = lmexplain.load(released(tmp_path / "a", name, nested=True))
    lmexplain.save(model, tmp_path / "b")
    from safetensors.torch import load_file

    saved = load_file(tmp_path / "b" / "model.safetensors")
    expected = {key.removeprefix("w/"): value for key, value in arrays.items() if key.startswith("w/")}
    assert {key for key in expected if "encoder_dp" not in key and key != "1.decoder.weight"} == saved.keys()
    assert all(torch.equal(saved[key], expected[key]) for key in saved)
    config = json.loads((tmp_path / "b" / "config.json").read_text(encoding="utf-8"))
    assert config["n_hid"] == 12 and config["weight_p"] == 0.5 and config["bidir"] is False
    again = lmexplain.load(tmp_path / "b")
    assert all(torch.equal(x, again.state_dict()[key]) for key, x in model.state_dict().items())
