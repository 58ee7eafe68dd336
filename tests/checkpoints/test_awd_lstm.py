"""AWD-LSTM's published files: fastai's of three generations, whole or the encoder alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import lmexplain
from lmexplain.checkpoints.layout import tensors_of
from lmexplain.checkpoints.layouts import layout_of

from ..models.tiny import tiny, tokens


def written(folder: Path, head: str | None, found: Any, name: str, **fields: Any) -> Path:
    """A folder of one file of weights and a config.json."""
    folder.mkdir(exist_ok=True)
    config = layout_of(type(tiny("awd-lstm"))).write_config(tiny("awd-lstm").config, head)
    (folder / "config.json").write_text(json.dumps({**config, **fields}), encoding="utf-8")
    torch.save(found, folder / name)
    return folder


def state(head: str | None) -> dict[str, Tensor]:
    """A tiny model's tensors under fastai's names, the tied ones twice."""
    model = tiny("awd-lstm", head).float()
    places = layout_of(type(model)).places(model)
    found = {places[name].key: x.detach() for name, x in tensors_of(model).items()}
    table = next(name for name in found if name.endswith("encoder.weight"))
    found[table.replace("encoder.", "encoder_dp.emb.")] = found[table]
    return found | ({"1.decoder.weight": found[table]} if head == "CausalLM" else {})


def first_generation(found: dict[str, Tensor]) -> dict[str, Tensor]:
    """fwd_wt103.h5: other places for two tensors, and no bias of the decoder."""
    found = {name.replace("weight_hh_l0_raw", "module.weight_hh_l0_raw"): x for name, x in found.items()}
    return {name.replace("encoder_dp.emb", "encoder_with_dropout.embed"): x for name, x in found.items()
            if name != "1.decoder.bias"}  # fmt: skip


def test_three_generations_of_files(tmp_path: Path) -> None:
    ours, found = tiny("awd-lstm", "CausalLM").float(), state("CausalLM")
    own = {name: x for name, x in found.items() if name.endswith("_raw")}
    stale = {name.replace("weight_hh_l0_raw", "module.weight_hh_l0"): x * 0 for name, x in own.items()}
    files: dict[str, tuple[str, Any, dict[str, Any]]] = {
        "first": ("fwd_wt103.h5", first_generation(found), {"out_bias": False}),
        "second": ("lstm_wt103.pth", {**found, **stale}, {}),
        "third": ("lstm_fwd.pth", {"model": found, "opt": {"hypers": [{"lr": 1e-3}]}}, {}),
    }
    for name, (file, tensors, fields) in files.items():
        again = lmexplain.load(written(tmp_path / name, "CausalLM", tensors, file, **fields))
        for key, x in again.state_dict().items():
            assert torch.equal(x, ours.state_dict()[key]), (name, key)
        bias = ours.head.decoder.bias if name == "first" else 0.0  # pyright: ignore
        assert torch.allclose(again(tokens(2, 7)).logits + bias, ours(tokens(2, 7)).logits, atol=1e-6), name


def test_an_encoder_alone_and_a_head_over_it(tmp_path: Path) -> None:
    folder = written(tmp_path, None, state(None), "encoder.pth")
    body = lmexplain.load(folder)
    classifier = lmexplain.load(folder, "SequenceClassification")
    for model in (body, classifier):
        for name, x in tiny("awd-lstm").float().state_dict().items():
            assert torch.equal(model.state_dict()[name], x), name
    norm = classifier.head.blocks[0][0]  # pyright: ignore
    assert norm.running_var.eq(1).all() and norm.running_mean.eq(0).all() and norm.num_batches_tracked == 0
    assert torch.isfinite(classifier(tokens(2, 7)).logits).all()


def test_an_encoder_out_of_a_language_model_becomes_a_classifier_and_back(tmp_path: Path) -> None:
    classifier = lmexplain.load(written(tmp_path / "lm", "CausalLM", state("CausalLM"), "lstm_fwd.pth"),
                                "SequenceClassification", num_labels=4)  # fmt: skip
    classifier.train()(tokens(3, 7))                    # batch norm gathers
    lmexplain.save(classifier, tmp_path / "clf")
    again = lmexplain.load(tmp_path / "clf")
    assert again.state_dict().keys() == classifier.state_dict().keys()
    assert all(torch.equal(x, again.state_dict()[name]) for name, x in classifier.state_dict().items())
    for model in (again, lmexplain.load(tmp_path / "clf", dtype=torch.float64)):
        counted = model.head.blocks[0][0].num_batches_tracked  # pyright: ignore
        assert counted == 1 and counted.dtype == torch.int64, "a count stays a whole number"
    lm = lmexplain.load(tmp_path / "clf", "CausalLM")
    assert torch.equal(lm.embeddings.token.weight, classifier.embeddings.token.weight)


def test_what_is_not_whole_or_not_clear_is_refused(tmp_path: Path) -> None:
    def refused(says: str) -> None:
        with pytest.raises(ValueError, match=says):
            lmexplain.load(tmp_path)

    found = state("CausalLM")
    written(tmp_path, "CausalLM", {**found, "0.encoder_dp.emb.weight": found["0.encoder.weight"] + 1}, "lstm_fwd.pth")
    refused(r"0\.encoder_dp\.emb\.weight differs from 0\.encoder\.weight")
    written(tmp_path, "CausalLM", {**found, "0.rnns.3.module.bias_hh_l0": torch.zeros(3)}, "lstm_fwd.pth")
    refused(r"also holds 0\.rnns\.3\.module\.bias_hh_l0")
    written(tmp_path, "CausalLM", {k: x for k, x in found.items() if "rnns.1.weight_hh" not in k}, "lstm_fwd.pth")
    refused(r"lacks 0\.rnns\.1\.weight_hh_l0_raw")
    written(tmp_path, "CausalLM", found, "lstm_fwd.pth", n_hid=10)
    refused(r"differs in shape: 0\.rnns\.0\.module\.weight_ih_l0 is \(96, 16\), the configuration asks for \(40, 16\)")
    written(tmp_path, "CausalLM", found, "lstm_fwd.pth", bidir=True)
    refused("bidir=True; lmexplain's AwdLstm knows False")
    written(tmp_path, "CausalLM", {"model": [1, 2]}, "lstm_fwd.pth")
    refused("does not hold tensors by name")
    written(tmp_path, "CausalLM", found, "lstm_bwd.pth")
    refused(r"holds 2 files of weights, lstm_bwd\.pth, lstm_fwd\.pth; keep the one to be read")
    with pytest.raises(FileExistsError, match="lstm_bwd.pth"):
        lmexplain.save(tiny("awd-lstm"), tmp_path)
    for file in tmp_path.glob("*.pth"):
        file.unlink()
    refused(r"neither model\.safetensors nor pytorch_model\.bin, whole or in shards, nor \*\.pth, nor \*\.h5; fetch")
