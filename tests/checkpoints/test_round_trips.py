"""In and out again: types, shards, old names, tied tensors, other heads; and a save that is whole or not at all."""

from __future__ import annotations

import json
import os
import stat
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

import lmexplain
from lmexplain.checkpoints import LAYOUTS
from lmexplain.checkpoints import folder as folder_module
from lmexplain.checkpoints.layouts import VARIANTS, layout_of
from lmexplain.models import MODELS, Model
from tests.reference.peers import drawn, same_outputs

from ..models.tiny import given, takes, tiny, tokens

CONFIG, WEIGHTS = "config.json", "model.safetensors"
EMBEDDED = "bert.embeddings.word_embeddings.weight"
KNOWN = [layout.model for layout in (*LAYOUTS.values(), *VARIANTS)]
SAVED = [(model, head) for model in KNOWN for head in (None, *model.heads)]


def same(a: Model, b: Model) -> None:
    assert a.state_dict().keys() == b.state_dict().keys() and a.config == b.config and a.head_name == b.head_name
    for name, value in a.state_dict().items():
        assert torch.equal(value, b.state_dict()[name]), name


def named(model: type[Model]) -> str:
    return next(name for name, known in MODELS.items() if known is model)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(("model", "head"), SAVED)
def test_every_head_of_every_model_comes_back(
    model: type[Model], head: str | None, dtype: torch.dtype, tmp_path: Path
) -> None:  # fmt: skip
    ours = tiny(named(model), head, **layout_of(model).implied).to(dtype)
    again = lmexplain.load(lmexplain.save(ours, tmp_path / "a"), dtype=dtype, model=model)
    same(ours, again)
    assert json.loads((tmp_path / "a" / CONFIG).read_text(encoding="utf-8"))["dtype"] == str(dtype).split(".")[1]
    assert not any(value.isnan().any() for value in again.state_dict().values())
    assert all(value.dtype == dtype for value in again.state_dict().values() if value.is_floating_point())
    same(again, lmexplain.load(lmexplain.save(again, tmp_path / "b"), dtype=dtype, model=model))
    for shared in (ours, again):        # what is one tensor before is one after
        assert len(list(shared.parameters())) == len({p.data_ptr() for p in shared.parameters()})
    with torch.no_grad():
        output = again(**given(again, tokens(2, 7), attention_mask=torch.tensor([[1] * 7, [1] * 4 + [0] * 3])))
    assert all(torch.isfinite(state).all() for state in output.hidden_states)


@pytest.mark.parametrize(
    ("model", "head"), [(layout.model, head) for layout in LAYOUTS.values() for head in (None, *layout.model.heads)]
)  # fmt: skip
def test_the_library_computes_the_same_from_a_model_that_was_made_here(
    model: type[Model], head: str | None, tmp_path: Path
) -> None:  # fmt: skip
    """No published config.json stands behind it: ours states all that the library has another default for."""
    layout = layout_of(model)
    name = layout.architecture + layout.ending(head)
    if not hasattr(transformers, name):
        pytest.skip(f"the library has no {name}")
    sizes = {"intermediate_size": 64, "num_labels": 2}      # 4 H, since the library's GPT and XLM know no other width
    ours = tiny(named(model), head, **sizes, **layout.implied).float()
    folder = lmexplain.save(ours, tmp_path / "ours")
    theirs = getattr(transformers, name).from_pretrained(folder, attn_implementation="eager").eval()
    arguments = given(ours, tokens(2, 3, 7) if head == "MultipleChoice" else tokens(1, 7))
    if takes(ours, "global_attention_mask"):        # else the library's looks for three separators
        arguments["global_attention_mask"] = torch.arange(7)[None] == 0
    with torch.no_grad():
        a, b = ours(**arguments), theirs(**arguments, output_hidden_states=True)
    b.attentions = b.decoder_attentions = b.encoder_attentions = b.cross_attentions = ()    # they have their own test
    encoder = None if a.encoder is None else replace(a.encoder, attentions=())
    same_outputs(replace(a, attentions=(), cross_attentions=(), encoder=encoder), b, None)


def bert(head: str = "MaskedLM", **changes: Any) -> Any:
    config = transformers.BertConfig(vocab_size=37, hidden_size=16, num_hidden_layers=3, num_attention_heads=2,
                                     intermediate_size=24, max_position_embeddings=23, **changes)  # fmt: skip
    return drawn(getattr(transformers, f"BertFor{head}" if head else "BertModel")(config)).eval()


