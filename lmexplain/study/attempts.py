"""An answer to an exercise beside its target: right or not, what differs, and what is said of a likely mistake."""

import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lmexplain.patterns import Pattern
from lmexplain.study.data import Text
from lmexplain.study.pages import SCROLLS, bilingual, title
from lmexplain.study.terminal import pad, width
from lmexplain.words import LANGUAGES, language, word

if TYPE_CHECKING:
    from lmexplain.study.practice import Exercise

__all__ = ["Attempt", "Cells", "Number", "attempt"]


def attempt(exercise: "Exercise", answer: Any, lang: str = "en") -> "Attempt":
    """Compare an answer. TypeError or ValueError where it is none: no pattern, no whole number, of another size."""
    target = exercise.code.target()
    if isinstance(target, Tensor):
        return Cells(exercise, answer, language(lang), _cells(exercise, answer, len(target)), target)
    number = _whole(exercise, answer)
    return Number(exercise, number, language(lang), number, target)


@dataclass(frozen=True, repr=False)
class Attempt(ABC):
    """An answer beside its target; a notebook displays it."""

    exercise: "Exercise"
    answer: Pattern | int
    lang: str

    @property
    @abstractmethod
    def agrees(self) -> bool:
        """Whether it equals the target, however it was made."""

    @property
    def right(self) -> bool:
        """Whether it agrees and is made as the task asks."""
        wanted = self.exercise.code.made_with
        return self.agrees and (not wanted or bool(_operations(self.answer) & set(wanted)))

    @abstractmethod
    def equals(self, other: Any) -> bool:
        """Whether another answer comes to the same."""

    @cached_property
    def mistake(self) -> Text | None:
        """What is said of this answer where it is a known mistake."""
        if self.agrees:
            return None
        known = self.exercise.code.mistakes.items()
        return next((self.exercise.mistakes[name] for name, make in known if self.equals(make())), None)

    def message(self, lang: str | None = None) -> str:
        """One or two sentences: right, or what differs and, for a known mistake, why."""
        lang = lang or self.lang
        if self.right:
            return self._right(lang)
        if self.agrees:
            return word("study.wrong_parts", lang, wanted=" / ".join(self.exercise.code.made_with))
        hint = self.mistake.of(lang) if self.mistake else self._where(lang)
        return f"{self._wrong(lang)}{hint}" if lang == "zh" else f"{self._wrong(lang)} {hint}".rstrip()

    @abstractmethod
    def _right(self, lang: str) -> str: ...

    @abstractmethod
    def _wrong(self, lang: str) -> str: ...

    def _where(self, lang: str) -> str:
        return ""

    def _beside(self, lang: str) -> str:
        """Target and answer side by side, as HTML."""
        return ""

    def _beside_plain(self) -> str:
        return ""

    @property
    def _mark(self) -> str:
        return "✓" if self.right else "✗"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        pages = (title(f"{self._mark} {self.message(each)}") + self._beside(each) for each in LANGUAGES)
        colour = "#009E73" if self.right else "#D55E00"
        return {"text/plain": repr(self), "text/html": bilingual(*pages, lang=self.lang, colour=colour)}

    def __repr__(self) -> str:
        return f"{self._mark} {self.message()}".replace("`", "") + self._beside_plain()


@dataclass(frozen=True, repr=False)
class Number(Attempt):
    """A number beside the one asked for, which stays hidden until the answer is right."""

    yours: int
    target: int

    @property
    def agrees(self) -> bool:
        return self.yours == self.target

    def equals(self, other: Any) -> bool:
        return self.yours == other

    def _right(self, lang: str) -> str:
        return word("study.right_number", lang, number=f"{self.yours:,}")

    def _wrong(self, lang: str) -> str:
        key = "study.wrong_more" if self.yours > self.target else "study.wrong_fewer"
        return word(key, lang, number=f"{self.yours:,}")


