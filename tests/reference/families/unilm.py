"""UniLM's network is BERT with six segments: under its two-sided setting the library has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers

from lmexplain.models import UniLm

from ..peers import Case, batches, token_labels
from .bert import LONGEST, V, config


def inputs() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, batch in batches(V, LONGEST, left=True):
        segments = (torch.arange(batch["input_ids"].shape[1]) % 6).expand_as(batch["input_ids"])
        yield name, {**batch, "token_type_ids": segments}


CASES = [
    Case("unilm", lambda: transformers.BertModel(
        config(type_vocab_size=6, layer_norm_eps=1e-5)), inputs, model=UniLm),
    Case("unilm for masked tokens", lambda: transformers.BertForMaskedLM(
        config(type_vocab_size=6, layer_norm_eps=1e-5, num_hidden_layers=1)), inputs, token_labels(V), model=UniLm),
]  # fmt: skip