def tensors(model: Any) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def written(folder: Path, theirs: Any, found: dict[str, Tensor]) -> Path:
    theirs.config.architectures = [type(theirs).__name__]
    folder.mkdir(exist_ok=True)
    theirs.config.save_pretrained(folder)
    save_file(found, folder / WEIGHTS)
    return folder


def logits(model: Any) -> Tensor:
    with torch.no_grad():
        return model(input_ids=tokens(2, 7)).logits


def close(ours: Model, theirs: Any) -> bool:
    return torch.allclose(logits(ours), logits(theirs), atol=1e-5)


def test_shards_that_the_library_writes(tmp_path: Path) -> None:
    theirs = bert()
    theirs.save_pretrained(tmp_path, max_shard_size="8KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    assert close(lmexplain.load(tmp_path), theirs)


def test_a_pickle_whole_and_in_shards(tmp_path: Path) -> None:
    """As older versions of the library wrote them."""
    theirs = bert()
    written(tmp_path, theirs, {"a": torch.zeros(1)})
    (tmp_path / WEIGHTS).unlink()
    found = tensors(theirs)
    torch.save(found, tmp_path / "pytorch_model.bin")
    assert close(lmexplain.load(tmp_path), theirs)
    (tmp_path / "pytorch_model.bin").unlink()
    places = {name: f"pytorch_model-0000{i % 3 + 1}-of-00003.bin" for i, name in enumerate(found)}
    for shard in set(places.values()):
        torch.save({name: value for name, value in found.items() if places[name] == shard}, tmp_path / shard)
    index = {"metadata": {}, "weight_map": places}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert close(lmexplain.load(tmp_path), theirs)


def test_names_of_the_first_released_files(tmp_path: Path) -> None:
    """gamma and beta; places that were stored; the pooler and the pair's head beside a model of masked tokens."""
    theirs, whole = bert(), bert("PreTraining")
    found = tensors(whole)
    theirs.load_state_dict({name: found[name] for name in theirs.state_dict()})
    old = {}
    for name, value in found.items():
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        old[name] = value
    old["bert.embeddings.position_ids"] = torch.arange(23)[None]
    folder = written(tmp_path, theirs, old)
    with pytest.warns(UserWarning, match=r"also holds bert\.pooler"):
        assert close(lmexplain.load(folder), theirs)
    both = lmexplain.load(folder, head="PreTraining")
    with torch.no_grad():
        a, b = both(tokens(2, 7)), whole(tokens(2, 7))
    assert torch.allclose(a.logits, b.prediction_logits, atol=1e-5), "the file has this head's weights: they are read"
    assert torch.allclose(a.seq_relationship_logits, b.seq_relationship_logits, atol=1e-5)


def test_tied_tensors_may_be_stored_twice_if_they_are_equal(tmp_path: Path) -> None:
    theirs = bert()
    found = tensors(theirs)
    assert torch.equal(found["cls.predictions.decoder.weight"], found[EMBEDDED])
    folder = written(tmp_path, theirs, found)
    assert close(lmexplain.load(folder), theirs)
    found["cls.predictions.decoder.weight"][3, 3] += 1
    written(tmp_path, theirs, found)
    with pytest.raises(ValueError, match=r'but config\.json ties them; set "tie_word_embeddings": false there'):
        lmexplain.load(folder)
    untied = lmexplain.load(folder, tie_word_embeddings=False)
    assert torch.equal(untied.state_dict()["head.decoder.weight"], found["cls.predictions.decoder.weight"])


@pytest.mark.parametrize("saved", [None, "MaskedLM", "TokenClassification"])
@pytest.mark.parametrize("head", [None, *MODELS["bert"].heads])
def test_another_head_is_new_and_the_body_is_kept(saved: str | None, head: str | None, tmp_path: Path) -> None:
    ours = tiny("bert", saved).float()
    folder = lmexplain.save(ours, tmp_path / "a")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        other = lmexplain.load(folder, head=head)
    new = [name for name, _ in other.named_parameters() if name.startswith(("head.", "pooler."))]
    kept = ours.state_dict()
    said = [name for name in new if name not in kept or not torch.equal(other.state_dict()[name], kept[name])]
    assert len(found) == (1 if said else 0), "what is drawn anew is said once"
    assert all(name in str(found[0].message) for name in sorted(said)[:5])
    assert other.head_name == head and all(torch.isfinite(p).all() for p in other.parameters())
    for name, value in other.state_dict().items():
        if name.startswith(("embeddings.", "layers.")):
            assert torch.equal(value, ours.state_dict()[name]), name
    if (saved, head) == ("TokenClassification", "SequenceClassification"):       # both are called `classifier`
        assert not torch.equal(other.state_dict()["head.dense.weight"], ours.state_dict()["head.dense.weight"])
    if head is None and saved is not None:
        assert other.pooler is None, "the file has none, and a random one would say nothing"
    if head is not None and other.head is not None and other.head.pooled:
        assert other.pooler is not None
    same(other, lmexplain.load(lmexplain.save(other, tmp_path / "b"))) if head else None


def test_an_encoder_without_its_pooler_is_asked_for(tmp_path: Path) -> None:
    theirs = drawn(transformers.BertModel(bert().config, add_pooling_layer=False)).eval()
    theirs.save_pretrained(tmp_path / "a")
    with pytest.raises(ValueError, match=r"lacks pooler.dense.bias, pooler.dense.weight \(load it with pooler=False\)"):
        lmexplain.load(tmp_path / "a")
    ours = lmexplain.load(tmp_path / "a", pooler=False)
    ids = torch.tensor([[5, 6, 7]])
    assert ours.pooler is None and torch.allclose(ours(ids).last_hidden_state, theirs(ids).last_hidden_state, atol=1e-5)


def test_numbers_for_several_labels_are_refused_by_name(tmp_path: Path) -> None:
    bert("SequenceClassification", num_labels=3, problem_type="regression").save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="problem_type='regression' with 3 labels"):
        lmexplain.load(tmp_path)


