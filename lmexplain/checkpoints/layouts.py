"""The layouts by the `model_type` of config.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..models import Model
from .albert import ALBERT
from .awd_lstm import AWD_LSTM, SIATL
from .bert import BERT
from .bigbird import BIGBIRD
from .deberta import DEBERTA
from .ernie import ERNIE, ERNIE2
from .gpt import GPT, GPT2
from .layout import Layout
from .longformer import LONGFORMER
from .marian import MARIAN
from .mt_dnn import MT_DNN
from .roberta import ROBERTA, XLM_ROBERTA
from .spanbert import SPANBERT
from .theseus import THESEUS
from .transformer_xl import TRANSFORMER_XL
from .unilm import UNILM
from .xlm import XLM
from .xlnet import XLNET

__all__ = ["LAYOUTS", "VARIANTS", "layout_meant", "layout_of"]

LAYOUTS: dict[str, Layout] = {
    layout.model_type: layout
    for layout in (
        AWD_LSTM, SIATL, MARIAN, GPT, GPT2, BERT, ERNIE, ROBERTA, ALBERT, TRANSFORMER_XL, XLNET,
        DEBERTA, XLM, XLM_ROBERTA, LONGFORMER, BIGBIRD,
    )
}  # fmt: skip

#: Models whose folders say another's `model_type`: `load(folder, model=…)` asks for them, or a field of config.json.
VARIANTS: tuple[Layout, ...] = (SPANBERT, UNILM, MT_DNN, THESEUS, ERNIE2)


def layout_of(model: type[Model]) -> Layout:
    """The layout of a model's class. Raises ValueError where none is known."""
    found = next((layout for layout in (*LAYOUTS.values(), *VARIANTS) if layout.model is model), None)
    if found is None:
        raise ValueError(f"no published layout is known for {model.__name__}; torch.save its state_dict()")
    return found


def layout_meant(published: Mapping[str, Any]) -> Layout | None:
    """The layout that a config.json means, None where it is not known."""
    kind = str(published.get("model_type"))
    usual = LAYOUTS.get(kind, next((x for x in VARIANTS if kind in x.older_types), None))
    asked = (x for x in VARIANTS if x.chosen_by and x.chosen_by.items() <= published.items())
    return next((x for x in asked if usual is not None and x.model_type == usual.model_type), usual)
