"""A question asked: in a chapter (`ask`), where the answer opens on a click, and in the terminal (`lmexplain ask`)."""

import argparse
import re
import sys
from collections.abc import Iterator

from lmexplain.study.data import Evidence, Question, find_question, questions, sources
from lmexplain.study.pages import Shown, question_list, question_page
from lmexplain.study.terminal import bold, fill
from lmexplain.words import LANGUAGES, language, word

__all__ = ["add_arguments", "ask", "can_answer", "chosen", "run"]

ALL, NONE = ("all", "全部", "所有"), ("none", "0", "没有")


def ask(id: str, lang: str = "en") -> Shown:
    """The question `id` for a chapter: its answer, follow-ups and trap hidden, both languages under one switch."""
    question = find_question(id)
    hidden = word("study.hidden", language(lang), id=question.id)
    return Shown(question_page(question, lang), "\n".join([_heading(question, lang), hidden]))


def can_answer(chapter: str, lang: str = "en") -> Shown:
    """The questions that a chapter answers; a sentence that says so where there are none."""
    mine = [question for question in questions().values() if question.chapter == chapter]
    if not mine:
        sentence = word("study.no_questions", language(lang), chapter=chapter)
        return Shown(f"<p>{sentence}</p>", sentence)
    lines = [word("study.can_answer", language(lang)), *(f"- {q.id} {q.wording.of(lang)}" for q in mine)]
    return Shown(question_list(mine, lang), "\n".join(lines))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `lmexplain ask`."""
    parser.add_argument("id", nargs="?", help="the question, for instance B09; without one, all are listed")
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="language (default: en)")


def run(args: argparse.Namespace) -> int:
    """`lmexplain ask`: list the questions, or ask one; the exit status."""
    if args.id is None:
        _list(args.lang)
    else:
        _Interview(find_question(args.id), args.lang).hold()
    return 0


def _list(lang: str) -> None:
    for question in questions().values():
        print(fill(question.wording.of(lang), f"{question.id}  "))
        print(fill(_origin(question, lang), "     "))
    print("\n" + fill(word("study.asks", lang, id=next(iter(questions())))))
    print(fill(sources(lang)))


class _Interview:
    """One question in the terminal. Where someone sits at it, each part waits for Enter; else all is printed."""

    def __init__(self, question: Question, lang: str) -> None:
        self.question, self.lang = question, lang
        self.attended = sys.stdin is not None and sys.stdin.isatty()

    def hold(self) -> None:
        question, lang = self.question, self.lang
        print(_heading(question, lang))
        self._wait("study.press_spoken")
        self._part(word("study.spoken", lang))
        print(fill(question.spoken.of(lang)))
        self._wait("study.press_points")
        self._part(word("study.points", lang, count=len(question.points)))
        print("\n\n".join(self._points()))
        self._tick_off()
        self._part(word("study.followups", lang, count=len(question.followups)))
        for each in question.followups:
            print(fill(each.ask.of(lang), "? "))
            self._wait("study.press_answer")
            print(fill(each.answer.of(lang), "  "))
            print(self._rests(each.evidence, 2) + ("\n" if each is not question.followups[-1] else ""))
        self._wait("study.press_trap")
        self._part(word("study.trap", lang))
        print(fill(question.trap.text.of(lang)))
        print(self._rests(question.trap.evidence))
        print("\n" + fill(sources(lang)))

    def _points(self) -> Iterator[str]:
        """The full answer, point by point, each with a box to tick and what it rests on."""
        for number, point in enumerate(self.question.points, 1):
            yield f"{fill(point.text.of(self.lang), f'{number} [ ] ')}\n{self._rests(point.evidence, 6)}"

    def _rests(self, evidence: tuple[Evidence, ...], indent: int = 0) -> str:
        items = " · ".join(item.text(self.lang) for item in evidence)
        return fill(word("study.evidence", self.lang, evidence=items), " " * indent)

    def _tick_off(self) -> None:
        if not self.attended:
            return
        count = len(self.question.points)
        while (made := chosen(answer := self._answer("study.which_points"), count)) is None:
            print(word("study.not_understood", self.lang, answer=answer.strip(), count=count))
        print(word("study.made_points", self.lang, made=len(made), count=count))
        left_out = [str(number) for number in range(1, count + 1) if number not in made]
        if made and left_out:
            print(word("study.left_out", self.lang, points=", ".join(left_out)))

    def _part(self, title: str) -> None:
        print(f"\n{bold(title)}")

    def _wait(self, key: str) -> None:
        if self.attended:
            self._answer(key)

    def _answer(self, key: str) -> str:
        """What is typed; nothing where the input has ended (Ctrl-D)."""
        try:
            return input("\n" + word(key, self.lang))
        except EOFError:
            self.attended = False
            print()
            return ""


def chosen(answer: str, count: int) -> set[int] | None:
    """The numbers from 1 to `count` that an answer names: `1 3`, `1-3, 5`, `all`, nothing; None: not understood."""
    made: set[int] = set()
    for piece in re.split(r"[\s,;，；、]+|\band\b|和", re.sub(r"\s*([-–—~～至到])\s*", "-", answer.strip().lower())):
        numbers = re.fullmatch(r"(\d+)(?:-(\d+))?", piece)
        first, last = (int(numbers[1]), int(numbers[2] or numbers[1])) if numbers else (1, 0)
        if piece in ALL:
            made.update(range(1, count + 1))
        elif 1 <= first <= last <= count:
            made.update(range(first, last + 1))
        elif piece and piece not in NONE:
            return None
    return made


def _origin(question: Question, lang: str) -> str:
    level = word(f"study.level.{question.level}", lang)
    chapter = word("study.chapter", lang, chapter=question.chapter)
    badge = question.badge.of(lang) if question.badge and question.source.document != "D" else ""
    return " · ".join(filter(None, (question.source.text(lang), question.source.title, badge, level, chapter)))


def _heading(question: Question, lang: str) -> str:
    return f"{bold(fill(question.wording.of(lang), question.id + '  '))}\n{fill(_origin(question, lang), '     ')}"