def test_a_new_head_has_the_classes_asked_for_and_may_have_replaced_another(tmp_path: Path) -> None:
    theirs = bert("SequenceClassification", num_labels=4)
    theirs.config.id2label = {0: "north", 1: "east", 2: "south", 3: "west"}
    theirs.config.label2id = {name: i for i, name in theirs.config.id2label.items()}
    theirs.save_pretrained(tmp_path / "theirs")
    four = lmexplain.load(tmp_path / "theirs")
    assert close(four, theirs) and logits(four).shape == (2, 4)
    lmexplain.save(four, tmp_path / "ours")
    again = transformers.BertForSequenceClassification.from_pretrained(tmp_path / "ours")
    assert again.config.id2label == theirs.config.id2label, "classes keep their names"
    two = lmexplain.load(tmp_path / "theirs", head="TokenClassification", num_labels=2)
    assert logits(two).shape == (2, 7, 2)
    lmexplain.save(two, tmp_path / "two")
    written_config = json.loads((tmp_path / "two" / CONFIG).read_text(encoding="utf-8"))
    assert written_config["id2label"] == {"0": "LABEL_0", "1": "LABEL_1"}
    with pytest.raises(ValueError, match="differs in shape: classifier"):
        lmexplain.load(tmp_path / "theirs", num_labels=2)


def test_half_weights_in_a_file_that_says_so_leave_as_what_they_are(tmp_path: Path) -> None:
    bert().half().save_pretrained(tmp_path / "theirs")
    ours = lmexplain.load(tmp_path / "theirs")
    assert next(ours.parameters()).dtype == torch.float32
    lmexplain.save(ours, tmp_path / "ours")
    again = transformers.BertForMaskedLM.from_pretrained(tmp_path / "ours")
    assert again.dtype == torch.float32


