"""The rows of questions, claims and exercises: languages agree, pointers lead somewhere, mistakes are named."""

import copy
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml

from lmexplain import experiments
from lmexplain.experiments import numbers as measurements
from lmexplain.models import MODELS
from lmexplain.models.counts import config_of, count, on_meta
from lmexplain.patterns import parse
from lmexplain.study import data, ledger
from lmexplain.study.data import Text, claims, load_claims, load_questions, papers, questions
from lmexplain.study.practice import exercises
from lmexplain.words import glossary

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
    for point in (*question.points, *question.followups, question.trap):
        assert point.evidence
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
    elif evidence.kind == "parameters":
        model = next(model for model in MODELS.values() if evidence.ref in config_of(model).PUBLISHED)
        found = count(on_meta(model, config_of(model).published(evidence.ref), evidence.head or None))
        assert evidence.value == (found[evidence.part] if evidence.part else found).parameters
    else:
        pytest.fail(f"nothing checks {evidence.kind}")


@pytest.mark.parametrize("claim", claims().values(), ids=lambda claim: claim.id)
def test_claims_lead_somewhere(claim):
    assert claim.question in questions()
    assert claim.chapter == questions()[claim.question].chapter
    if claim.kind != "citation":
        assert claim.experiment in experiments.EXPERIMENTS
        assert callable(getattr(experiments.result_type(claim.experiment), claim.rule))
    for evidence in claim.evidence:
        check_evidence(evidence)


def test_papers_are_cited_by_their_number_and_code_by_its_commit():
    for key, paper in papers().items():
        if number := re.search(r"arXiv:(\S+)", paper.cite):
            assert paper.link == f"https://arxiv.org/abs/{number[1]}"
        else:
            repository, commit, file = re.fullmatch(r"(\S+) at (\w{7}), (\S+)", paper.cite).groups()
            assert re.fullmatch(rf"https://github.com/{repository}/blob/{commit}\w*/{file}", paper.link), key


TERMS = {key: term.name for key, term in glossary("zh").items()} | {"dilation": "空洞"}  # 空洞率 is the number


@pytest.mark.parametrize("id", ALL)
def test_terms_are_the_glossary_s(id):
    for name, text in texts(ALL[id]):
        check_terms(text.en, text.zh, name)


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_terms_of_results_are_the_glossary_s(name):
    record = ledger.shipped(next(claim for claim in claims().values() if claim.experiment == name))
    verdict = record.result.verdict()
    for en, zh in [(verdict.because, verdict.because_zh), *((m.what, m.what_zh) for m in measurements(record.result))]:
        check_terms(en, zh, en)


def check_terms(en, zh, where):
    for key, term in glossary("en").items():
        if re.search(rf"\b{re.escape(term.name)}\b", en, re.IGNORECASE):
            assert TERMS[key] in zh, where


# numbers in prose, against what was measured or published


def said(id: str, where: str) -> Text:
    row = ALL[id]
    part, _, number = where.partition(" ")
    found = getattr(row, part)
    found = found[int(number) - 1] if number else found
    return found if isinstance(found, Text) else getattr(found, "answer", None) or found.text


def result(id: str):
    return ledger.shipped(claims()[id]).result


PROSE = [
    ("B10", "points 5", lambda: f"some {result('C127').random_unreached.mean:.0f}% of the pairs unconnected"),
    ("B10", "points 5", lambda: f"{result('C127').window_diameter.mean:,.0f} layers apart"),
    ("B10", "points 5", lambda: f"need {between(result('C127').both_diameter)} layers,"),
    ("B10", "points 5", lambda: f"{result('C127').both_path.mean:.1f} on average"),
    ("B10", "points 5", lambda: f"every pair within {result('C127').global_diameter.range}."),
    ("B10", "trap", lambda: f"stays {between(result('C127').one_way_diameter)} layers away"),
    ("B10", "trap", lambda: f"instead of {result('C127').global_diameter.range}."),
    ("B10", "points 1", lambda: f"a query has {result('C126').keys_in_blocks.mean:.0f} random keys"),
    ("B09", "trap", lambda: f"{result('C123').one_sided.mean:.2f} times the pairs"),
    ("B09", "points 2", lambda: f"{result('C124').plain.mean:,.0f} positions"),
    ("B09", "points 6", lambda: f"{result('C125').projections.mean:,.0f}` of {result('C125').parameters.mean:,.0f}"),
    ("B09", "points 7", lambda: f"{result('C123').longformer.mean:,.0f} of {4096**2:,} pairs"),
    ("B09", "points 7", lambda: f"{result('C123').longformer_share.mean:.1f}%"),
    ("C123", "correction", lambda: f"{result('C123').longformer.mean:,.0f} pairs"),
    ("C123", "correction", lambda: f"{result('C123').longformer_global.mean:,.0f} with one global token"),
    ("C124", "correction", lambda: f"{result('C124').stacked_stride.mean:,.0f} with `d = 2`"),
    ("C126", "correction", lambda: f"{result('C126').block_share.mean:.1f}%"),
]


