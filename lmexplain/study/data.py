"""Questions and claims: the rows of `questions.yaml` and `claims.yaml`, read and checked.

Every text stands in English and Chinese side by side (`Text`). In a text, backticks mark a formula; nothing else is
markup. A row points to the document and line it comes from; what is in neither of the two documents says so (`badge`).
A mistake in a file raises ValueError with one sentence that names file, row and field.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import yaml

from lmexplain.experiments.measure import JUDGEMENTS
from lmexplain.words import LANGUAGES, word

__all__ = [
    "LEVELS",
    "STANDINGS",
    "Claim",
    "Evidence",
    "FollowUp",
    "Paper",
    "Point",
    "Question",
    "Row",
    "Source",
    "Text",
    "claims",
    "documents",
    "find_claim",
    "find_question",
    "load_claims",
    "load_questions",
    "load_rows",
    "papers",
    "questions",
    "sources",
]

VERSION = 1
LEVELS = ("basic", "intermediate", "advanced")
STANDINGS = ("seed", "copy", "recalled")
"""Where a row was read: in a given document, in a fuller public copy of it, or from memory of it."""


@dataclass(frozen=True)
class Text:
    """One text in both languages."""

    en: str
    zh: str

    def of(self, lang: str) -> str:
        return self.zh if lang == "zh" else self.en

    @classmethod
    def word(cls, key: str) -> "Text":
        """The interface word `key`, in both languages."""
        return cls(*(word(key, lang) for lang in LANGUAGES))


@dataclass(frozen=True)
class Source:
    """Where a row comes from. `line` counts in the given text; None: not in it. `title`: as the document prints it."""

    document: str
    line: int | None
    title: str | None
    described: Text

    def text(self, lang: str = "en") -> str:
        """`document B, line 69`, or that the row stands in neither document."""
        if self.document == "D":
            return word("study.beyond", lang)
        if self.line is None:
            return word("study.document", lang, document=self.document)
        return word("study.document_line", lang, document=self.document, line=self.line)

    def badge(self, standing: str) -> Text | None:
        """What a reader must know of where the row was read; None where it stands in a given document."""
        if self.document == "D":
            return Text.word("study.beyond")
        if standing == "seed":
            standing = "copy" if self.line is None else standing
        return None if standing == "seed" else Text.word(f"study.standing.{standing}")


@dataclass(frozen=True)
class Paper:
    """A paper, or the code that its authors released, as it is cited: its title and its address."""

    cite: str
    title: str
    link: str


@dataclass(frozen=True)
class Evidence:
    """What a statement rests on.

    `kind` is "experiment" (`ref`: its name in `lmexplain.experiments`), "claim" (its id), "paper" (its key in
    `papers.yaml`, where released code stands too; `where`: section, table or function), "figure" (its id), "count":
    exactly `value` pairs of the pattern `ref` at length `n`, or block pairs where `block` gives a size; or
    "parameters": the published model `ref` has exactly `value`, of one `part` where that is named, with a `head`.
    """

    kind: str
    ref: str
    where: str = ""
    n: int = 0
    block: int = 0
    value: int = 0
    part: str = ""
    head: str = ""

    def text(self, lang: str = "en") -> str:
        """As it is printed under the statement."""
        if self.kind == "paper":
            return ", ".join(filter(None, (papers()[self.ref].cite, self.where)))
        if self.kind == "count":
            key = "study.evidence_blocks" if self.block else "study.evidence_pairs"
            return word(key, lang, pattern=self.ref, n=f"{self.n:,}", value=f"{self.value:,}")
        if self.kind == "parameters":
            whole = ", ".join(filter(None, (self.ref, self.head, self.part)))
            return word("study.evidence_parameters", lang, of=whole, value=f"{self.value:,}")
        return word(f"study.evidence_{self.kind}", lang, ref=self.ref)

    @property
    def link(self) -> str:
        return papers()[self.ref].link if self.kind == "paper" else ""


@dataclass(frozen=True)
class Point:
    """One statement and what it rests on: a part of a full answer, to be ticked off, or the trap."""

    text: Text
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class FollowUp:
    """What an interviewer asks next, and the answer."""

    ask: Text
    answer: Text
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Question:
    """An interview question: a spoken answer of 30 seconds, the full answer in points, follow-ups, and the trap."""

    id: str
    source: Source
    standing: str
    wording: Text
    level: str
    models: tuple[str, ...]
    chapter: str
    spoken: Text
    points: tuple[Point, ...]
    followups: tuple[FollowUp, ...]
    trap: Point

    @property
    def badge(self) -> Text | None:
        """What a reader must know of its origin; None where it stands in a given document."""
        return self.source.badge(self.standing)


@dataclass(frozen=True)
class Claim:
    """A factual claim of a source. `verdict` is what the papers say of it; a measured result overrides it.

    `kind` is how it was decided: by an experiment, an exact count, or a citation. `experiment` measures it, and the
    result's method `rule` judges it; "" where a paper alone decides. `more` is what the correction rests on besides.
    """

    id: str
    question: str
    source: Source
    standing: str
    claim: Text
    verdict: str
    correction: Text
    paper: str
    where: str
    kind: str
    experiment: str
    rule: str
    chapter: str
    more: tuple[Evidence, ...] = ()

    @property
    def badge(self) -> Text | None:
        """What a reader must know of its origin; None where it stands in a given document."""
        return self.source.badge(self.standing)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        own = (Evidence("experiment", self.experiment),) if self.experiment else ()
        return (*own, *((Evidence("paper", self.paper, self.where),) if self.paper else ()), *self.more)


@cache
def papers() -> dict[str, Paper]:
    """All papers, and the code released with them, by key."""
    return {key: Paper(**entry) for key, entry in _read("papers.yaml").items()}


@cache
def questions() -> dict[str, Question]:
    """All questions by id, in the order of the file."""
    return load_questions(_read("questions.yaml"))


@cache
def claims() -> dict[str, Claim]:
    """All claims by id, in the order of the file."""
    return load_claims(_read("claims.yaml"))


def find_question(id: str) -> Question:
    """The question of this id (`"b09"` too); ValueError with the known ids where there is none."""
    return _find("question", id, questions())


def find_claim(id: str) -> Claim:
    """The claim of this id (`"c123"` too); ValueError with the known ids where there is none."""
    return _find("claim", id, claims())


def sources(lang: str = "en") -> str:
    """A sentence that says what documents A and B are."""
    described = documents(_read("questions.yaml"))
    return word("study.sources", lang, **{key: text.of(lang) for key, text in described.items()})


def documents(data: dict[str, Any]) -> dict[str, Text]:
    """What each document is, by its letter, from what YAML read of the questions."""
    return {key: Text(entry["en"], entry["zh"]) for key, entry in data.get("documents", {}).items()}


def load_questions(data: dict[str, Any], file: str = "questions.yaml") -> dict[str, Question]:
    """Questions from what YAML read; the documents that they name stand at the top of the same file."""
    described = documents(data)
    return _rows(data, "questions", file, lambda row: _question(row, described))


def load_claims(data: dict[str, Any], file: str = "claims.yaml") -> dict[str, Claim]:
    """Claims from what YAML read."""
    described = documents(_read("questions.yaml"))
    return _rows(data, "claims", file, lambda row: _claim(row, described))


# rows


def _question(row: "Row", documents: dict[str, Text]) -> Question:
    id = row.words("id", pattern=r"[ABD]\d\d[a-z]?")
    question = Question(
        id=id,
        source=_source(row.part("source", "document line title"), documents),
        standing=row.one_of("standing", STANDINGS) if "standing" in row.data else "seed",
        wording=Text(row.words("en"), row.words("zh")),
        level=row.one_of("level", LEVELS),
        models=tuple(row.many("models", str)),
        chapter=row.words("chapter", pattern=r"\d\d"),
        spoken=row.text("spoken"),
        points=tuple(_point(point) for point in row.parts("points", "en zh evidence")),
        followups=tuple(_followup(part) for part in row.parts("followups", "ask answer evidence")),
        trap=_point(row.part("trap", "en zh evidence")),
    )
    if question.source.document != id[0]:
        raise row.error("source.document", f"is {question.source.document}, but the id is {id}; let them agree")
    return question


def _point(row: "Row") -> Point:
    return Point(Text(row.words("en"), row.words("zh")), _evidence(row, required=True))


def _followup(row: "Row") -> FollowUp:
    return FollowUp(row.text("ask"), row.text("answer"), _evidence(row, required=True))


def _claim(row: "Row", documents: dict[str, Text]) -> Claim:
    return Claim(
        id=row.words("id", pattern=r"C\d\d\d"),
        question=row.words("question", pattern=r"[ABD]\d\d[a-z]?"),
        source=_source(row.part("source", "document line title"), documents),
        standing=row.one_of("standing", STANDINGS),
        claim=row.text("claim"),
        verdict=row.one_of("verdict", JUDGEMENTS),
        correction=row.text("correction"),
        paper=row.one_of("paper", papers()),
        where=row.words("where", default=""),
        kind=_kind(row),
        experiment=row.words("experiment", default=""),
        rule=row.words("rule", default="verdict"),
        chapter=row.words("chapter", pattern=r"\d\d"),
        more=_evidence(row, required=False),
    )


def _kind(row: "Row") -> str:
    kind = row.one_of("kind", ("experiment", "count", "citation"))
    if (kind == "citation") == ("experiment" in row.data):
        raise row.error("kind", f"is {kind}; a citation has no experiment, the others name theirs")
    return kind


def _source(row: "Row", documents: dict[str, Text]) -> Source:
    document, line = row.one_of("document", documents), row.data.get("line")
    if line is not None and (not isinstance(line, int) or line < 1):
        raise row.error("line", f"is {line!r}; give a line from 1 on, or null where the text is not at hand")
    if document == "D" and line is not None:
        raise row.error("line", f"is {line}, but document D is beyond the documents; leave it null")
    return Source(document, line, row.words("title", default="") or None, documents[document])


KINDS = {"experiment": "", "claim": "", "figure": "", "paper": "where", "count": "n block value",
         "parameters": "part head value"}  # fmt: skip


def _evidence(row: "Row", required: bool) -> tuple[Evidence, ...]:
    given = row.parts("evidence", " ".join([*KINDS, *KINDS.values()]), required=required)
    if required and not given:
        raise row.error("evidence", "is empty; name the experiment, claim, count, figure or paper that it rests on")
    return tuple(_one_evidence(each) for each in given)


def _one_evidence(row: "Row") -> Evidence:
    kinds = [kind for kind in KINDS if kind in row.data]
    if len(kinds) != 1:
        raise row.error(None, f"names {' and '.join(kinds) or 'no kind'}; give exactly one of {', '.join(KINDS)}")
    kind = kinds[0]
    more = {name: value for name, value in row.data.items() if name != kind}
    if set(more) - set(KINDS[kind].split()):
        raise row.error(None, f"holds {', '.join(more)}, which {kind} does not take")
    if kind == "count" and not {"n", "value"} <= set(more):
        raise row.error("count", "lacks n or value; say how many pairs at which length")
    if kind == "parameters" and "value" not in more:
        raise row.error("parameters", "lacks value; say how many parameters")
    if kind == "paper":
        row.one_of("paper", papers())
    return Evidence(kind, row.words(kind), **more)


Made = TypeVar("Made")


def load_rows(file: str, name: str) -> list["Row"]:
    """The rows of a file of this folder, each of which can check itself (the exercises are read so)."""
    return list(_rows(_read(file), name, file, lambda row: row).values())


def _rows(data: dict[str, Any], name: str, file: str, make: Callable[["Row"], Made]) -> dict[str, Made]:
    if data.get("version") != VERSION:
        raise ValueError(f"{file}: version is {data.get('version')!r}, this program reads {VERSION}")
    made: dict[str, Made] = {}
    for number, given in enumerate(data.get(name) or (), 1):
        if not isinstance(given, dict):
            raise ValueError(f"{file}: {name}[{number}] is {given!r}; write fields with names there")
        row = Row(file, str(given.get("id", f"{name}[{number}]")), given)
        row.only(_FIELDS[name])
        if row.name in made:
            raise row.error("id", "stands twice; give each row an id of its own")
        made[row.name] = make(row)
    return made


_FIELDS = {
    "questions": "id source standing en zh level models chapter spoken points followups trap",
    "claims": "id question source standing claim verdict correction paper where kind experiment rule chapter evidence",
    "exercises": "id chapter title task tokens stub hints mistakes",
}


@dataclass(frozen=True)
class Row:
    """A mapping out of a file that knows where it stands, so that every complaint names file, row and field."""

    file: str
    name: str
    data: dict[str, Any]
    within: str = ""

    def error(self, field: str | None, complaint: str) -> ValueError:
        place = ".".join(filter(None, (self.within, field)))
        return ValueError(f"{self.file}, {self.name}{', ' if place else ''}{place}: {complaint}")

    def only(self, known: str) -> None:
        unknown = sorted(set(self.data) - set(known.split()))
        if unknown:
            raise self.error(unknown[0], f"is no known field; the fields are {known.replace(' ', ', ')}")

    def words(self, field: str, pattern: str = "", default: str | None = None) -> str:
        """A text that is not empty; `default` where it is missing or null."""
        value = self.data.get(field)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise self.error(field, f"is {value!r}; write a text" if field in self.data else "is missing; write a text")
        if pattern and not re.fullmatch(pattern, value):
            raise self.error(field, f"is {value!r}, which does not look like {pattern}")
        if value.count("`") % 2:
            raise self.error(field, "holds a backtick without a partner; formulas stand between two")
        return _joined(value)

    def text(self, field: str) -> Text:
        part = self.part(field, "en zh")
        return Text(part.words("en"), part.words("zh"))

    def part(self, field: str, known: str) -> "Row":
        value = self.data.get(field)
        if not isinstance(value, dict):
            raise self.error(field, f"is {value!r}; give {known.replace(' ', ', ')}" if value else "is missing")
        part = Row(self.file, self.name, value, ".".join(filter(None, (self.within, field))))
        part.only(known)
        return part

    def parts(self, field: str, known: str, required: bool = True) -> list["Row"]:
        value = self.data.get(field)
        if value is None and not required:
            return []
        if not isinstance(value, list) or (required and not value):
            raise self.error(field, "is missing or empty; give a list")
        rows = [Row(self.file, self.name, each, f"{field}[{i}]") for i, each in enumerate(value, 1)]
        if self.within:
            rows = [Row(row.file, row.name, row.data, f"{self.within}.{row.within}") for row in rows]
        for row in rows:
            if not isinstance(row.data, dict):
                raise row.error(None, f"is {row.data!r}; give fields with names")
            row.only(known)
        return rows

    def named(self, field: str) -> dict[str, Text]:
        """Texts with names, each in English and Chinese."""
        value = self.data.get(field)
        if not isinstance(value, dict) or not value:
            raise self.error(field, "is missing or empty; give names, each with en and zh")
        parts = Row(self.file, self.name, value, field)
        return {name: parts.text(name) for name in value}

    def lines(self, field: str) -> str:
        """A text whose line breaks are kept: a piece of a program."""
        self.words(field)
        return self.data[field]

    def many(self, field: str, kind: type) -> list[Any]:
        value = self.data.get(field)
        if not isinstance(value, list) or not value or not all(isinstance(each, kind) for each in value):
            raise self.error(field, f"is {value!r}; give a list with at least one {kind.__name__}")
        return value

    def one_of(self, field: str, known: Iterable[str]) -> str:
        value = self.data.get(field)
        if not isinstance(value, str) or value not in known:
            raise self.error(field, f"is {value!r}; choose one of {', '.join(known)}")
        return value


def _joined(text: str) -> str:
    """One line. YAML folds a line break into a space, which has no place in Chinese or beside a Chinese mark."""
    line = " ".join(text.split())
    line = re.sub(rf"(?<={_HAN})\s+(?={_HAN})", "", line)
    return re.sub(rf"(?<={_MARK})\s+|\s+(?={_MARK})", "", line)


_HAN = "[\u3400-\u9fff]"
_MARK = "[\u3000-\u303f\uff00-\uffef]"


def _find(what: str, id: str, known: dict[str, Made]) -> Made:
    def plain(key: str) -> tuple[str, int, str] | None:
        parts = re.fullmatch(r"([A-Za-z]+)(\d+)([a-z]?)", key.strip())
        return (parts[1].upper(), int(parts[2]), parts[3]) if parts else None

    for key, found in known.items():
        if plain(key) == plain(id):
            return found
    raise ValueError(f"there is no {what} {id!r}; there are {', '.join(known)}")


def _read(name: str) -> dict[str, Any]:
    return yaml.safe_load(files("lmexplain.study").joinpath(name).read_text(encoding="utf-8"))
