"""What takes too long for the sweep: the numbers of the ledger at their full size."""

import pytest

from lmexplain import experiments


@pytest.mark.thorough
def test_fields_of_twelve_layers_at_full_width():
    result = experiments.run("dilated_field", "quick")
    assert (result.plain.mean, result.stacked_stride.mean) == (6_144, 12_288)
    assert result.filled_dilated.mean == pytest.approx(50, abs=0.01) and result.filled_mixed.mean == 100