@dataclass(frozen=True, repr=False, eq=False)
class Cells(Attempt):
    """A pattern beside the one asked for, cell by cell: (n, n) bool each."""

    yours: Tensor
    target: Tensor

    @property
    def agrees(self) -> bool:
        return torch.equal(self.yours, self.target)

    def equals(self, other: Any) -> bool:
        return torch.equal(self.yours, _cells(self.exercise, other, len(self.target)))

    @property
    def missing(self) -> list[tuple[int, int]]:
        """Cells (query, key) that the target allows and the answer does not."""
        return [(q, k) for q, k in (self.target & ~self.yours).nonzero().tolist()]

    @property
    def extra(self) -> list[tuple[int, int]]:
        """Cells (query, key) that the answer allows and the target does not."""
        return [(q, k) for q, k in (self.yours & ~self.target).nonzero().tolist()]

    def _right(self, lang: str) -> str:
        return word("study.right", lang)

    def _wrong(self, lang: str) -> str:
        return word("study.wrong", lang, missing=len(self.missing), extra=len(self.extra))

    def _where(self, lang: str) -> str:
        """The first cell that differs, with its tokens."""
        key, cells = ("study.first_missing", self.missing) if self.missing else ("study.first_extra", self.extra)
        q, k = cells[0]
        tokens = self.exercise.words(lang)
        return word(key, lang, q=q, k=k, q_token=tokens[q], k_token=tokens[k])

    def _beside(self, lang: str) -> str:
        tokens = self.exercise.words(lang)
        grids = "".join(
            f"<div><p>{escape(word(f'study.{name}', lang))}</p>{_table(_marks(self.target, cells), tokens)}</div>"
            for name, cells in (("target", self.target), ("yours", self.yours))
        )
        legend = f'<p class="lm-evidence">{escape(word("study.legend", lang))}</p>'
        return f'<div class="lm-scroll" {SCROLLS}><div class="lm-beside">{grids}</div></div>{legend}'

    def _beside_plain(self) -> str:
        tokens = self.exercise.words(self.lang)
        room, gap = max(map(width, tokens)) + 4, 2 * len(tokens) + 3
        rows = zip(tokens, _marks(self.target, self.target), _marks(self.target, self.yours), strict=True)
        heads = pad(word("study.target", self.lang), gap) + word("study.yours", self.lang)
        grids = (
            pad(f"{q:>2} {token}", room) + pad(" ".join(target), gap) + " ".join(yours)
            for q, (token, target, yours) in enumerate(rows)
        )
        return "\n".join(["", "", " " * room + heads, *grids, "", word("study.legend", self.lang)])


def _whole(exercise: "Exercise", answer: Any) -> int:
    """Any whole number, NumPy's and PyTorch's too; True is none, though Python takes it for 1."""
    try:
        if not isinstance(answer, bool):
            return operator.index(answer)
    except TypeError:
        pass
    raise TypeError(f"exercise {exercise.id} asks for a whole number, but got {answer!r}")


def _cells(exercise: "Exercise", answer: Any, n: int) -> Tensor:
    if not isinstance(answer, Pattern):
        raise TypeError(f"exercise {exercise.id} asks for a pattern, for instance window(4), but got {answer!r}")
    cells = answer.at(n).dense()
    if cells.ndim != 2:
        raise ValueError(f"exercise {exercise.id} asks for one pattern, but {answer!r} tells samples or heads apart")
    return cells


def _operations(answer: Any) -> set[str]:
    """The names of the operations of a pattern, its parts included; none for a number."""
    return {answer.op}.union(*map(_operations, answer.parts)) if isinstance(answer, Pattern) else set()


SIGNS = {(True, True): "●", (False, False): "·", (True, False): "○", (False, True): "✕"}  # (wanted, made)
SHADES = {"●": "background-color:#0072B2;color:#fff", "○": "color:#E69F00", "✕": "color:#D55E00"}


def _marks(target: Tensor, yours: Tensor) -> list[str]:
    """One string a row: ● allowed, · not, ○ missing, ✕ too many."""
    rows = zip(target.tolist(), yours.tolist(), strict=True)
    return ["".join(SIGNS[wanted, made] for wanted, made in zip(*row, strict=True)) for row in rows]


def _table(rows: list[str], tokens: tuple[str, ...]) -> str:
    head = "".join(f"<th>{k}</th>" for k in range(len(rows)))
    body = "".join(
        f"<tr><th>{escape(token)} {q}</th>{''.join(map(_cell, row))}</tr>"
        for q, (token, row) in enumerate(zip(tokens, rows, strict=True))
    )
    return f'<table class="lm-grid"><tr><th></th>{head}</tr>{body}</table>'


def _cell(mark: str) -> str:
    """Sign and colour; the colour stands in the cell itself, since a style sheet may be stripped."""
    return f'<td style="{SHADES[mark]}">{mark}</td>' if mark in SHADES else "<td></td>"
