"""Every published size has exactly the parameters that its paper's shapes give, and each part is told."""

from __future__ import annotations

import pytest

from lmexplain.models import MODELS, counts

from .tiny import tiny

FIGURES = [(figure, size) for figure in counts.figures() if figure.model in MODELS for size in figure.sizes]
PUBLISHED = [(name, size) for name, model in MODELS.items() for size in counts.config_of(model).PUBLISHED]


@pytest.mark.parametrize(("figure", "size"), FIGURES, ids=lambda x: x if isinstance(x, str) else x.how)
def test_a_published_size_has_its_published_count(figure: counts.Figure, size: str) -> None:
    counted = figure.counted(MODELS[figure.model], size)
    assert counted.parameters == figure.parameters, [(part.name, part.parameters) for part in counted.parts]


@pytest.mark.parametrize(("name", "size"), PUBLISHED)
def test_every_published_size_can_be_made(name: str, size: str) -> None:
    model = MODELS[name]
    counted = counts.count(counts.on_meta(model, counts.config_of(model).published(size)))
    assert counted.parameters > 0 and all(tensor.times >= 1 for part in counted.parts for tensor in part.tensors)


@pytest.mark.parametrize("name", MODELS)
def test_the_parts_add_up_and_what_is_shared_is_counted_once(name: str) -> None:
    for head in (None, *MODELS[name].heads):
        model = tiny(name, head)
        counted = counts.count(model)
        assert counted.parameters == sum(p.numel() for p in model.parameters())
        assert counted.used == sum(p.numel() for _, p in model.named_parameters(remove_duplicate=False))
        parts = {part.name for part in counted.parts}
        assert {"attention", "feed-forward"} <= parts or "recurrent" in parts
        assert (head is None) == all(part.name != "head" for part in counted.parts)


def test_berts_parts() -> None:
    model = MODELS["bert"]
    parts = counts.count(counts.on_meta(model, counts.config_of(model).published("bert-base-uncased"), "PreTraining"))
    assert {part.name: (part.parameters, part.shared) for part in parts.parts} == {
        "embedding": ((30522 + 512 + 2 + 2) * 768, 0),
        "attention": (12 * (4 * (768 * 768 + 768) + 2 * 768), 0),
        "feed-forward": (12 * (2 * 768 * 3072 + 3072 + 768 + 2 * 768), 0),
        "head": (768 * 768 + 768 + 2 * 768 + 30522 + 2 * 768 + 2, 30522 * 768),
        "pooler": (768 * 768 + 768, 0),
    }
    assert all(p.device.type == "meta" for p in counts.on_meta(model, counts.config_of(model)()).parameters())
