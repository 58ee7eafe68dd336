"""One file per paper; a descendant states only its difference from its parent.

Every model takes the transformers library's argument names and gives an `Output`.
"""

from .base import Config, Model
from .bert import Bert, BertConfig
from .generation import generate, positions
from .gpt import Gpt, GptConfig
from .gpt2 import Gpt2, Gpt2Config

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
    "generate",
    "positions",
]

#: The models by name, in the order of the course.
MODELS: dict[str, type[Model]] = {
    "gpt": Gpt,
    "gpt2": Gpt2,
    "bert": Bert,
}
