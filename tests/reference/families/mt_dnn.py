"""MT-DNN's encoder is BERT, and its head for one sentence is the library's."""

from __future__ import annotations

import transformers

from lmexplain.models import MtDnn

from ..peers import Case, class_labels
from .bert import config, inputs

CASES = [
    Case("mt-dnn", lambda: transformers.BertModel(config(num_hidden_layers=2)), inputs, model=MtDnn),
    Case("mt-dnn for a sentence", lambda: transformers.BertForSequenceClassification(
        config(num_labels=3)), inputs, class_labels(3), model=MtDnn),
]  # fmt: skip
