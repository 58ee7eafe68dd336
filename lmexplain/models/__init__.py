"""One file per paper; a descendant states only its difference from its parent.

Every model takes the transformers library's argument names and gives an `Output`.
"""

from .albert import Albert, AlbertConfig
from .awd_lstm import AwdLstm, AwdLstmConfig
from .base import AttentionConfig, Config, Model
from .bert import Bert, BertConfig
from .bigbird import BigBird, BigBirdConfig
from .deberta import Deberta, DebertaConfig
from .ernie import Ernie, ErnieConfig
from .ernie2 import Ernie2, Ernie2Config
from .generation import generate, positions
from .gpt import Gpt, GptConfig
from .gpt2 import Gpt2, Gpt2Config
from .longformer import Longformer, LongformerConfig
from .mt_dnn import MtDnn, MtDnnConfig
from .roberta import Roberta, RobertaConfig
from .siatl import Siatl, SiatlConfig
from .spanbert import SpanBert, SpanBertConfig
from .theseus import Theseus, TheseusConfig
from .transformer import Transformer, TransformerConfig
from .transformer_xl import TransformerXl, TransformerXlConfig
from .unilm import UniLm, UniLmConfig
from .xlm import Xlm, XlmConfig
from .xlm_roberta import XlmRoberta, XlmRobertaConfig
from .xlnet import XLNet, XLNetConfig

__all__ = [
    "MODELS",
    "Albert",
    "AlbertConfig",
    "AttentionConfig",
    "AwdLstm",
    "AwdLstmConfig",
    "Bert",
    "BertConfig",
    "BigBird",
    "BigBirdConfig",
    "Config",
    "Deberta",
    "DebertaConfig",
    "Ernie",
    "Ernie2",
    "Ernie2Config",
    "ErnieConfig",
    "Gpt",
    "Gpt2",
    "Gpt2Config",
    "GptConfig",
    "Longformer",
    "LongformerConfig",
    "Model",
    "MtDnn",
    "MtDnnConfig",
    "Roberta",
    "RobertaConfig",
    "Siatl",
    "SiatlConfig",
    "SpanBert",
    "SpanBertConfig",
    "Theseus",
    "TheseusConfig",
    "Transformer",
    "TransformerConfig",
    "TransformerXl",
    "TransformerXlConfig",
    "UniLm",
    "UniLmConfig",
    "XLNet",
    "XLNetConfig",
    "Xlm",
    "XlmConfig",
    "XlmRoberta",
    "XlmRobertaConfig",
    "generate",
    "positions",
]

#: The models by name, in the order of the course.
MODELS: dict[str, type[Model]] = {
    "awd-lstm": AwdLstm,
    "siatl": Siatl,
    "transformer": Transformer,
    "gpt": Gpt,
    "gpt2": Gpt2,
    "bert": Bert,
    "unilm": UniLm,
    "ernie": Ernie,
    "ernie2": Ernie2,
    "mt-dnn": MtDnn,
    "spanbert": SpanBert,
    "roberta": Roberta,
    "albert": Albert,
    "transformer-xl": TransformerXl,
    "xlnet": XLNet,
    "deberta": Deberta,
    "xlm": Xlm,
    "xlm-roberta": XlmRoberta,
    "longformer": Longformer,
    "bigbird": BigBird,
    "theseus": Theseus,
}
