"""What takes too long for the sweep: the numbers of the ledger at their full size."""

import pytest

from lmexplain import experiments
from lmexplain.study import ledger
from lmexplain.study.data import claims


@pytest.mark.thorough
def test_fields_of_twelve_layers_at_full_width():
    result = experiments.run("dilated_field", "quick")
    assert (result.plain.mean, result.stacked_stride.mean) == (6_144, 12_288)
    assert result.filled_dilated.mean == pytest.approx(50, abs=0.01) and result.filled_mixed.mean == 100


@pytest.mark.thorough
@pytest.mark.parametrize("claim", claims().values(), ids=lambda claim: claim.id)
def test_the_shipped_ledger_is_what_is_measured(claim):
    """Number for number and label for label; after a change, `lmexplain claims --run --write` makes it anew."""
    shipped = ledger.shipped(claim)
    again = experiments.to_json(experiments.run(claim.experiment, shipped.length, shipped.seed))
    check_same(again, experiments.to_json(shipped.result))


def check_same(a, b):
    assert type(a) is type(b) or {type(a), type(b)} <= {int, float}
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            check_same(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            check_same(one, other)
    else:
        assert a == (b if isinstance(b, str) else pytest.approx(b, rel=1e-9))