# ── saving ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("taken", [CONFIG, WEIGHTS, f"{WEIGHTS}.index.json", "pytorch_model.bin"])
def test_save_does_not_overwrite_unasked(taken: str, tmp_path: Path) -> None:
    (tmp_path / taken).write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match=f"already holds {taken}; choose another folder, or overwrite=True"):
        lmexplain.save(tiny("bert"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [taken]
    lmexplain.save(tiny("bert"), tmp_path, overwrite=True)
    same(tiny("bert").float(), lmexplain.load(tmp_path))


def test_what_a_published_file_holds_beyond_its_name_is_said(tmp_path: Path) -> None:
    """bert-base-uncased names MaskedLM, and holds the pooler and the head of sentence pairs too."""
    theirs = transformers.BertForPreTraining(bert().config)
    theirs.config.architectures = ["BertForMaskedLM"]
    folder = written(tmp_path, theirs, tensors(theirs))
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8")) | {"architectures": ["BertForMaskedLM"]}
    (folder / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    with pytest.warns(UserWarning, match=r"also holds bert\.pooler\..* cls\.seq_relationship\.weight, for which Bert"):
        lmexplain.load(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lmexplain.load(folder, head=None)
        lmexplain.load(folder, head="PreTraining")
    save_file({**load_file(folder / WEIGHTS), "adapter.weight": torch.ones(2)}, folder / WEIGHTS)
    with pytest.raises(ValueError, match=r"also holds adapter\.weight; its config\.json says BertForMaskedLM"):
        lmexplain.load(folder)
    with pytest.warns(UserWarning, match=r"also holds adapter\.weight, for which BertModel has no part; not read"):
        lmexplain.load(folder, head=None)


def test_a_body_under_a_head_that_is_not_known(tmp_path: Path) -> None:
    theirs = drawn(transformers.XLMForQuestionAnswering(transformers.XLMConfig(
        vocab_size=37, emb_dim=16, n_layers=2, n_heads=2, max_position_embeddings=23))).eval()  # fmt: skip
    theirs.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="'XLMForQuestionAnswering'; known are XLMModel, .*: load it with head=None"):
        lmexplain.load(tmp_path)
    with pytest.warns(UserWarning, match=r"also holds qa_outputs\..*, for which XLMModel has no part; not read"):
        body = lmexplain.load(tmp_path, head=None)
    expected = theirs.transformer(tokens(2, 7)).last_hidden_state
    assert torch.allclose(body(tokens(2, 7)).last_hidden_state, expected, atol=1e-5)
    with pytest.warns(UserWarning, match="holds nothing for head.dense.bias, head.dense.weight of XLMForTokenClass"):
        lmexplain.load(tmp_path, head="TokenClassification")
    (tmp_path / WEIGHTS).unlink()
    found = {name: x for name, x in tensors(theirs).items() if name != "transformer.embeddings.weight"}
    save_file(found, tmp_path / WEIGHTS)
    with pytest.raises(ValueError, match=r"lacks transformer\.embeddings\.weight; .* says XLMForQuestionAnswering"):
        lmexplain.load(tmp_path, head=None)


@pytest.mark.parametrize("way", ["library", "shards", "pickle"])
def test_overwriting_leaves_no_file_of_the_old_weights(way: str, tmp_path: Path) -> None:
    theirs = bert()
    theirs.save_pretrained(tmp_path, max_shard_size="2KB" if way == "shards" else "1GB")
    (tmp_path / "notes.bin").write_text("mine", encoding="utf-8")
    if way == "pickle":
        (tmp_path / WEIGHTS).unlink()
        torch.save(theirs.state_dict(), tmp_path / "pytorch_model.bin")
    ours = tiny("bert", "MaskedLM").float()
    lmexplain.save(ours, tmp_path, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CONFIG, WEIGHTS, "notes.bin"]
    same(ours, lmexplain.load(tmp_path))


@pytest.mark.parametrize("second", ["cls.predictions.decoder.bias", "cls.predictions.decoder.weight"])
def test_a_tied_tensor_may_stand_under_its_second_name_alone(second: str, tmp_path: Path) -> None:
    """safetensors' own save_model keeps whichever name comes first in the alphabet."""
    theirs = bert()
    found = {name: x for name, x in tensors(theirs).items() if name not in (EMBEDDED, "cls.predictions.bias")}
    kept = {EMBEDDED, "cls.predictions.bias"} - {LAYOUTS["bert"].tied[second]}
    folder = written(tmp_path, theirs, {**found, **{name: theirs.state_dict()[name] for name in kept}})
    assert close(lmexplain.load(folder), theirs)
    assert close(lmexplain.load(folder), transformers.BertForMaskedLM.from_pretrained(folder).eval())


@pytest.mark.parametrize("named", ["unilm", None])
def test_folders_of_a_model_s_own_code_say_its_name_or_nothing(named: str | None, tmp_path: Path) -> None:
    ours = tiny("unilm", "MaskedLM").float()
    config = json.loads((lmexplain.save(ours, tmp_path) / CONFIG).read_text(encoding="utf-8"))
    config = {**config, "model_type": named} if named else {k: v for k, v in config.items() if k != "model_type"}
    (tmp_path / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    same(ours, lmexplain.load(tmp_path, model=type(ours)))
    if named:
        same(ours, lmexplain.load(tmp_path))
    else:
        with pytest.raises(ValueError, match="says model_type=None; known are"):
            lmexplain.load(tmp_path)
    with pytest.raises(ValueError, match=f"says model_type={named!r}; Roberta reads 'roberta': leave"):
        lmexplain.load(tmp_path, model=MODELS["roberta"])


@pytest.mark.parametrize("when", ["weights", "config"])
def test_an_interrupted_save_leaves_what_was_there(when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lmexplain.save(tiny("bert", "MaskedLM"), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def half(found: Any, path: Path, **_: Any) -> None:
        Path(path).write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        if when == "weights":
            patch.setattr(folder_module, "save_file", half)
        else:
            patch.setattr(Path, "write_text", lambda path, text, **_: half(text, path))
        lmexplain.save(tiny("bert", "PreTraining"), tmp_path, overwrite=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_save_cut_off_between_its_files_leaves_no_model_that_is_half_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """New weights would fit an old config.json of the same sizes, and be read with the wrong heads and activation."""
    lmexplain.save(tiny("bert", hidden_act="relu"), tmp_path)
    replace, moved = os.replace, []

    def once(a: Path, b: Path) -> None:
        if moved:
            raise KeyboardInterrupt
        moved.append(replace(a, b))

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", once)
        lmexplain.save(tiny("bert", hidden_act="gelu"), tmp_path, overwrite=True)
    with pytest.raises(ValueError, match=r"has no config\.json"):
        lmexplain.load(tmp_path)
    lmexplain.save(tiny("bert", hidden_act="gelu"), tmp_path, overwrite=True)
    assert lmexplain.load(tmp_path).config.hidden_act == "gelu"


def test_an_interrupted_first_save_leaves_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "save_file", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        lmexplain.save(tiny("bert"), tmp_path / "new")
    assert not list((tmp_path / "new").iterdir())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_what_is_saved_is_for_everyone_that_the_folder_is_for(tmp_path: Path) -> None:
    mark = tmp_path / "plain"
    mark.touch()
    for path in lmexplain.save(tiny("bert"), tmp_path / "a").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(mark.stat().st_mode), path.name


def test_only_known_models_have_a_layout(tmp_path: Path) -> None:
    kind: Any = type("Mine", (MODELS["bert"],), {})
    with pytest.raises(ValueError, match=r"no published layout is known for Mine; torch\.save its state_dict"):
        lmexplain.save(kind(tiny("bert").config), tmp_path)


def test_what_is_saved_is_what_was_trained(tmp_path: Path) -> None:
    ours = tiny("bert", "MaskedLM").float()
    lmexplain.save(ours, tmp_path)
    assert EMBEDDED in load_file(tmp_path / WEIGHTS)
    loaded = lmexplain.load(tmp_path).train()
    loss = loaded(tokens(2, 7), labels=tokens(2, 7, seed=1)).loss
    assert loss is not None
    loss.backward()
    assert all(p.grad is not None for p in loaded.parameters())


def test_what_has_no_numbers_or_no_folder_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="on the meta device, where tensors hold no numbers"):
        lmexplain.save(tiny("bert").to("meta"), tmp_path)
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match="file is a file; give a folder"):
        lmexplain.save(tiny("bert"), tmp_path / "file", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_there_is_no_pooler_to_do_without(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Gpt2 has no pooler to do without"):
        lmexplain.load(lmexplain.save(tiny("gpt2"), tmp_path), pooler=False)


def test_a_published_translation_model_is_trained_as_the_library_does(tmp_path: Path) -> None:
    """Marian's folders say nothing of label smoothing, and the library has none."""
    config = transformers.MarianConfig(
        vocab_size=37, decoder_vocab_size=37, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, scale_embedding=True, pad_token_id=1,
        decoder_start_token_id=1, eos_token_id=0, forced_eos_token_id=0, max_position_embeddings=23, dropout=0.0,
        attention_dropout=0.0,
    )  # fmt: skip
    theirs = transformers.MarianMTModel(config).train()
    theirs.save_pretrained(tmp_path)
    found = {"input_ids": tokens(2, 7), "labels": tokens(2, 5, seed=1)}
    ours = lmexplain.load(tmp_path).train()
    ours.state_dict(keep_vars=True)["head.decoder.bias"].requires_grad_(False)      # the library does not train it
    pair = [(m, torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], lr=1e-3)) for m in (ours, theirs)]
    for _ in range(4):
        losses = []
        for model, optimizer in pair:
            losses.append(model(**found).loss)
            optimizer.zero_grad()
            losses[-1].backward()
            optimizer.step()
        assert torch.allclose(*losses, atol=1e-5)
