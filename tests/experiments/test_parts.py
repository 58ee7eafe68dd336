"""The parts of the experiments against sums by hand, naive loops and the papers' numbers."""

import itertools
import json
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from lmexplain import experiments
from lmexplain.experiments import Measured, dilated_field, global_symmetry, graph_distance, random_keys, window_cost
from lmexplain.patterns import full, global_tokens, random, reach, window


def test_longformer_pairs_are_the_published_count():
    n, side = 4096, 256
    by_hand = sum(min(n - 1, q + side) - max(0, q - side) + 1 for q in range(n))
    assert by_hand == 2_035_456
    assert window_cost.pairs(window(512), n) == by_hand
    assert window_cost.pairs(window(512) | global_tokens(0), n) == by_hand + (2 * n - 1) - (2 * side + 1) == 2_043_134


def test_slope_finds_an_exponent():
    sizes = [10, 100, 1000]
    assert window_cost.slope(sizes, [5 * size**1.7 for size in sizes]) == pytest.approx(1.7)
    assert window_cost.slope(sizes, [4, 4, 4]) == pytest.approx(0)


@pytest.mark.parametrize("layers, width, dilation", [(1, 4, 1), (3, 4, 1), (3, 4, 2), (2, 6, 3)])
def test_field_spans_layers_times_dilation_times_width(layers, width, dilation):
    n = layers * width * dilation + 3
    span, filled = dilated_field.field([window(width, dilation)] * layers, n)
    assert span == layers * width * dilation
    assert filled == pytest.approx(100 * (layers * width + 1) / (span + 1))  # one in `dilation` is reached


def test_plain_layers_below_fill_the_holes():
    span, filled = dilated_field.field([window(4), window(4, 2)], 15)
    assert (span, filled) == (12, 100.0)


def test_field_refuses_a_text_that_cuts_it_short():
    with pytest.raises(ValueError, match="an end of 9 positions"):
        dilated_field.field([window(4)] * 2, 9)


def test_question_stands_between_the_first_two_special_tokens():
    tokens, places = global_symmetry.question_and_document(64)
    assert len(tokens) == 64 and tokens[0] == "[CLS]" and tokens[-1] == "[SEP]"
    assert tokens[places[-1] + 1] == "[SEP]" and "[SEP]" not in [tokens[place] for place in places]
    assert " ".join(tokens[place] for place in places) == "Who may vote on a general resolution in the Debian project ?"


def test_symmetry_takes_the_least_of_the_places():
    allowed = torch.ones(4, 4, dtype=torch.bool)
    allowed[3, 1] = False  # token 3 does not see place 1
    allowed[2, :2] = False  # place 2 sees half of the tokens
    see, sees = global_symmetry.symmetry(allowed, (0, 1, 2))
    assert (see, sees) == (50.0, 50.0)


def test_longformer_base_has_the_published_parameters():
    total, projections = global_symmetry.longformer_base()
    assert projections == 12 * 3 * (768**2 + 768) == 21_261_312
    assert total == 148_659_456


def test_chi_square_by_hand():
    assert random_keys.chi_square(torch.tensor([10, 10, 10])) == 0
    assert random_keys.chi_square(torch.tensor([8, 12])) == pytest.approx((4 + 4) / 10 / 1)


def test_shared_counts_what_neighbours_have_in_common():
    allowed = torch.tensor([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]], dtype=torch.bool)
    assert random_keys.shared(allowed) == 100 * 2 / 4


@pytest.mark.parametrize(
    "pattern", [window(3), random(2, 5), window(3) | random(1, 2), window(3) | global_tokens(0), full()]
)
def test_distances_agree_with_a_naive_search(pattern):
    n = 24
    allowed = pattern.at(n).dense()
    counts = graph_distance.distances(allowed)
    naive = floyd_warshall(allowed.numpy())
    expected = [int((naive == distance).sum()) for distance in range(len(counts))]
    assert counts.tolist() == expected
    finite = naive[np.isfinite(naive)]
    assert graph_distance.diameter(counts) == finite.max()
    assert graph_distance.mean_path(counts) == pytest.approx(finite[finite > 0].mean())


def test_distances_agree_with_reach():
    n, pattern = 20, window(3) | random(1, 4)
    counts = graph_distance.distances(pattern.at(n).dense())
    for layers in range(1, len(counts)):
        assert counts[: layers + 1].sum() == reach([pattern.at(n)] * layers).sum()


def floyd_warshall(allowed: np.ndarray) -> np.ndarray:
    far = np.where(allowed, 1.0, np.inf)
    np.fill_diagonal(far, 0)
    for k, i, j in itertools.product(range(len(allowed)), repeat=3):
        far[i, j] = min(far[i, j], far[i, k] + far[k, j])
    return far


def test_a_result_survives_json():
    result = window_cost.WindowCost(
        512, (1, 2), (Measured.of(1, "pairs"), Measured.of([2, 3])), 2, (4,), (Measured.of(5),),
        *(Measured.of(value) for value in range(7)),
    )  # fmt: skip
    kept = json.loads(json.dumps(experiments.to_json(result)))
    assert experiments.from_json(window_cost.WindowCost, kept) == result
    assert len(experiments.numbers(result)) == 2 + 1 + 7


@pytest.mark.parametrize("kept", [{"width": 1}, {"no": 1}, {"width": {"values": []}}])
def test_json_of_something_else_is_refused(kept):
    with pytest.raises((TypeError, ValueError)):
        experiments.from_json(window_cost.WindowCost, kept)


def test_only_results_become_json():
    with pytest.raises(TypeError):
        experiments.to_json({"a": 1})
    with pytest.raises(TypeError):
        experiments.to_json(WithSomethingElse(object()))


@dataclass(frozen=True)
class WithSomethingElse:
    field: object


def test_unknown_names_and_lengths_are_refused():
    with pytest.raises(ValueError, match="no experiment 'nothing'.*window_cost"):
        experiments.run("nothing")
    with pytest.raises(ValueError, match="length='long'"):
        experiments.run("window_cost", "long")
