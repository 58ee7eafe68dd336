"""One file per paper; a descendant states only its difference from its parent.

Every model takes the transformers library's argument names and gives an `Output`.
"""

from .base import Config, Model
from .bert import Bert, BertConfig
from .generation import generate, positions
from .gpt import Gpt, GptConfig
from .gpt2 import Gpt2, Gpt2Config
from .mt_dnn import MtDnn, MtDnnConfig
from .spanbert import SpanBert, SpanBertConfig
from .theseus import Theseus, TheseusConfig
from .unilm import UniLm, UniLmConfig

__all__ = [
    "MODELS",
    "Bert",
    "BertConfig",
    "Config",
    "Gpt",
    "Gpt2",
    "Gpt2Config",
    "GptConfig",
    "Model",
    "MtDnn",
    "MtDnnConfig",
    "SpanBert",
    "SpanBertConfig",
    "Theseus",
    "TheseusConfig",
    "UniLm",
    "UniLmConfig",
    "generate",
    "positions",
]

#: The models by name, in the order of the course.
MODELS: dict[str, type[Model]] = {
    "gpt": Gpt,
    "gpt2": Gpt2,
    "bert": Bert,
    "unilm": UniLm,
    "mt-dnn": MtDnn,
    "spanbert": SpanBert,
    "theseus": Theseus,
}
