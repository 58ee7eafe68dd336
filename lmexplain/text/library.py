"""The corpora in data/: real texts, each with its licence, its source and a checksum verified on reading."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import yaml

from lmexplain.resources import data_dir

__all__ = ["Corpus", "Document", "corpora", "corpus"]


@dataclass(frozen=True)
class Document:
    """A document of a corpus; each line of its text is a paragraph."""

    title: str
    text: str = field(repr=False)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        return tuple(self.text.split("\n"))


@dataclass(frozen=True)
class Corpus:
    """Documents with where they come from: `str(corpus)` or `corpus.describe("zh")` tells it in a few lines."""

    name: str
    language: str  # ISO 639-1
    licence: str  # SPDX expression
    credit: str  # authors and rights holders
    source: str  # package, version and registry
    sha256: str  # of data/<name>.jsonl
    about: str
    about_zh: str
    documents: tuple[Document, ...] = field(repr=False)

    def document(self, title: str) -> Document:
        """The document of this title; ValueError with the nearest titles where there is none."""
        by_title = {document.title: document for document in self.documents}
        if title not in by_title:
            raise ValueError(_unknown(f"document in {self.name}", title, by_title))
        return by_title[title]

    def describe(self, lang: str = "en") -> str:
        """What the corpus is and where it came from, in English ("en") or Chinese ("zh")."""
        count, size = len(self.documents), sum(len(document.text) for document in self.documents)
        if lang == "en":
            facts = f"{count} documents, {size:,} characters, language: {self.language}"
            return f"{self.name}: {self.about}\n{facts}\nlicence: {self.licence}\n{self.credit}\nsource: {self.source}"
        if lang == "zh":
            facts = f"{count} 篇文档，{size:,} 个字符，语言：{self.language}"
            return f"{self.name}：{self.about_zh}\n{facts}\n许可证：{self.licence}\n{self.credit}\n来源：{self.source}"
        raise ValueError(f"lang is {lang!r}, but a corpus is described in 'en' or 'zh'; choose one")

    def __str__(self) -> str:
        return self.describe()


def corpora() -> tuple[str, ...]:
    """The names of all corpora, as `corpus(name)` takes them."""
    return tuple(_entries())


def corpus(name: str) -> Corpus:
    """Read one corpus and verify its checksum.

    Raises ValueError for an unknown name and for a file that differs from its checksum, FileNotFoundError where the
    file is missing.
    """
    entries = _entries()
    if name not in entries:
        raise ValueError(_unknown("corpus", name, entries))
    entry, path = entries[name], data_dir() / f"{name}.jsonl"
    restore = f"get it back with `git restore data/{path.name}` in a clone, or install lmexplain again"
    if not path.is_file():
        raise FileNotFoundError(f"the corpus {name!r} should be at {path}, where nothing is; {restore}")
    data = path.read_bytes()
    if (found := hashlib.sha256(data).hexdigest()) != entry["sha256"]:
        raise ValueError(f"{path} has the SHA-256 {found}, but corpora.yaml says {entry['sha256']}; {restore}")
    lines = data.decode("utf-8").split("\n")  # not splitlines(), which also cuts at U+2028 inside a text
    documents = tuple(Document(**json.loads(line)) for line in lines if line)
    source = "{package} {version} ({registry}), {url}".format(**entry["source"])
    keys = ("language", "licence", "credit", "sha256", "about", "about_zh")
    return Corpus(name, source=source, documents=documents, **{key: entry[key] for key in keys})


def _entries() -> dict[str, dict[str, Any]]:
    return yaml.safe_load((data_dir() / "corpora.yaml").read_text(encoding="utf-8"))


def _unknown(what: str, name: object, known: dict[str, Any]) -> str:
    near = " or ".join(map(repr, get_close_matches(str(name).lower(), known, n=3, cutoff=0.5)))
    hint = f"; did you mean {near}? The" if near else "; the"
    return f"there is no {what} called {name!r}{hint} names are {', '.join(map(repr, known))}"
