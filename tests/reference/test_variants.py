"""Models whose folders say another's name: opened as what is asked for, saved and opened again exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import lmexplain
from lmexplain.models import (
    Bert,
    BertConfig,
    Model,
    MtDnn,
    MtDnnConfig,
    SpanBert,
    SpanBertConfig,
    UniLm,
    UniLmConfig,
)

from .exact import SIZES
from .peers import drawn


@pytest.mark.parametrize("kind, config, head", [
    (SpanBert, SpanBertConfig(**SIZES), "SpanBoundary"),
    (UniLm, UniLmConfig(**SIZES), "MaskedLM"),
    (MtDnn, MtDnnConfig(**SIZES), "MultiTask"),
], ids=str)  # fmt: skip
def test_own_heads_round_trip(kind: type[Model], config: Any, head: str, tmp_path: Path) -> None:
    model = drawn(kind(config, head)).eval()  # pyright: ignore[reportCallIssue]
    lmexplain.save(model, tmp_path)  # pyright: ignore[reportArgumentType]
    again = lmexplain.load(tmp_path, model=kind)
    assert again.config == config
    assert again.state_dict().keys() == model.state_dict().keys()
    assert all(torch.equal(again.state_dict()[name], x) for name, x in model.state_dict().items())


def test_a_folder_of_another_kind_is_refused(tmp_path: Path) -> None:
    lmexplain.save(Bert(BertConfig(**SIZES)), tmp_path)
    assert type(lmexplain.load(tmp_path)) is Bert
    opened = lmexplain.load(tmp_path, "SpanBoundary", model=SpanBert)
    assert type(opened) is SpanBert
    assert torch.equal(opened.embeddings.token.weight, lmexplain.load(tmp_path).embeddings.token.weight)
    text = (tmp_path / "config.json").read_text().replace('"model_type": "bert"', '"model_type": "else"')
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match="model_type='else'; SpanBert reads 'bert': leave model"):
        lmexplain.load(tmp_path, model=SpanBert)


@pytest.mark.parametrize("kind, config, parameters", [
    (SpanBert, SpanBertConfig.published("spanbert-base-cased"), 108_310_272),
    (SpanBert, SpanBertConfig.published("spanbert-large-cased"), 333_579_264),
    (UniLm, UniLmConfig.published("unilm1-large-cased", type_vocab_size=2), 333_579_264),
    (UniLm, UniLmConfig.published("unilm1-large-cased"), 333_579_264 + 4 * 1024),       # its four more segments
    (MtDnn, MtDnnConfig.published("mt-dnn-large"), 335_141_888),
])  # fmt: skip
def test_published_counts(kind: Any, config: Any, parameters: int) -> None:
    with torch.device("meta"):
        assert sum(p.numel() for p in kind(config).parameters()) == parameters
