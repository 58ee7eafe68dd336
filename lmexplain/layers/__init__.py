"""Parts that several papers share: attention along a grid, pre- and post-norm, feed-forward, embeddings, a recurrent
layer and its dropouts, heads.

Shapes: `B` batch, `T` queries, `S` keys, `H` hidden, `N` heads, `D` head width, `V` vocabulary, `L` layers.
"""

from .adaptive import AdaptiveEmbeddings, AdaptiveSoftmax
from .attention import KeyValue, MultiHeadAttention, Run
from .blocks import PostNormBlock, PreNormBlock
from .dropouts import EmbeddingDropout, LockedDropout
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
from .lstm import Lstm, State
from .output import Output
from .relative import KeyValuePlace, RelativeAttention, by_key, distances, scaled

__all__ = [
    "ACTIVATIONS",
    "AdaptiveEmbeddings",
    "AdaptiveSoftmax",
    "CausalLM",
    "EmbeddingDropout",
    "FeedForward",
    "Head",
    "KeyValue",
    "KeyValuePlace",
    "LastTokenClassification",
    "LockedDropout",
    "Lstm",
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
    "RelativeAttention",
    "Run",
    "SequenceClassification",
    "State",
    "TokenClassification",
    "activation",
    "by_key",
    "distances",
    "scaled",
    "sinusoids",
]
