"""What the families of RoBERTa, ALBERT and Baidu's ERNIE refuse, and what their folders leave unsaid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import lmexplain
from lmexplain.models import (
    MODELS,
    Albert,
    AlbertConfig,
    Bert,
    BertConfig,
    Config,
    Ernie,
    Ernie2,
    Ernie2Config,
    ErnieConfig,
    Model,
    Roberta,
    RobertaConfig,
    XlmRobertaConfig,
)

SMALL: dict[str, Any] = {
    "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
}  # fmt: skip
IDS = torch.randint(5, 40, (2, 7), generator=torch.Generator().manual_seed(0))


def parameters(model: Model) -> int:
    return sum(p.numel() for p in model.parameters())


def on_meta(name: str, config: Config, head: str | None = None) -> Model:
    with torch.device("meta"):
        return MODELS[name](config, head)  # pyright: ignore[reportCallIssue]


COUNTS = [
    ("roberta", RobertaConfig.published("roberta-base"), None, 124_645_632),
    ("roberta", RobertaConfig.published("roberta-base"), "MaskedLM", 124_697_433),
    ("roberta", RobertaConfig.published("roberta-large"), None, 355_359_744),
    ("roberta", RobertaConfig.published("roberta-large"), "MaskedLM", 355_412_057),
    ("xlm-roberta", XlmRobertaConfig.published("xlm-roberta-base"), None, 278_043_648),
    ("xlm-roberta", XlmRobertaConfig.published("xlm-roberta-base"), "MaskedLM", 278_295_186),
    ("xlm-roberta", XlmRobertaConfig.published("xlm-roberta-large"), None, 559_890_432),
    *(("albert", AlbertConfig.published(f"albert-{size}-v{version}"), None, count) for version in (1, 2) for size, count
      in (("base", 11_683_584), ("large", 17_683_968), ("xlarge", 58_724_864), ("xxlarge", 222_595_584))),
    ("ernie", ErnieConfig.published("ernie-1.0"), None, 99_837_696),
    ("ernie", ErnieConfig.published("ernie-1.0-base-zh"), None, 99_866_112),
    # BERT's count, two segment types more, and three tasks
    ("ernie2", Ernie2Config.published("ernie-2.0-base-en"), None, 109_482_240 + (2 + 3) * 768),
    ("ernie2", Ernie2Config.published("ernie-2.0-large-en"), None, 335_141_888 + (2 + 3) * 1024),
]  # fmt: skip


@pytest.mark.parametrize(("name", "config", "head", "count"), COUNTS)
def test_published_sizes_have_their_published_counts(name: str, config: Config, head: str | None, count: int) -> None:
    assert parameters(on_meta(name, config, head)) == count


def test_the_number_of_heads_leaves_no_trace_in_the_weights() -> None:
    a, b = (on_meta("albert", AlbertConfig.published("albert-xlarge-v2", num_attention_heads=n)) for n in (16, 32))
    assert {n: p.shape for n, p in a.named_parameters()} == {n: p.shape for n, p in b.named_parameters()}


@pytest.mark.parametrize(("layers", "groups"), [(6, 1), (6, 2), (5, 2), (12, 5), (18, 14), (27, 21), (4, 4)])
def test_layers_share_weights_in_the_librarys_order(layers: int, groups: int) -> None:
    sizes = {**SMALL, "num_hidden_layers": layers, "num_hidden_groups": groups, "inner_group_num": 2}
    theirs, ran = transformers.AlbertModel(transformers.AlbertConfig(**sizes)), []
    for i, group in enumerate(theirs.encoder.albert_layer_groups):
        for j, layer in enumerate(group.albert_layers):
            layer.register_forward_pre_hook(lambda *_, place=(i, j): ran.append(place))
    theirs(IDS)
    albert = Albert(AlbertConfig(**sizes))
    places: dict[Any, tuple[int, int]] = {}
    for i, group in enumerate(albert.layers):
        places |= {layer: (i, j) for j, layer in enumerate(group)}  # pyright: ignore[reportArgumentType]
    assert [places[layer] for layer in albert.stack()] == ran
    output = albert(IDS, output_attentions=True)
    assert len(output.grids) == len(output.attentions) == len(output.hidden_states) - 1 == 2 * layers


# ── what config.json says, and does not ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("told", [True, False])
def test_one_model_type_two_ernies(told: bool, tmp_path: Path) -> None:
    ours = Ernie2(Ernie2Config(**SMALL)) if told else Ernie(ErnieConfig(**SMALL))
    lmexplain.save(ours, tmp_path)
    assert type(lmexplain.load(tmp_path)) is type(ours)
    theirs = transformers.AutoModel.from_pretrained(tmp_path)
    assert theirs.config.use_task_id is told and theirs.config.model_type == "ernie"


@pytest.mark.parametrize("kind", ["Albert", "Ernie", "Roberta", "XLMRoberta"])
def test_a_field_left_out_means_what_the_library_takes(kind: str, tmp_path: Path) -> None:
    theirs = getattr(transformers, f"{kind}Config")()
    theirs.save_pretrained(tmp_path)
    said = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    layout = lmexplain.checkpoints.LAYOUTS[said["model_type"]]
    fields = {layout.names.get(name, name) for name in layout.config.__dataclass_fields__}
    bare = layout.read_config({name: value for name, value in said.items() if name not in fields})
    whole = layout.read_config(said)
    assert bare == whole


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────────────────────

ROBERTA = {**SMALL, "max_position_embeddings": 11}


@pytest.mark.parametrize(("make", "says"), [
    (lambda: RobertaConfig(pad_token_id=None), "pad_token_id is None; it must be a token: positions count on from it"),
    (lambda: RobertaConfig(max_position_embeddings=2), "max_position_embeddings is 2; it must be more than the 2 rows"),
    (lambda: AlbertConfig(num_hidden_groups=13), "num_hidden_groups is 13; it must be 1 to the 12 layers"),
    (lambda: AlbertConfig(inner_group_num=0), "inner_group_num is 0; it must be at least 1"),
    (lambda: AlbertConfig(embedding_size=0), "embedding_size is 0; it must be at least 1"),
    (lambda: Ernie2Config(task_type_vocab_size=0), "task_type_vocab_size is 0; it must be at least 1"),
    (lambda: Roberta(RobertaConfig(**ROBERTA))(torch.full((1, 10), 7)), "position_ids holds 11, outside 0 to 10; .*sh"),
    (lambda: Roberta(RobertaConfig(**ROBERTA))(IDS, token_type_ids=torch.ones_like(IDS)),
     "token_type_ids holds 1, outside 0 to 0"),
    (lambda: Albert(AlbertConfig(**SMALL))(inputs_embeds=torch.zeros(1, 7, 16)), r"\(1, 7, 16\); give .*, 128\)"),
    (lambda: Ernie2(Ernie2Config(**SMALL))(IDS, task_type_ids=IDS), "task_type_ids holds .*, outside 0 to 2"),
    (lambda: Ernie2(Ernie2Config(**SMALL))(IDS, task_type_ids=IDS[:, :3] * 0), r"task_type_ids has shape \(2, 3\)"),
])  # fmt: skip
def test_refusals_name_the_value_and_the_limit(make: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


def test_the_longest_text_fits_and_pads_take_no_place() -> None:
    model = Roberta(RobertaConfig(**ROBERTA)).eval()
    padded = torch.cat([torch.full((1, 9), 7), torch.ones(1, 20, dtype=torch.long)], dim=1)
    assert model(padded, attention_mask=padded != 1).last_hidden_state.shape == (1, 29, 16)


# ── multiple choice ───────────────────────────────────────────────────────────────────────────────────────────────


def test_choices_are_sentences_of_their_own() -> None:
    model = Bert(BertConfig(**SMALL), head="MultipleChoice").eval()
    ids = torch.stack([IDS, IDS.flip(1), IDS.flip(0)], dim=1)               # (2, 3, 7)
    output = model(ids, labels=torch.tensor([2, 0]))
    one = torch.stack([model(ids[:, i]).logits[:, 0] for i in range(3)], dim=1)
    assert torch.allclose(output.logits, one, atol=1e-6)
    assert torch.allclose(output.loss, torch.nn.functional.cross_entropy(one, torch.tensor([2, 0])), atol=1e-6)
    embedded = model(inputs_embeds=model.embeddings.token(ids))
    assert torch.allclose(embedded.logits, output.logits, atol=1e-6)
    assert output.last_hidden_state.shape == (6, 7, 16)


@pytest.mark.parametrize(("labels", "says"), [
    (torch.tensor([3, 0]), "labels range from 0 to 3, outside 0 to 2"),
    (torch.tensor([1]), r"labels have shape \(1,\)"),
    (torch.tensor([0.5, 1.0]), "give integers"),
])  # fmt: skip
def test_a_choice_that_is_not_there(labels: torch.Tensor, says: str) -> None:
    model = Bert(BertConfig(**SMALL), head="MultipleChoice")
    with pytest.raises(ValueError, match=says):
        model(torch.stack([IDS] * 3, dim=1), labels=labels)
