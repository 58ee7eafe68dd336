"""Text: from what was written to tokens that know where they stand, and the real texts of the course."""

from lmexplain.text.library import Corpus, Document, corpora, corpus
from lmexplain.text.reading import Encoding, read

__all__ = ["Corpus", "Document", "Encoding", "corpora", "corpus", "read"]
