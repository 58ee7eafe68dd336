"""Measured and Verdict: what they hold, refuse and print."""

import math
import re

import numpy as np
import pytest
import torch

from lmexplain.experiments import JUDGEMENTS, LENGTHS, Measured, Verdict, choose


@pytest.mark.parametrize(
    "given, values",
    [
        (3, (3.0,)),
        ([1, 2.5], (1.0, 2.5)),
        ((x / 2 for x in range(3)), (0.0, 0.5, 1.0)),
        (torch.tensor(4), (4.0,)),
        (torch.tensor([1, 2]), (1.0, 2.0)),
        (np.array([0.25, 0.5]), (0.25, 0.5)),
        (np.float32(1.5), (1.5,)),
    ],
)
def test_of_takes_one_number_or_several(given, values):
    assert Measured.of(given).values == values


def test_mean_and_spread_agree_with_numpy():
    values = [3.1, 2.7, 9.9, -4.0]
    measured = Measured.of(values)
    assert measured.mean == pytest.approx(np.mean(values))
    assert measured.spread == pytest.approx(np.std(values, ddof=1))
    assert (measured.n, measured.low, measured.high) == (4, -4.0, 9.9)


def test_one_value_has_no_spread():
    assert Measured.of(7).spread == 0.0


def test_exact_counts_stay_exact():
    assert Measured.of(2**52 + 1).mean == 2**52 + 1


@pytest.mark.parametrize("given, error", [([], ValueError), (math.nan, ValueError), ("12", TypeError)])
def test_refuses_what_is_no_measurement(given, error):
    with pytest.raises(error):
        Measured.of(given, what="a loss")


def test_a_run_that_diverged_is_infinite():
    measured = Measured.of([1.0, math.inf])
    assert measured.spread == math.inf and measured.number == "1–∞"
    assert Measured.of([math.inf, math.inf]).number == "∞"


@pytest.mark.parametrize(
    "measured, en, zh",
    [
        (Measured.of(2035456, "pairs", unit_zh="个配对"), "2,035,456 pairs", "2,035,456 个配对"),
        (Measured.of(12.1321, "%"), "12.13%", "12.13%"),
        (Measured.of([7, 8, 8], "layers", unit_zh="层"), "7.67 ± 0.58 layers (3 runs)", "7.67 ± 0.58 层（3 次）"),
        (Measured.of([1000.25, 1000.2501]), "1,000 ± 7e-05 (2 runs)", "1,000 ± 7e-05（2 次）"),
        (Measured.of([5, 5]), "5 (2 runs)", "5（2 次）"),
        (Measured.of(0.00012345), "0.0001234", "0.0001234"),
        (Measured.of(3, "keys"), "3 keys", "3 keys"),
    ],
)
def test_is_printed_in_both_languages(measured, en, zh):
    assert (measured.text("en"), measured.text("zh")) == (en, zh)


def test_range_and_label():
    assert Measured.of([7, 8]).range == "7–8"
    assert Measured.of([7, 7]).range == "7"
    measured = Measured.of(1, what="length", what_zh="长度")
    assert (measured.label(), measured.label("zh"), Measured.of(1, what="x").label("zh")) == ("length", "长度", "x")


@pytest.mark.parametrize("judgement", JUDGEMENTS)
def test_verdict_speaks_both_languages(judgement):
    verdict = Verdict(judgement, "why", "为什么")
    assert (verdict.reason(), verdict.reason("zh")) == ("why", "为什么")
    assert verdict.word() == judgement and re.fullmatch("[\u4e00-\u9fff]+", verdict.word("zh"))


@pytest.mark.parametrize("given", [("right", "why", "为什么"), ("correct", "", "为什么"), ("correct", "why", " ")])
def test_verdict_refuses_what_says_nothing(given):
    with pytest.raises(ValueError):
        Verdict(*given)


def test_choose_takes_the_setting_of_the_length():
    assert [choose(length, reduced=1, quick=2, thorough=3) for length in LENGTHS] == [1, 2, 3]
    with pytest.raises(ValueError, match="'short'.*reduced, quick, thorough"):
        choose("short", reduced=1, quick=2, thorough=3)
