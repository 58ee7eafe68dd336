"""Exercises: solutions pass, stubs and likely mistakes fail and are named, and what differs is shown cell by cell."""

import json
import re

import numpy as np
import pytest
import torch

from lmexplain import study
from lmexplain.patterns import (
    Pattern,
    bigbird_tokens,
    cells,
    full,
    global_tokens,
    padding,
    parse,
    random,
    table,
    window,
)
from lmexplain.resources import notebooks_dir
from lmexplain.study import chapter14
from lmexplain.study.data import find_question
from lmexplain.study.practice import exercises, from_rule

MISTAKES = [(id, name) for id, exercise in exercises().items() for name in exercise.code.mistakes]


def html(shown) -> str:
    return shown._repr_mimebundle_()["text/html"]


def test_there_are_enough():
    assert len([exercise for exercise in exercises().values() if exercise.chapter == "14"]) >= 4


@pytest.mark.parametrize("exercise", exercises().values(), ids=exercises())
def test_the_solution_passes(exercise):
    attempt = exercise.check(exercise.code.solution())
    assert attempt.right and attempt.mistake is None and repr(attempt).startswith("✓")
    assert exercise.solution().startswith("def ") and exercise.code.solution.__name__ in exercise.solution()


@pytest.mark.parametrize("exercise", exercises().values(), ids=exercises())
def test_the_stub_fails(exercise):
    """The stub's own expression, read without running it where it is a pattern or a number."""
    if exercise.id == "14.2":
        yours = cells(*((q, k) for q in range(10) for k in range(10) if abs(q - k) in (0, 3, 6)))
    elif exercise.id == "14.4":
        yours = 4096 * 513
    else:
        written = re.search(r"mine = (.+)", exercise.stub)[1]
        yours = int(written) if written.isdigit() else parse(written)
    assert not exercise.check(yours).right


@pytest.mark.parametrize("exercise", exercises().values(), ids=exercises())
def test_card_and_cell_start_alike_and_run_after_the_imports(exercise):
    """What the card shows is the cell below it; it and the solution need the chapter's import cell alone."""
    (chapter,) = notebooks_dir().glob(f"{exercise.chapter}_*.ipynb")
    cells_ = ["".join(cell["source"]) for cell in json.loads(chapter.read_text(encoding="utf-8"))["cells"]]
    card = cells_.index(f'study.exercise("{exercise.id}")')
    assert cells_[card + 1].strip() == exercise.stub.strip()
    imports = next(cell for cell in cells_ if cell.startswith("from lmexplain"))
    program = f"{imports}\n{exercise.stub}\n{exercise.solution()}\nanswer = {exercise.code.solution.__name__}()"
    names: dict = {}
    exec(compile("from __future__ import annotations\n" + program, "cell", "exec"), names)   # noqa: S102
    assert exercise.check(names["answer"]).right and not exercise.check(names["mine"]).right


@pytest.mark.parametrize("id, name", MISTAKES)
def test_a_likely_mistake_fails_and_is_named(id, name):
    exercise = exercises()[id]
    attempt = exercise.check(exercise.code.mistakes[name]())
    assert not attempt.right
    assert attempt.mistake == exercise.mistakes[name]
    assert exercise.mistakes[name].zh in attempt.message("zh")


@pytest.mark.parametrize("exercise", exercises().values(), ids=exercises())
def test_three_mistakes_each_and_tokens_for_every_cell(exercise):
    assert len(exercise.mistakes) >= 3 and len(exercise.hints) >= 2
    target = exercise.code.target()
    if isinstance(target, torch.Tensor):
        assert len(exercise.words("en")) == len(exercise.words("zh")) == len(target)


def test_targets_by_hand():
    target = exercises()["14.1"].code.target()
    assert target[0].tolist() == [True] * 4 + [False] * 8  # [CLS] sees its window and the question
    assert target[2].all() and target[:, 3].all()
    assert exercises()["14.2"].code.target()[5].nonzero().flatten().tolist() == [1, 3, 5, 7, 9]
    assert exercises()["14.4"].code.target() == 2_043_134
    assert exercises()["14.5"].code.target() == 16


def test_targets_are_rules_and_no_pattern_s_answer(monkeypatch):
    """They stand as they are where the package's patterns do not answer at all."""
    expected = {id: exercise.code.target() for id, exercise in exercises().items()}

    def refuse(*_, **__):
        raise AssertionError("a target asks the package")

    monkeypatch.setattr(Pattern, "at", refuse)
    for id, exercise in exercises().items():
        target = exercise.code.target()
        assert torch.equal(target, expected[id]) if isinstance(target, torch.Tensor) else target == expected[id]


def test_bigbird_in_any_way_of_writing():
    assert study.exercise("14.3", bigbird_tokens(r=2, width=3, tokens=(0,), seed=7)).right
    for n, r, seed in [(12, 2, 7), (30, 5, 0), (64, 3, 2**32 - 1)]:
        drawn = from_rule(n, lambda q, k, n=n, r=r, seed=seed: k in chapter14._floyd(seed, q, n, r))
        assert torch.equal(drawn, random(r, seed).at(n).dense())


