"""Blocks so small that short inputs have several of them, joined and cut like long ones."""

import pytest
import torch

from lmexplain import attention


@pytest.fixture(scope="module")
def small_blocks():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)                # tensors too small to share out
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "BLOCK", 8)
        patch.setattr(attention, "ROWS_AT_ONCE", 24)
        attention._plan.cache_clear()
        yield
    attention._plan.cache_clear()
    torch.set_num_threads(threads)
