"""Rung (a) of the ladder: each family equals the transformers library's, number for number, and round trips exactly.

One test for all: a family is a file of cases in `families/`.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import lmexplain

from . import families
from .peers import Case, drawn, same_gradients, same_outputs, states_of

MODULES = [importlib.import_module(f"{families.__name__}.{m.name}") for m in pkgutil.iter_modules(families.__path__)]
CASES = [case for module in MODULES for case in getattr(module, "CASES", [])]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_matches_reference(case: Case, tmp_path: Path, verified: Callable[..., None]) -> None:
    theirs = drawn(case.reference()).eval()
    theirs.train(case.training)
    theirs.save_pretrained(tmp_path / "theirs")
    ours = lmexplain.load(tmp_path / "theirs", model=case.model)
    verified(type(ours), "a", case)
    for _, batch in case.batches():
        targets, where = case.targets(batch), case.compared(batch)
        a = ours(**batch, **targets, output_attentions=True)
        b = theirs(**batch, **targets, output_hidden_states=True, output_attentions=True)
        case.as_ours(batch, b)
        same_outputs(a, b, where)
        for model, output in ((ours, a), (theirs, b)):
            model.zero_grad()
            loss = getattr(output, "loss", None)
            if loss is None:
                kept = states_of(output)[-1] if where is None else states_of(output)[-1][where]
                loss = kept.square().sum(-1).mean()             # of one position's scale, as losses of tokens are
            loss.backward()
        same_gradients(ours, theirs)
        faster = ours(**batch, **targets)                       # without weights: the fused way
        weights = {name: getattr(a, name)
                   for name in ("attentions", "cross_attentions", "query_attentions", "encoder")}  # fmt: skip
        same_outputs(replace(faster, **weights), b, where)


@pytest.mark.parametrize("case", [case for case in CASES if case.cached], ids=str)
def test_in_pieces_from_a_cache_it_is_the_same(
    case: Case, tmp_path: Path, verified: Callable[..., None]
) -> None:  # fmt: skip
    """One token, then three, then the rest: each piece equals its part of the reference's one pass."""
    theirs = drawn(case.reference()).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    ours = lmexplain.load(tmp_path / "theirs")
    verified(type(ours), "a", case)
    for _, batch in case.batches():
        T, past = batch["input_ids"].shape[1], None
        whole = theirs(**batch, output_hidden_states=True, output_attentions=True)
        for first, last in itertools.pairwise(sorted({0, min(1, T), min(4, T), T})):
            piece = {name: x[:, :last] if name == "attention_mask" else x[:, first:last] for name, x in batch.items()}
            output = ours(**piece, past_key_values=past, use_cache=True, output_attentions=True)
            past, where = output.past_key_values, case.compared(batch)
            expected = SimpleNamespace(
                hidden_states=[x[:, first:last] for x in whole.hidden_states],
                attentions=[x[:, :, first:last, :last] for x in whole.attentions],
                logits=whole.logits[:, first:last] if "logits" in whole else None,
            )
            same_outputs(output, expected, None if where is None else where[:, first:last])


@pytest.mark.parametrize("case", [case for case in CASES if case.memory], ids=str)
def test_segment_after_segment_with_a_memory_it_is_the_same(
    case: Case, tmp_path: Path, verified: Callable[..., None]
) -> None:  # fmt: skip
    """Three segments of one text, the last two as long as half of the first; what is kept is compared too."""
    theirs = drawn(case.reference()).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    ours = lmexplain.load(tmp_path / "theirs")
    verified(type(ours), "a", case)
    for _, batch in case.batches():
        a: Any = SimpleNamespace(mems=None)
        b: Any = SimpleNamespace(mems=None)
        for length in (1.0, 0.5, 0.5):
            T = max(1, int(batch["input_ids"].shape[1] * length))
            part = {name: x[(slice(None),) + (slice(T),) * (x.dim() - 1)] for name, x in batch.items()}
            if "target_mapping" in part:                        # those that stand in this segment, at least one
                whole = batch["target_mapping"][..., :T]
                part["target_mapping"] = whole[:, :1] * 0 + torch.eye(T)[T - 1]
            if part.keys() & {"attention_mask", "input_mask"}:
                continue                                        # padding inside a memory is nobody's case
            where = case.compared(part)
            a = ours(**part, mems=a.mems, output_attentions=True)
            b = theirs(**part, mems=b.mems, use_mems=True, output_hidden_states=True, output_attentions=True)
            same_outputs(a, b, where)
            assert len(a.mems) == len(b.mems)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_library_reads_what_we_save(case: Case, tmp_path: Path) -> None:
    theirs = drawn(case.reference()).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    lmexplain.save(lmexplain.load(tmp_path / "theirs", model=case.model), tmp_path / "ours")
    again, report = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
    report["missing_keys"] -= {*case.computed}
    assert not any(report.values()), report
    for name, value in theirs.state_dict().items():
        assert name in case.unread or torch.equal(again.state_dict()[name], value), name
    assert again.config.to_diff_dict().keys() >= theirs.config.to_diff_dict().keys() - {"dtype", "attn_implementation"}
