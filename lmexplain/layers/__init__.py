"""Parts that several papers share: attention along a grid, pre- and post-norm, feed-forward, embeddings, heads.

Shapes: `B` batch, `T` queries, `S` keys, `H` hidden, `N` heads, `D` head width, `V` vocabulary, `L` layers.
"""

from .attention import KeyValue, MultiHeadAttention, Run
from .blocks import PostNormBlock, PreNormBlock
from .embeddings import sinusoids
from .feed_forward import ACTIVATIONS, FeedForward, activation
from .heads import (
    CausalLM,
    Head,
    LastTokenClassification,
    MaskedLM,
    MultipleChoice,
    NextSentence,
    Pooler,
    Prediction,
    PreTraining,
    QuestionAnswering,
    SequenceClassification,
    TokenClassification,
)
from .output import Output

__all__ = [
    "ACTIVATIONS",
    "CausalLM",
    "FeedForward",
    "Head",
    "KeyValue",
    "LastTokenClassification",
    "MaskedLM",
    "MultiHeadAttention",
    "MultipleChoice",
    "NextSentence",
    "Output",
    "Pooler",
    "PostNormBlock",
    "PreNormBlock",
    "PreTraining",
    "Prediction",
    "QuestionAnswering",
    "Run",
    "SequenceClassification",
    "TokenClassification",
    "activation",
    "sinusoids",
]