def test_a_global_token_between_takes_two_layers_and_the_first_one():
    """What exercise 14.5 says of its global token."""
    local = window(512)
    assert len((local | global_tokens(2048)).at(4096).path(4095, 0)) - 1 == 2
    assert len((local | global_tokens(0)).at(4096).path(4095, 0)) - 1 == 1
    task = exercises()["14.5"].task
    assert "somewhere between them: why is the answer 2" in " ".join(task.en.split()) and "在两者之间" in task.zh


@pytest.mark.parametrize("number", [np.int64(2_043_134), np.uint32(2_043_134), torch.tensor(2_043_134)])
def test_whole_numbers_of_other_libraries_count(number):
    assert study.exercise("14.4", number).right


def test_every_right_way_to_write_it_counts():
    by_hand = table(exercises()["14.1"].code.target())
    assert study.exercise("14.1", by_hand).right
    assert study.exercise("14.1", global_tokens(1) | global_tokens(3) | window(5) | global_tokens(2)).right


def test_the_task_may_ask_for_a_way_of_writing():
    attempt = study.exercise("14.2", window(4, 2))
    assert attempt.agrees and not attempt.right and "cells" in attempt.message()


def test_what_differs_is_counted_and_shown():
    attempt = study.exercise("14.1", window(2))
    assert (len(attempt.missing), len(attempt.extra)) == (64, 0)
    assert "query 0 ([CLS]), key 2 (wrote)" in attempt.message()
    page = html(attempt)
    assert page.count("○") == 2 * (64 + 1)  # both languages, and the legend
    assert html(study.exercise("14.1", full())).count(">✕<") == 2 * int((~attempt.target).sum())
    rows = [line for line in repr(attempt).splitlines() if re.match(r" ?\d+ ", line)]
    assert len(rows) == 12 and rows[0].count("○") == 2


def test_a_number_stays_hidden_until_it_is_right():
    low, high, right = (study.exercise("14.4", number) for number in (5, 10**9, 2_043_134))
    assert "5 is too few" in low.message() and "1,000,000,000 is too many" in high.message()
    assert "2,043,134" not in html(low) + html(high) and "2,043,134" in html(right)


@pytest.mark.parametrize(
    "id, yours, says",
    [
        ("14.1", 7, "asks for a pattern"),
        ("14.1", "window(4)", "asks for a pattern"),
        ("14.4", 2.5, "asks for a whole number"),
        ("14.4", True, "asks for a whole number"),
        ("14.4", np.bool_(True), "asks for a whole number"),
        ("14.4", np.float64(2_043_134), "asks for a whole number"),
        ("14.4", "2043134", "asks for a whole number"),
        ("14.4", window(4), "asks for a whole number"),
    ],
)
def test_what_is_no_answer_is_refused(id, yours, says):
    with pytest.raises(TypeError, match=says):
        study.exercise(id, yours)


def test_a_pattern_of_another_size_or_several_is_refused():
    with pytest.raises(ValueError):
        study.exercise("14.1", global_tokens(40))
    with pytest.raises(ValueError, match="one pattern"):
        study.exercise("14.1", padding(torch.ones(2, 12, dtype=torch.bool)))


def test_an_unknown_exercise_names_the_known_ones():
    with pytest.raises(ValueError, match="no exercise '1'; there are 14.1, "):
        study.exercise("1")


@pytest.mark.parametrize("lang, task", [("en", "Write Longformer's pattern"), ("zh", "写出 Longformer")])
def test_hints_and_solution_are_hidden(lang, task):
    exercise = study.exercise("14.1", lang=lang)
    page = html(exercise)
    before = page.split("<details>")[0]
    assert "longformer_for_qa" in page and "longformer_for_qa" not in before
    assert exercise.hints[0].of(lang).split("`")[0] not in before
    assert task in repr(exercise) and "longformer_for_qa" not in repr(exercise)


def test_the_traps_say_the_same_in_both_languages_and_agree_with_the_answers():
    """Each trap stands in a paragraph of either language with the same numbers and formulas."""
    (chapter,) = notebooks_dir().glob("14_*.ipynb")
    texts = ["".join(cell["source"]) for cell in json.loads(chapter.read_text(encoding="utf-8"))["cells"]]
    traps = [text for text in texts if re.search(r"^\*\*.+[.?。？]\*\*", text, re.MULTILINE)][-4:]
    for trap in traps:
        english, chinese = trap.split("\n\n")[-2:]
        assert len(chinese) > 0.25 * len(english), english
        for each in (r"\b\d{2,}\b", r"`[^`]+`", r"\(w/2\)"):
            found = [set(re.findall(each, text, re.ASCII)) for text in (english, chinese)]
            assert found[0] == found[1], english
    assert "authors' own configuration lists 256" in traps[0] and "other libraries list 512" in traps[0]
    said = " ".join(find_question("B09").trap.text.en.split())
    assert "authors' configuration lists 256, other libraries list 512" in said
