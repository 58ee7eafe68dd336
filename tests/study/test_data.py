"""The rows of questions, claims and exercises: languages agree, pointers lead somewhere, mistakes are named."""

import copy
import re
from collections import Counter

import pytest
import yaml

from lmexplain import experiments
from lmexplain.patterns import parse
from lmexplain.study import data
from lmexplain.study.data import Text, claims, load_claims, load_questions, papers, questions
from lmexplain.study.practice import exercises

ALL = {**questions(), **claims(), **exercises()}


def texts(value, name=""):
    """Every Text of a row with its place, found by walking the dataclasses."""
    if isinstance(value, Text):
        yield name, value
    elif isinstance(value, tuple):
        for number, each in enumerate(value):
            yield from texts(each, f"{name}[{number}]")
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from texts(each, f"{name}.{key}")
    elif hasattr(value, "__dataclass_fields__"):
        for field in value.__dataclass_fields__:
            yield from texts(getattr(value, field), f"{name}.{field}")


def numbers(text: str) -> Counter:
    return Counter(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?%?", text))


def formulas(text: str) -> Counter:
    return Counter(re.findall(r"`([^`]*)`", text))


@pytest.mark.parametrize("id", ALL)
def test_formulas_and_links_agree(id):
    for name, text in texts(ALL[id]):
        assert formulas(text.en) == formulas(text.zh), name
        assert re.findall(r"https?://\S+", text.en) == re.findall(r"https?://\S+", text.zh), name
        assert not re.search(r"[\u4e00-\u9fff]", text.en), name


@pytest.mark.parametrize("id", ALL)
def test_numbers_agree(id):
    """"two" may be 两; what is written in digits is written in digits on both sides."""
    for name, text in texts(ALL[id]):
        assert numbers(text.en) == numbers(text.zh), name


def test_chinese_is_chinese():
    plain = [text.zh for row in ALL.values() for name, text in texts(row) if ".tokens" not in name]
    assert all(re.search(r"[\u4e00-\u9fff]", text) for text in plain)
    assert not any(re.search(r"[\u4e00-\u9fff] [\u4e00-\u9fff]|[，。；：] ", text) for text in plain)


@pytest.mark.parametrize("question", questions().values(), ids=lambda question: question.id)
def test_questions_are_whole(question):
    assert len(question.points) >= 4 and len(question.followups) >= 2
    assert len(question.spoken.en.split()) <= 90, "thirty seconds are some 80 words"
    assert len(re.findall(r"[\u4e00-\u9fff]|[A-Za-z\d]+", question.spoken.zh)) <= 180
    for point in (*question.points, *question.followups):
        for evidence in point.evidence:
            check_evidence(evidence)


def check_evidence(evidence):
    """Every pointer leads somewhere, and every count comes out again."""
    if evidence.kind == "experiment":
        assert evidence.ref in experiments.EXPERIMENTS
    elif evidence.kind == "claim":
        assert evidence.ref in claims()
    elif evidence.kind == "paper":
        assert evidence.link == papers()[evidence.ref].link
    elif evidence.kind == "count":
        grid = parse(evidence.ref).at(evidence.n)
        assert evidence.value == (int((grid.blocks(evidence.block) > 0).sum()) if evidence.block else grid.pairs())
    else:
        pytest.fail(f"nothing checks {evidence.kind}")


@pytest.mark.parametrize("claim", claims().values(), ids=lambda claim: claim.id)
def test_claims_lead_somewhere(claim):
    assert claim.question in questions()
    assert claim.chapter == questions()[claim.question].chapter
    assert claim.experiment in experiments.EXPERIMENTS
    assert callable(getattr(experiments.result_type(claim.experiment), claim.rule))


def test_papers_are_cited_by_their_number():
    for paper in papers().values():
        number = re.search(r"arXiv:(\S+)", paper.cite)
        assert number and paper.link == f"https://arxiv.org/abs/{number[1]}"


def test_the_first_rows_are_there():
    assert list(questions()) == ["B09", "B10"]
    assert list(claims()) == ["C123", "C124", "C125", "C126", "C127"]
    assert questions()["B09"].source.line == 69
    assert questions()["B10"].source.title == "Big Bird的Self-Attention模式是什么？"


def test_the_numbers_in_a_verdict_s_correction_are_the_sources():
    # from the papers, by hand
    assert "2,035,456" in claims()["C123"].correction.en and "12,288" in claims()["C124"].correction.en
    assert "21,261,312" in claims()["C125"].correction.zh and "622" in claims()["C126"].correction.zh


@pytest.mark.parametrize("id, found", [("B09", "B09"), ("b09", "B09"), (" b10 ", "B10")])
def test_a_question_is_found(id, found):
    assert data.find_question(id).id == found


def test_an_unknown_id_names_the_known_ones():
    with pytest.raises(ValueError, match="no claim 'C999'.*C123"):
        data.find_claim("C999")
    with pytest.raises(ValueError, match="no question ''.*B09"):
        data.find_question("")


# mistakes in a file

QUESTIONS = data._read("questions.yaml")
CLAIMS = data._read("claims.yaml")


def broken(rows: dict, path: str, value) -> dict:
    """A copy with one place changed; `path` like "questions.0.points.1.zh"; value ... takes the place away."""
    rows = copy.deepcopy(rows)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place = rows
    for step in way:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return rows


@pytest.mark.parametrize(
    "path, value, says",
    [
        ("version", 2, "version is 2"),
        ("questions.0.zh", ..., "B09, zh: is missing"),
        ("questions.0.en", "", "B09, en: is ''"),
        ("questions.0.level", "hard", "B09, level: is 'hard'; choose one of basic, intermediate, advanced"),
        ("questions.0.points.1.zh", ..., r"B09, points\[2\].zh: is missing"),
        ("questions.0.points.1.evidence", [], r"points\[2\].evidence: is missing or empty"),
        ("questions.0.points.1.evidence", [{"paper": "lost"}], r"points\[2\].evidence\[1\].paper: is 'lost'"),
        ("questions.0.points.1.evidence", [{"paper": "bigbird", "claim": "C126"}], "exactly one of"),
        ("questions.0.points.1.evidence", [{"count": "full()"}], "lacks n or value"),
        ("questions.0.points.1.evidence", [{"claim": "C126", "n": 4}], "holds n, which claim does not take"),
        ("questions.0.points.1.evidence", ["C126"], "give fields with names"),
        ("questions.0.points", ..., "B09, points: is missing or empty"),
        ("questions.0.spoken", {"en": "x"}, "B09, spoken.zh: is missing"),
        ("questions.0.spoken", "x", "B09, spoken: is 'x'; give en, zh"),
        ("questions.0.trap.en", "an `odd backtick", "B09, trap.en: holds a backtick without a partner"),
        ("questions.0.followups.0.answer", {"en": "x", "zh": "y", "fr": "z"}, r"followups\[1\].answer.fr: is no known"),
        ("questions.0.source.line", 0, "B09, source.line: is 0"),
        ("questions.0.source.document", "X", "B09, source.document: is 'X'; choose one of A, B, D"),
        ("questions.0.source.document", "A", "the id is B09"),
        ("questions.0.models", [], "B09, models: is \\[\\]"),
        ("questions.0.chapter", 14, "B09, chapter: is 14; write a text"),
        ("questions.0.colour", "blue", "B09, colour: is no known field"),
        ("questions.1.id", "B09", "B09, id: stands twice"),
        ("questions.1.id", "X1", "X1, id: is 'X1'"),
        ("questions.1", "B10", "write fields with names there"),
    ],
)
def test_a_mistake_in_a_question_is_named(path, value, says):
    with pytest.raises(ValueError, match=f"questions.yaml.*{says}"):
        load_questions(broken(QUESTIONS, path, value))


@pytest.mark.parametrize(
    "path, value, says",
    [
        ("claims.0.verdict", "right", "C123, verdict: is 'right'; choose one of correct, imprecise, wrong, depends"),
        ("claims.0.standing", "heard", "C123, standing: is 'heard'"),
        ("claims.0.claim.zh", " ", "C123, claim.zh: is ' '"),
        ("claims.0.correction", ..., "C123, correction: is missing"),
        ("claims.0.paper", "nobody", "C123, paper: is 'nobody'"),
        ("claims.0.kind", "hearsay", "C123, kind: is 'hearsay'"),
        ("claims.0.source.line", "73", "C123, source.line: is '73'"),
    ],
)
def test_a_mistake_in_a_claim_is_named(path, value, says):
    with pytest.raises(ValueError, match=f"claims.yaml.*{says}"):
        load_claims(broken(CLAIMS, path, value))


@pytest.mark.parametrize(
    "standing, line, badge",
    [
        ("seed", 73, None),
        ("copy", None, "in a fuller copy of the document"),
        ("recalled", None, "recalled, not in the document at hand"),
        ("seed", None, "in a fuller copy of the document"),
    ],
)
def test_a_claim_outside_the_documents_carries_a_badge(standing, line, badge):
    rows = broken(broken(CLAIMS, "claims.0.standing", standing), "claims.0.source.line", line)
    claim = load_claims(rows)["C123"]
    assert (claim.badge.en if claim.badge else None) == badge


def test_a_question_beyond_the_documents_says_so():
    rows = broken(broken(QUESTIONS, "questions.0.id", "D01"), "questions.0.source", {"document": "D", "line": None})
    question = load_questions(rows)["D01"]
    assert question.badge.en == question.source.text("en") == "beyond the two documents"
    assert question.source.text("zh") == "两份文档之外"


@pytest.mark.parametrize(
    "written, read",
    [
        ("滑动\n  窗口", "滑动窗口"),
        ("每个 token\n  只看", "每个 token 只看"),
        ("如此。\n  12 层", "如此。12 层"),
        ("two\n  lines", "two lines"),
    ],
)
def test_folded_lines_leave_no_gap_in_chinese(written, read):
    assert data._joined(yaml.safe_load(f"x: >-\n  {written}")["x"]) == read
