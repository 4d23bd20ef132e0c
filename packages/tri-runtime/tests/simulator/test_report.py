from __future__ import annotations

import numpy as np
import pytest

from tri_core.target import Memory as MemorySpec
from tri_runtime.simulator.memory import Access
from tri_runtime.simulator.report import Line, Report, _count, bank_cycles

LANES = np.arange(32)
BANKS = MemorySpec(name="shared", address_space=3)


@pytest.mark.parametrize(
    ("addresses", "nbytes", "cycles"),
    [
        (4 * LANES, 4, 1),
        (8 * LANES, 4, 2),
        (128 * LANES, 4, 32),
        (0 * LANES, 4, 1),
        (16 * LANES, 16, 4),
        (132 * LANES, 4, 1),
        (2 * LANES, 2, 1),
        (256 * LANES, 16, 32),
    ],
)
def test_cycles_of_shared_memory(addresses: np.typing.NDArray[np.int64], nbytes: int, cycles: int) -> None:
    assert bank_cycles(addresses, nbytes, 32, 4)[0] == cycles


@pytest.mark.parametrize(
    ("addresses", "nbytes", "sectors", "ideal"),
    [
        (4 * LANES, 4, 4, 4),
        (4 * LANES + 4, 4, 5, 4),
        (128 * LANES, 4, 32, 4),
        (16 * LANES, 16, 16, 16),
        (0 * LANES, 4, 1, 1),
    ],
)
def test_sectors_of_global_memory(
    addresses: np.typing.NDArray[np.int64], nbytes: int, sectors: int, ideal: int
) -> None:
    line = Line("k", "global", "load", None)
    # two warps do the same: they share nothing
    both = Access("global", "load", 0, np.concatenate([addresses] * 2), np.arange(64), nbytes)
    _count(line, both, 32, BANKS)
    assert (line.accesses, line.transactions, line.ideal) == (2, 2 * sectors, 2 * ideal)
    assert line.efficiency == ideal / sectors


def test_notebooks_show_the_table() -> None:
    report = Report({("k", "global", "load", "a.py:1"): Line("<k>", "global", "load", None, 1, 128, 8, 4)})
    shown = report._repr_html_()
    assert "<td>&lt;k&gt;</td><td>(compiler)</td><td>global</td><td>load</td>" in shown
    assert "<td>1</td><td>128</td><td>8</td><td>4</td><td>50%</td>" in shown


def test_the_picture_has_a_bar_per_line() -> None:
    pytest.importorskip("matplotlib")
    report = Report({("k", "global", "load", "a.py:1"): Line("k", "global", "load", None, 1, 128, 8, 4)})
    figure = report.picture()
    assert [b.get_width() for b in figure.axes[0].patches] == [8, 4]
