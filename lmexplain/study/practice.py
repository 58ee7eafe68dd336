"""Exercises that check themselves: what the reader made stands beside what was asked for.

`exercise("14.1")` shows the task, with hints and a solution hidden; `exercise("14.1", mine)` compares. A pattern is
compared cell by cell, so that every right way to write it counts; a mistake that many make is recognised and named.
"""

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from lmexplain.patterns import Pattern
from lmexplain.study.attempts import Attempt, attempt
from lmexplain.study.data import Row, Text, load_rows
from lmexplain.study.pages import bilingual, code, details, rich, title
from lmexplain.words import LANGUAGES, language, word

__all__ = ["Attempt", "Code", "Exercise", "exercise", "exercises", "from_rule"]


@dataclass(frozen=True)
class Code:
    """An exercise's code: what is asked for ((n, n) bool, or a number), a solution, and likely mistakes by name.

    `made_with`: of these operations at least one must occur in the reader's pattern, where the task asks for it.
    """

    target: Callable[[], Tensor | int]
    solution: Callable[[], Pattern | int]
    mistakes: dict[str, Callable[[], Pattern | int]]
    made_with: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Exercise:
    """A task with its hints, in both languages; the solution stays hidden until asked. A notebook displays it."""

    id: str
    chapter: str
    title: Text
    task: Text
    tokens: Text | None
    stub: str
    hints: tuple[Text, ...]
    mistakes: dict[str, Text]
    code: Code = field(compare=False)
    lang: str = "en"

    def check(self, yours: Any, lang: str = "en") -> Attempt:
        """Compare an answer (a pattern, or a number) with the target."""
        return attempt(self, yours, lang)

    def solution(self) -> str:
        """The source of a solution."""
        return textwrap.dedent(inspect.getsource(self.code.solution)).rstrip()

    def words(self, lang: str) -> tuple[str, ...]:
        """The tokens of the text that the pattern is for."""
        return tuple(self.tokens.of(lang).split()) if self.tokens else ()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        pages = (self._page(each) for each in LANGUAGES)
        return {"text/plain": repr(self), "text/html": bilingual(*pages, lang=self.lang, colour="#CC79A7")}

    def _page(self, lang: str) -> str:
        hints = "".join(
            details(word("study.hint", lang, number=number), f"<p>{rich(hint.of(lang))}</p>")
            for number, hint in enumerate(self.hints, 1)
        )
        return "".join([
            f'<p class="lm-origin">{escape(word("study.exercise", lang, id=self.id))}</p>',
            f"{title(self.title.of(lang))}<p>{rich(self.task.of(lang))}</p>",
            f"<p>{escape(word('study.stub', lang))}</p>{code(self.stub)}{hints}",
            details(word("study.solution", lang), code(self.solution())),
        ])  # fmt: skip

    def __repr__(self) -> str:
        head = f"{word('study.exercise', self.lang, id=self.id)}: {self.title.of(self.lang)}"
        return f"{head}\n{self.task.of(self.lang)}\n\n{self.stub.rstrip()}"


def exercise(id: str, yours: Any = None, lang: str = "en") -> Exercise | Attempt:
    """The exercise `id`; with an answer (`yours`: a pattern, or a number), that answer beside the target."""
    known = exercises()
    if id not in known:
        raise ValueError(f"there is no exercise {id!r}; there are {', '.join(known)}")
    if yours is None:
        return replace(known[id], lang=language(lang))
    return known[id].check(yours, lang)


@cache
def exercises() -> dict[str, Exercise]:
    """All exercises by id, in the order of `exercises.yaml`."""
    return {made.id: made for made in map(_exercise, load_rows("exercises.yaml", "exercises"))}


def from_rule(n: int, rule: Callable[[int, int], bool]) -> Tensor:
    """(n, n) bool from a rule for one query and one key."""
    return torch.tensor([[rule(q, k) for k in range(n)] for q in range(n)])


def _exercise(row: Row) -> Exercise:
    chapter = row.words("chapter", pattern=r"\d\d")
    id = row.words("id", pattern=chapter + r"\.\d+")
    known = import_module(f"lmexplain.study.chapter{chapter}").EXERCISES
    if id not in known:
        raise row.error("id", f"has no code in study/chapter{chapter}.py; write its target and solution there")
    mistakes = row.named("mistakes")
    if set(mistakes) != set(known[id].mistakes):
        raise row.error("mistakes", f"are {', '.join(mistakes)}, but the code knows {', '.join(known[id].mistakes)}")
    tokens = row.part("tokens", "en zh") if "tokens" in row.data else None
    return Exercise(
        id=id,
        chapter=chapter,
        title=row.text("title"),
        task=row.text("task"),
        tokens=Text(tokens.lines("en"), tokens.lines("zh")) if tokens else None,
        stub=row.lines("stub"),
        hints=tuple(Text(part.words("en"), part.words("zh")) for part in row.parts("hints", "en zh")),
        mistakes=mistakes,
        code=known[id],
    )
