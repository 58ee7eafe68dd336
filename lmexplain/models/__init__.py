"""One file per paper; a descendant states only its difference from its parent.

Every model takes the transformers library's argument names and gives an `Output`.
"""

from .base import Config, Model
from .bert import Bert, BertConfig

__all__ = ["MODELS", "Bert", "BertConfig", "Config", "Model"]

#: The models by name, in the order of the course.
MODELS: dict[str, type[Model]] = {"bert": Bert}
