"""Questions, claims, exercises and the package's own source, as a chapter shows them and the terminal asks them.

    study.can_answer("14")                       # the questions of a chapter
    study.ask("B09")                             # one question, its answer hidden until asked
    study.claim("C123", study.measure("C123"))   # a claim, judged by its own numbers
    study.exercise("14.1")                       # an exercise; study.exercise("14.1", mine) checks an attempt
    study.source(patterns.window)                # the code at hand
"""

from typing import TYPE_CHECKING, Any

# `ask` and `claims` are modules as well: once they are loaded, the names below stay what they are made here.
from lmexplain.study.ask import ask, can_answer
from lmexplain.study.claims import claim
from lmexplain.study.data import find_claim, find_question
from lmexplain.study.ledger import measure
from lmexplain.study.pages import Shown
from lmexplain.study.source import source

if TYPE_CHECKING:
    from lmexplain.study.practice import Attempt, Exercise, exercise, exercises

__all__ = [
    "Attempt",
    "Exercise",
    "Shown",
    "ask",
    "can_answer",
    "claim",
    "exercise",
    "exercises",
    "find_claim",
    "find_question",
    "measure",
    "source",
]


def __getattr__(name: str) -> Any:
    """Exercises compare patterns; torch loads when the first one is named (PEP 562), not when a question is asked."""
    if name in ("Attempt", "Exercise", "exercise", "exercises"):
        from importlib import import_module

        return getattr(import_module("lmexplain.study.practice"), name)
    raise AttributeError(f"lmexplain.study has no {name!r}; it offers {', '.join(__all__)}")
