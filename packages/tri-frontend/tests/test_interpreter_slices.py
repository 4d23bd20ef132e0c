"""The ops and elements that one stored element comes from."""

from __future__ import annotations

import numpy as np

import tri
import tri.language as tl
from tri.interpreter.observing import observed
from tri.interpreter.slices import Slicer, Step
from tri.verifying import trial_of


@tri.jit
def rows(x, y, n, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    block = tl.load(x + i[:, None] * N + j[None, :], mask=i[:, None] < n, other=0.0)
    tl.store(y + i, tl.sum(block * 2, 1) + 1)


def sliced(element: int) -> list[Step]:
    trial = trial_of(rows, "*fp32, *fp32, i32, M=4, N=8", values={"n": 3})
    slicer = Slicer((0, 0, 0), "y", 4 * element)
    with tri.interpret(), observed(slicer):
        trial.launch(trial.arguments(0))
    return slicer.slice()


def test_a_slice_has_the_elements_of_one_row() -> None:
    found = {step.op: step for step in sliced(2) if step.masks}
    load, reduction = found["tt.load"], found["tt.reduce"]
    assert load.masks[0] is not None
    assert np.argwhere(load.masks[0])[:, 0].tolist() == [2] * 8
    assert (reduction.width, reduction.folds) == (8, True)
    assert [each.size for each in reduction.values()] == [1]
    assert "arith.cmpi" not in found
    assert "tt.addptr" not in found


def test_what_nothing_stores_has_no_slice() -> None:
    assert sliced(4) == []
