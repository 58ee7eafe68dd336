"""Interface words and the glossary, English and Chinese side by side.

`word("figure.count", "zh", pairs=12)` is one interface word with its placeholders filled; `words("zh")` is the whole
table (the explorers take their part of it to the browser). `term("sliding_window", "zh")` is one entry of the glossary.
Both tables are YAML beside this file; every entry has both languages.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

__all__ = ["LANGUAGES", "Term", "glossary", "language", "term", "word", "words"]

LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class Term:
    """A term of the field as this language writes it, and one sentence that defines it."""

    name: str
    definition: str


def language(lang: str) -> str:
    """`lang`, if it is one of `LANGUAGES`; ValueError otherwise."""
    if lang not in LANGUAGES:
        raise ValueError(f"lang is {lang!r}; choose one of {', '.join(map(repr, LANGUAGES))}")
    return lang


@cache
def _table(name: str) -> dict[str, dict[str, Any]]:
    """One YAML file of this folder, parsed once: key -> {en: ..., zh: ...}."""
    return yaml.safe_load(files("lmexplain.words").joinpath(f"{name}.yaml").read_text(encoding="utf-8"))


def _entry(table: str, key: str) -> dict[str, Any]:
    entries = _table(table)
    if key not in entries:
        raise KeyError(f"{key!r} is no key of lmexplain/words/{table}.yaml; add it there in both languages")
    return entries[key]


def word(key: str, lang: str = "en", **values: object) -> str:
    """The interface word `key` in `lang`, its `{placeholders}` filled from `values`.

    Raises KeyError for a key that the table lacks or a placeholder without a value, ValueError for an unknown language.
    """
    text: str = _entry("interface", key)[language(lang)]
    return text.format(**values) if values else text


def words(lang: str = "en", prefix: str = "") -> dict[str, str]:
    """All interface words of one language whose key starts with `prefix`: key -> text, placeholders left open."""
    language(lang)
    return {key: entry[lang] for key, entry in _table("interface").items() if key.startswith(prefix)}


def term(key: str, lang: str = "en") -> Term:
    """The glossary's entry `key` in `lang`. Raises KeyError for a key that the glossary lacks."""
    return Term(**_entry("glossary", key)[language(lang)])


def glossary(lang: str = "en") -> dict[str, Term]:
    """The whole glossary of one language: key -> Term."""
    return {key: term(key, lang) for key in _table("glossary")}
