"""The generator finds faults by itself: each was in a release, is put back here, and one of the first kernels shows it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from integration.random_kernels.running import difference, is_refusal, run
from integration.random_kernels.strategy import seeded

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Fault:
    """``plant`` takes its mending out; ``target`` shows it, in kernels that have one of ``productions``, as ``message`` says."""

    plant: Plant
    target: str
    productions: str = ""
    message: str = ""
    without: str = ""


def _present(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault is there."""
    del monkeypatch


FAULTS = {
    "a column is spread as a row": Fault(_present, "cpu", "widen", "numpy and cpu disagree"),
    "names of parameters collide with the binder's": Fault(_present, "interpreter"),
    "running sums of narrow integers are as narrow": Fault(_present, "interpreter", "running", "disagree"),
    "shifts are logical by an unsigned amount": Fault(
        _present, "interpreter", "shift", "disagree", "running"
    ),
    "loops with other uses of a sum do not compile": Fault(
        _present, "sim:nvidia:sm_80", "arithmetic extreme bitwise", "__eq__"
    ),
    "offsets beyond 32 bits do not compile": Fault(
        _present, "cpu", "load", "incompatible function arguments"
    ),
}
#: kernels of seed 0 among which each is found
_MOST = 400


def _wrong(number: int, fault: Fault) -> str | None:
    """What is wrong with a kernel of seed 0, which is left out when it can't show the fault."""
    kernel = seeded(0, number)
    wanted = set(fault.productions.split())
    if (wanted and not wanted & kernel.productions) or set(fault.without.split()) & kernel.productions:
        return None
    try:
        found = run(kernel, fault.target)
    except Exception as error:
        return None if is_refusal(error) else str(error)
    return difference(kernel, ("numpy", fault.target), run(kernel, "numpy"), found)


def _first(fault: Fault) -> int | None:
    """The first kernel that shows ``fault``."""
    shown = ((number, _wrong(number, fault)) for number in range(_MOST))
    return next(
        (number for number, text in shown if text is not None and re.search(fault.message, text)), None
    )


@pytest.mark.parametrize("name", FAULTS)
def test_the_generator_finds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    with monkeypatch.context() as planted:
        fault.plant(planted)
        found = _first(fault)
    assert found is not None, f"none of {_MOST} kernels shows it"
    print(f"{name}: found by kernel {found} of seed 0")
