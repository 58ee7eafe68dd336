"""UniLM's settings and its writing against their loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

import lmexplain
from lmexplain.models import Bert, BertConfig, UniLm, UniLmConfig
from lmexplain.models.unilm import setting

from .exact import HEADS, LAYERS, SIZES, V, exact, released, same, texts
from .naive import bert as naive_bert
from .naive import unilm as naive_unilm
from .peers import close, drawn


@pytest.mark.parametrize("name", ["bidirectional", "left-to-right", "right-to-left", "sequence-to-sequence"])
def test_unilm_settings(name: str) -> None:
    """Each setting with a source of its own length in each text, and padding."""
    model = exact(UniLm(UniLmConfig(**SIZES), "MaskedLM"))
    found, ids, mask = texts(9, 7, 2)
    first = [4, 6, 1]
    output = model(ids, mask, **setting(name, 9, first))
    w, eps = released(model), 1e-5
    for b, (text, source) in enumerate(zip(found, first, strict=True)):
        told = naive_unilm.segments(name, source, len(text))
        allowed = naive_unilm.rule(name, source)
        states = naive_bert.encode(w, text, told, layers=LAYERS, heads=HEADS, eps=eps, allowed=allowed)
        for i, expected in enumerate(states):
            same(output.hidden_states[i][b, : len(text)], expected, f"{name}, text {b}, level {i}")
        same(output.logits[b, : len(text)], [naive_bert.cloze(w, x, eps) for x in states[-1]], f"{name}, text {b}")


@pytest.mark.parametrize("name", ["left-to-right", "right-to-left", "sequence-to-sequence"])
def test_unilm_settings_in_the_library(name: str, tmp_path: Path) -> None:
    """The library's BERT under the same table of who sees whom."""
    config = transformers.BertConfig(**SIZES, type_vocab_size=6, layer_norm_eps=1e-5, attn_implementation="eager")
    theirs = drawn(transformers.BertForMaskedLM(config)).eval()
    theirs.save_pretrained(tmp_path)
    model = lmexplain.load(tmp_path, model=UniLm)
    _, ids, mask = texts(9, 7, 4)
    first = [4, 6, 2]
    given = setting(name, 9, first)
    output = model(ids, mask, **given, output_attentions=True)
    seen = torch.tensor([[[naive_unilm.rule(name, n)(q, k) for k in range(9)] for q in range(9)] for n in first])
    added = torch.where(seen & mask[:, None], 0.0, -1e9)                # the library adds a table to the scores
    expected = theirs(ids, added[:, None], given["token_type_ids"], output_hidden_states=True)
    for a, b in zip(output.hidden_states, expected.hidden_states, strict=True):
        close(a, b, name, mask)
    close(output.logits, expected.logits, name, mask)


def test_unilm_writes() -> None:
    """A padded batch, with a cache and without, writes what the loop writes for each text alone."""
    model = exact(UniLm(UniLmConfig(**SIZES), "MaskedLM"))
    found, ids, mask = texts(6, 3, 1, seed=3)
    told: dict[str, Any] = {"mask": 4, "most": 7, "layers": LAYERS, "heads": HEADS, "eps": 1e-5}
    free = [naive_unilm.write(released(model), text, end=-1, **told) for text in found]
    assert len({tuple(target) for target in free}) == 3 and all(len(set(target)) > 1 for target in free)
    end = free[0][3]                                         # so that the first text ends early
    expected = [naive_unilm.write(released(model), text, end=end, **told) for text in found]
    left = torch.tensor([[*[0] * (6 - len(text)), *text] for text in found])
    for sources, real in ((ids, mask), (left, mask.flip(1))):
        for cache in (True, False):
            whole = model.generate(
                sources, real, mask_token_id=4, eos_token_id=end, max_new_tokens=7, use_cache=cache
            )  # fmt: skip
            written = whole[:, 6:]
            assert torch.equal(whole[:, :6], sources)
            assert written.tolist() == [target + [0] * (written.shape[1] - len(target)) for target in expected]


def test_unilm_keeps_no_mask_in_its_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys a step goes on from are those of a pass over source and chosen tokens alone."""
    model = exact(UniLm(UniLmConfig(**SIZES), "MaskedLM"))
    _, ids, _ = texts(5)
    steps, step = [], UniLm.step

    def watched(self: UniLm, tokens: Tensor, real: Tensor, source: int, past: Any) -> Any:
        steps.append((tokens, past))
        return step(self, tokens, real, source, past)

    monkeypatch.setattr(UniLm, "step", watched)
    written = model.generate(ids, mask_token_id=4, max_new_tokens=4)
    assert [tokens.shape[1] for tokens, _ in steps] == [6, 2, 2, 2] and all(tokens[0, -1] == 4 for tokens, _ in steps)
    for n, (_, past) in enumerate(steps[1:], 1):
        clean = written[:, : 5 + n]
        _, expected = step(model, clean, torch.ones_like(clean, dtype=torch.bool), 5, None)
        for (k, v), (their_k, their_v) in zip(past, expected, strict=True):
            same(k[0, 0], list(their_k[0, 0, :-1]), "keys")             # the newest token is read in the step itself
            same(v[0, 0], list(their_v[0, 0, :-1]), "values")


def test_unilm_refuses() -> None:
    model, (_, ids, mask) = exact(UniLm(UniLmConfig(**SIZES), "MaskedLM")), texts(6, 3)
    for given, message in (
        ({"max_new_tokens": 11}, "no more in all than the 16 places"),
        ({"max_new_tokens": 0}, "ask for a whole number, at least 1"),
        ({"mask_token_id": V}, f"mask_token_id is {V}"),
    ):
        with pytest.raises(ValueError, match=message):
            model.generate(ids, mask, **{"mask_token_id": 4, **given})
    with pytest.raises(ValueError, match='needs head "MaskedLM", not None'):
        UniLm(UniLmConfig(**SIZES)).generate(ids, mask_token_id=4)
    with pytest.raises(ValueError, match="training mode"):
        model.train().generate(ids, mask_token_id=4)
    with pytest.raises(ValueError, match="no setting 'seq2seq'"):
        setting("seq2seq", 5)


@pytest.mark.parametrize("first", [0, 9, [3, 9]])
def test_unilm_s_first_segment_is_some_of_the_text(first: Any) -> None:
    with pytest.raises(ValueError, match=r"first is .*; the first segment holds 1 to all 5"):
        setting("sequence-to-sequence", 5, first)


def test_unilm_starts_from_bert() -> None:
    bert = exact(Bert(BertConfig(**SIZES), "MaskedLM"))
    model = UniLm.from_bert(bert)
    table = model.embeddings.segment.weight
    assert torch.equal(table, bert.embeddings.segment.weight[[0, 1, 0, 0, 0, 1]])
    assert model.config.layer_norm_eps == 1e-5 and not model.training
    assert torch.equal(model.head.decoder.weight, bert.embeddings.token.weight)
