"""The generator finds faults by itself: each was in a release, is put back here, and one of the first kernels shows it."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FunctionType

import pytest

import tri
import tri.language as tl
from integration.random_kernels import running
from integration.random_kernels.running import difference, is_refusal, run
from integration.random_kernels.strategy import seeded
from tri_core import compiler, mlir

#: kernels of seed 0 among which each is found
_MOST = 2000


@dataclass(frozen=True)
class Fault:
    """``place`` is a function as ``module:name``, in which ``was`` stood instead of ``stands``; ``target`` shows it.

    ``productions``: only kernels that have one of them are run.
    """

    target: str
    place: str
    stands: str
    was: str
    productions: str = ""

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put it back, for whoever holds the function."""
        function = _function(self.place)
        text = textwrap.dedent(inspect.getsource(function))
        assert text.count(self.stands) == 1, f"{self.place} has been written anew: {self.stands!r}"
        space: dict[str, object] = dict(function.__globals__)
        exec(compile(text.replace(self.stands, self.was), function.__code__.co_filename, "exec"), space)
        planted = space[function.__name__]
        assert isinstance(planted, FunctionType)
        monkeypatch.setattr(function, "__code__", planted.__code__)


def _function(place: str) -> FunctionType:
    module, names = place.split(":")
    found: object = import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    assert isinstance(found, FunctionType)
    return found


@tri.jit
def _plus(a, b):  # type: ignore[no-untyped-def]
    return a + b


@tri.jit
def _narrow_sum(input, axis=0, reverse=False):  # type: ignore[no-untyped-def]
    return tl.associative_scan(input, axis, _plus, reverse)


class _NarrowSums(Fault):
    """A function of the language is a kernel's own, and no plain one."""

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tl, "cumsum", _narrow_sum)


class _OneRounding(Fault):
    """Upstream's canonicalization with all of its patterns."""

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        mlir._pass_manager.cache_clear()
        monkeypatch.setattr(mlir, "UNSOUND", ())


FAULTS = {
    "integers that become narrow floats in two steps are rounded once": _OneRounding(
        "cpu", "", "", "", "narrowed"
    ),
    "a column is spread as a row": Fault(
        "cpu",
        "tri_backend_cpu.lower.evaluator:_placed",
        "place.lane is not None and place.lane in at",
        "place.lane in at",
        "widen",
    ),
    "names of parameters collide with the binder's": Fault(
        "interpreter", "tri.launch.binder:_prefix", 'prefix = "_"', 'return ""'
    ),
    "running sums of narrow integers are as narrow": _NarrowSums("interpreter", "", "", "", "running"),
    "shifts are logical by an unsigned amount": Fault(
        "interpreter",
        "tri.language.arithmetic:_shift_right",
        "type_ if left.dtype.is_int() else left.dtype",
        "left.dtype",
        "shift",
    ),
    "short sums go on over iterations": Fault(
        "sim:nvidia:sm_90a",
        "tri_backend_nvidia.mma.warp_group:dot",
        "most > depth",
        "not most or most >= depth",
        "float8",
    ),
    "loops with other uses of a sum do not compile": Fault(
        "sim:nvidia:sm_80",
        "tri_gpu_dialect.transforms.layout.optimize_thread_locality:_used_once_by",
        "user is not None and user == op",
        "user == op",
        "sum extremes float_extremes bit_sum",
    ),
    "threads do not wait for what others stored": Fault(
        "sim:nvidia:sm_90a",
        "tri_gpu_dialect.transforms.memory.insert_barriers:InsertBarriers.apply",
        "GlobalWalk.through(function)",
        "pass",
        "read_back",
    ),
    "offsets beyond 32 bits do not compile": Fault(
        "cpu",
        "tri_backend_cpu.builder:Builder.offset",
        "if not _DYNAMIC < index < -_DYNAMIC:",
        "if False:",
    ),
}


def _wrong(number: int, fault: Fault) -> str | None:
    """Error of a kernel of seed 0, which is left out if it can't show the fault."""
    kernel = seeded(0, number)
    wanted = set(fault.productions.split())
    if wanted and not wanted & kernel.productions:
        return None
    try:
        found = run(kernel, fault.target)
    except Exception as error:
        return None if is_refusal(error) else str(error)
    return difference(kernel, ("numpy", fault.target), run(kernel, "numpy"), found)


def _forget() -> None:
    """Nothing that was compiled is used again; the store on disk is another one with a fault and without."""
    running.forget()
    compiler.forget()
    mlir._pass_manager.cache_clear()


@pytest.mark.parametrize("name", FAULTS)
def test_the_generator_finds(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kernel that is wrong with the fault, and right without."""
    fault = FAULTS[name]
    with monkeypatch.context() as planted:
        planted.setenv("TRI_CACHE_DIR", str(tmp_path))
        fault.plant(planted)
        _forget()
        shown = ((number, _wrong(number, fault)) for number in range(_MOST))
        number = next((number for number, text in shown if text is not None), None)
    assert number is not None, f"none of {_MOST} kernels shows it"
    print(f"{name}: found by kernel {number} of seed 0")
    _forget()
    assert _wrong(number, fault) is None