def between(number) -> str:
    return f"{number.low:.0f} to {number.high:.0f}"


@pytest.mark.parametrize("id, where, number", PROSE)
def test_numbers_in_prose_are_the_ledger_s(id, where, number):
    """The Chinese holds the same numbers (test_numbers_agree)."""
    assert number() in said(id, where).en


def test_what_is_said_of_the_published_plans_is_theirs():
    """C126 and B10, against block plans that the released code drew: (heads, blocks - 2, r), row i of block i + 1."""
    file = Path(__file__).parents[1] / "reference" / "bigbird_plan.npz"
    with np.load(file, allow_pickle=False) as plans:
        short, long = (plans[f"out/layer/{n}_64_3_h12_seed0"] for n in (1024, 4096))
    rows = [(i, set(row)) for head in short.tolist() for i, row in enumerate(head, 1)]
    repeated = sum(bool(row & {0, i - 1, i, i + 1, 15}) for i, row in rows)
    blocks = sorted(set(long.ravel().tolist()))
    visible = {sum(len({*row, 0, i - 1, i, i + 1, 63}) for i, row in enumerate(head, 1)) + 2 * 64 for head in long}
    text = said("C126", "correction").en
    assert f"in {repeated} of {len(rows)} rows of one plan" in text
    assert blocks == list(range(1, 16)), "an unbroken range"
    assert f"blocks {blocks[0]} to {blocks[-1]} of {long.shape[1] + 2}, counted from 0;" in text
    assert (blocks[-1] + 1) * 64 == 1024 and "among the first 1,024 tokens" in text
    assert visible == {622} and "622 of 4,096 block pairs" in text
    assert not (long == long[0]).all(), "each head draws anew"
    assert "the first 1,024 tokens" in said("B10", "points 1").en


def test_the_first_rows_are_there():
    assert {"B09", "B10", "A11b", "B04", "B06", "B11", "D08"} <= questions().keys()
    assert {"C058", "C102", "C110", "C123", "C127", "C143"} <= claims().keys()
    assert questions()["B11"].source.title == "Theseus蒸馏方法是什么？" and questions()["D08"].badge
    assert questions()["B09"].source.line == 69
    assert questions()["B10"].source.title == "Big Bird的Self-Attention模式是什么？"
    assert claims()["C124"].source.title == "Dilated Sliding Window（空洞滑窗机制）"
    assert claims()["C127"].source.title == questions()["B10"].source.title


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
        ("questions.0.trap.evidence", ..., "B09, trap.evidence: is missing or empty"),
        ("questions.0.followups.0.evidence", ..., r"B09, followups\[1\].evidence: is missing or empty"),
        ("questions.0.standing", "heard", "B09, standing: is 'heard'; choose one of seed, copy, recalled"),
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
        ("claims.0.kind", "citation", "C123, kind: is citation; a citation has no experiment"),
        ("claims.0.experiment", ..., "C123, kind: is count; a citation has no experiment"),
        ("claims.3.evidence", [{"paper": "lost"}], r"C126, evidence\[1\].paper: is 'lost'"),
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
def test_what_stands_outside_the_documents_carries_a_badge(standing, line, badge):
    rows = broken(broken(CLAIMS, "claims.0.standing", standing), "claims.0.source.line", line)
    claim = load_claims(rows)["C123"]
    asked = broken(broken(QUESTIONS, "questions.0.standing", standing), "questions.0.source.line", line)
    for row in (claim, load_questions(asked)["B09"]):
        assert (row.badge.en if row.badge else None) == badge
        assert bool(row.badge and re.search("[\u4e00-\u9fff]", row.badge.zh)) == bool(badge)


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
