"""XLNet against a loop of its definition: in float64, and where the library spreads what sees nothing over all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers

import lmexplain
from lmexplain.models import XLNet, XLNetConfig

from .exact import exact, released, same
from .naive import xlnet as naive

ORDER = [3, 0, 5, 1, 4, 2]
RANK = torch.tensor(ORDER).argsort()
TARGETS = [3, 2, 4]         # the first of the order, which sees nothing, the last and the last but one
IDS = torch.tensor([[4, 8, 8, 1, 0, 6], [9, 2, 3, 5, 7, 1]])
SEGMENTS = torch.tensor([[0, 0, 1, 1, 1, 2], [1, 1, 1, 0, 0, 0]])


@pytest.mark.parametrize("behind", [0, 3], ids=["no memory", "a memory"])
@pytest.mark.parametrize("bi_data", [False, True], ids=["ahead", "half of a batch backwards"])
def test_both_streams_equal_a_naive_loop(behind: int, bi_data: bool) -> None:
    config = XLNetConfig(vocab_size=11, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
                         pad_token_id=None, bi_data=bi_data)  # fmt: skip
    model = exact(XLNet(config))
    memory = torch.randn(2, behind, 2, 8, generator=torch.Generator().manual_seed(behind), dtype=torch.float64)
    hides = (RANK[:, None] <= RANK[None]).expand(2, -1, -1)
    output = model(IDS, mems=tuple(memory) if behind else None, perm_mask=hides, token_type_ids=SEGMENTS,
                   target_mapping=torch.eye(6)[TARGETS].expand(2, -1, -1))  # fmt: skip
    for b in range(2):
        h, g = naive.streams(
            released(model), IDS[b].tolist(), SEGMENTS[b].tolist(), list(memory[:, :, b]),
            lambda i, j: bool(RANK[j] < RANK[i]), TARGETS, layers=2, eps=config.layer_norm_eps,
            backwards=bi_data and b == 1,
        )  # fmt: skip
        for level in range(3):
            same(output.hidden_states[level][b], h[level], f"text {b}, level {level}")
            same(output.query_states[level][b], g[level], f"queries of text {b}, level {level}")


def test_a_folder_that_leaves_out_a_length_means_the_library_s(tmp_path: Path) -> None:
    model = XLNet(XLNetConfig(vocab_size=11, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                              intermediate_size=12, mem_len=None))  # fmt: skip
    config = lmexplain.save(model, tmp_path) / "config.json"
    assert lmexplain.load(tmp_path).config.mem_len is None          # null is said: all
    said = json.loads(config.read_text(encoding="utf-8"))
    del said["mem_len"]
    config.write_text(json.dumps(said), encoding="utf-8")
    theirs = transformers.AutoConfig.from_pretrained(tmp_path)
    assert lmexplain.load(tmp_path).config.mem_len == theirs.mem_len
