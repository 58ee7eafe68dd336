"""Every rule by which numbers become a verdict can give both answers: made-up numbers, no measuring."""

import dataclasses
import re
import typing

import pytest

from lmexplain import experiments
from lmexplain.experiments import Measured

# What is made up of each result: fields that carry the verdict, and the verdict they must carry.
CASES = {
    "window_cost": [
        ({"exponent_length": 1.01, "exponent_width": 0.98}, "correct"),
        ({"exponent_length": 1.01, "exponent_width": 0.4}, "imprecise"),
        ({"exponent_length": 2.0, "exponent_width": 1.0}, "imprecise"),
        ({"exponent_length": 2.0, "exponent_width": 0.0}, "wrong"),
    ],
    "dilated_field": [
        ({"one_layer_stride": 1024, "one_layer_gap": 1536, "cost": 97.0}, "imprecise"),
        ({"one_layer_stride": 700, "one_layer_gap": 1024, "cost": 97.0}, "correct"),
        ({"one_layer_stride": 700, "one_layer_gap": 1536, "cost": 97.0}, "wrong"),
        ({"one_layer_stride": 1024, "one_layer_gap": 1536, "cost": 150.0}, "wrong"),
    ],
    "global_symmetry": [
        ({"see_cls": 100, "seen_by_cls": 100, "see_question": 100, "seen_by_question": 100}, "correct"),
        ({"see_cls": 100, "seen_by_cls": 12, "see_question": 100, "seen_by_question": 100}, "imprecise"),
        ({"see_cls": 100, "seen_by_cls": 100, "see_question": 50, "seen_by_question": 100}, "imprecise"),
        ({"see_cls": 99, "seen_by_cls": 99, "see_question": 100, "seen_by_question": 100}, "wrong"),
    ],
    "random_keys": [
        ({"fewest": 3, "most": 3, "unevenness": 1.02}, "correct"),
        ({"fewest": 3, "most": 3, "unevenness": 40.0}, "imprecise"),
        ({"fewest": 2, "most": 3, "unevenness": 1.02}, "wrong"),
    ],
    "graph_distance": [
        ({"see_global": 100, "global_diameter": 2, "both_diameter": 7}, "correct"),
        ({"see_global": 100, "global_diameter": 4, "both_diameter": 7}, "imprecise"),
        ({"see_global": 100, "global_diameter": 2, "both_diameter": 2}, "imprecise"),
        ({"see_global": 99.9, "global_diameter": 2, "both_diameter": 7}, "wrong"),
    ],
    "mask_matrix": [
        ({"bidirectional": 9, "left_to_right": 5, "sequence_to_sequence": 7, "obeyed": 100}, "correct"),
        ({"bidirectional": 9, "left_to_right": 5, "sequence_to_sequence": 9, "obeyed": 100}, "imprecise"),
        ({"bidirectional": 9, "left_to_right": 5, "sequence_to_sequence": 7, "obeyed": 99.5}, "wrong"),
    ],
    "factorized_embedding": [
        ({"whole_base": 9, "factored_base": 4, "whole_xxlarge": 90, "factored_xxlarge": 5}, "correct"),
        ({"whole_base": 9, "factored_base": 10, "whole_xxlarge": 90, "factored_xxlarge": 5}, "imprecise"),
        ({"whole_base": 9, "factored_base": 10, "whole_xxlarge": 90, "factored_xxlarge": 95}, "wrong"),
    ],
    "shared_layers": [
        ({"own_layers": 1, "run_layers": 12}, "correct"),
        ({"own_layers": 3, "run_layers": 12}, "imprecise"),
        ({"own_layers": 12, "run_layers": 12}, "wrong"),
    ],
    "module_replacing": [({"module": 4}, "correct"), ({"module": 2.4}, "wrong")],
}
#: Rules other than `verdict`: experiment and method, what is made up, what it must say.
RULES = [
    ("factorized_embedding", "decomposition", {"rank": 128, "embedding": 128, "width": 768}, "correct"),
    ("factorized_embedding", "decomposition", {"rank": 768, "embedding": 128, "width": 768}, "wrong"),
    ("module_replacing", "trained", {"successor_trained": 100, "other_trained": 0}, "correct"),
    ("module_replacing", "trained", {"successor_trained": 100, "other_trained": 4}, "imprecise"),
    ("module_replacing", "trained", {"successor_trained": 50, "other_trained": 0}, "wrong"),
    ("module_replacing", "distils", {"beyond_task": 0}, "imprecise"),
    ("module_replacing", "distils", {"beyond_task": 0.3}, "correct"),
]
SETTINGS = {"dilation": 2, "width": 512, "r": 3}


def made_up(name: str, **numbers: float):
    """A result whose fields are all 1, but for the settings above and the numbers given."""
    kind = experiments.result_type(name)
    values = {}
    for field in dataclasses.fields(kind):
        hint = typing.get_type_hints(kind)[field.name]
        value = numbers.get(field.name, SETTINGS.get(field.name, 1))
        if hint is Measured:
            values[field.name] = Measured.of(value)
        else:
            values[field.name] = (value,) if typing.get_origin(hint) is tuple else value
    return kind(**values)


@pytest.mark.parametrize("name, numbers, judgement", [(name, *case) for name, cases in CASES.items() for case in cases])
def test_numbers_decide(name, numbers, judgement):
    assert made_up(name, **numbers).verdict().judgement == judgement


@pytest.mark.parametrize("name, rule, numbers, judgement", RULES)
def test_other_rules_decide_by_numbers_too(name, rule, numbers, judgement):
    verdict = getattr(made_up(name, **numbers), rule)()
    assert verdict.judgement == judgement
    assert digits(verdict.because) == digits(verdict.because_zh) != []


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_every_experiment_is_here_and_can_say_yes_and_no(name):
    judgements = {judgement for _, judgement in CASES[name]}
    assert {"correct", "wrong"} <= judgements


@pytest.mark.parametrize("name, numbers", [(name, case[0]) for name, cases in CASES.items() for case in cases])
def test_both_reasons_name_the_same_numbers(name, numbers):
    verdict = made_up(name, **numbers).verdict()
    assert digits(verdict.because) == digits(verdict.because_zh) != []


def digits(text: str) -> list[str]:
    return sorted(re.findall(r"\d[\d,.]*\d|\d", text))


def test_all_is_said_as_all():
    """No "at least 100%", and nothing short of all is rounded up to it."""
    whole = {"see_cls": 100, "seen_by_cls": 100, "see_question": 100, "seen_by_question": 100}
    for name, numbers in (("global_symmetry", whole), ("graph_distance", {"see_global": 100})):
        low = next(iter(numbers))
        every, most = made_up(name, **numbers).verdict(), made_up(name, **{**numbers, low: 99.9}).verdict()
        assert "100%" not in every.because + every.because_zh + most.because + most.because_zh
        assert "99.9%" in most.because and "99.9%" in most.because_zh
        assert "all " in every.because and ("全部" in every.because_zh or "所有" in every.because_zh)
