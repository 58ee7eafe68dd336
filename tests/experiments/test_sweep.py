"""Every experiment, reduced: it runs, repeats itself, survives JSON, and gives the verdict that the ledger expects."""

import pytest

from lmexplain import experiments
from lmexplain.experiments import numbers
from lmexplain.study import ledger
from lmexplain.study.data import claims

pytestmark = pytest.mark.sweep


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_reduced(name):
    result = experiments.run(name, "reduced", seed=0)
    assert type(result) is experiments.result_type(name)
    assert all(number.what and number.what_zh for number in numbers(result))
    assert experiments.from_json(type(result), experiments.to_json(result)) == result
    for claim in claims().values():
        if claim.experiment == name:
            assert ledger.judge(claim, result).judgement == claim.verdict
            assert ledger.judge(claim, ledger.shipped(claim).result).judgement == claim.verdict


def test_same_seed_same_numbers_and_other_seed_other_numbers():
    first, again, other = (experiments.run("random_keys", "reduced", seed) for seed in (1, 1, 2))
    assert first == again != other


def test_random_keys_measures_what_the_paper_states():
    result = experiments.run("random_keys", "reduced")
    assert result.block_pairs.mean == 622 and round(result.block_share.mean, 1) == 15.2
    assert result.keys_in_blocks.mean == 3 * 64 and result.shared_blocks.mean == 100


def test_graph_distances_are_those_of_theory():
    result = experiments.run("graph_distance", "reduced")
    assert result.window_diameter.mean == result.n - 1  # one key each side
    assert result.window_path.mean == pytest.approx((result.n + 1) / 3)  # mean of |i - j|
    assert result.global_diameter.high == 2 and result.random_unreached.low > 0
    assert result.window_growth.mean == pytest.approx(1, abs=0.01) and result.both_growth.mean < 0.3
