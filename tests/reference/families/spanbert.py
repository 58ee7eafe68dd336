"""SpanBERT's encoder is BERT: folders that say so, opened as SpanBert."""

from __future__ import annotations

import transformers

from lmexplain.models import SpanBert

from ..peers import Case, token_labels
from .bert import V, config, inputs, span

CASES = [
    Case("spanbert", lambda: transformers.BertModel(config()), inputs, model=SpanBert),
    Case("spanbert for masked tokens", lambda: transformers.BertForMaskedLM(
        config(hidden_act="gelu_new")), inputs, token_labels(V), model=SpanBert),
    Case("spanbert for answers", lambda: transformers.BertForQuestionAnswering(config()), inputs, span, model=SpanBert),
]  # fmt: skip
