"""The layouts by the `model_type` of config.json."""

from __future__ import annotations

from ..models import Model
from .bert import BERT
from .gpt import GPT, GPT2
from .layout import Layout
from .mt_dnn import MT_DNN
from .spanbert import SPANBERT
from .theseus import THESEUS
from .unilm import UNILM

__all__ = ["LAYOUTS", "VARIANTS", "layout_of"]

LAYOUTS: dict[str, Layout] = {layout.model_type: layout for layout in (GPT, GPT2, BERT)}

#: Models whose folders say another's `model_type`: `load(folder, model=…)` asks for them.
VARIANTS: tuple[Layout, ...] = (SPANBERT, UNILM, MT_DNN, THESEUS)


def layout_of(model: type[Model]) -> Layout:
    """The layout of a model's class. Raises ValueError where none is known."""
    found = next((layout for layout in (*LAYOUTS.values(), *VARIANTS) if layout.model is model), None)
    if found is None:
        raise ValueError(f"no published layout is known for {model.__name__}; torch.save its state_dict()")
    return found
