"""The random kernels of several programs find faults that are put in: missing fences, weak waits, stores that come late, threads that part."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tri_backend_nvidia.machine.simulation.core as machine
from integration.random_kernels import running as kernels
from integration.random_programs import running
from integration.random_programs.family import PROGRAMS
from integration.tests.test_planted_faults import Fault
from tri_backend_nvidia import primitives
from tri_core import compiler
from tri_core.dialects.tt.enums import CacheModifier
from tri_core.errors import TriError
from tri_gpu_dialect.analysis import agreed_loads
from tri_runtime.races import Semantics
from tri_runtime.simulator.memory import Memory

_TARGET = "sim:nvidia:sm_90a"
Patch = pytest.MonkeyPatch


def _weak_cv(patch: Patch) -> None:
    """``.cv`` is a cache modifier of a weak load, as it was."""
    patch.setitem(primitives._LOAD_CACHE, CacheModifier.CV, ".cv")
    place = "tri_backend_nvidia.primitives:NvidiaPrimitives._cache"
    was = "access.volatile and access.cache is not CacheModifier.CV"
    Fault(_TARGET, place, "access.volatile", was).plant(patch)


def _no_barriers(patch: Patch) -> None:
    """No barriers between accesses of global memory, as it was."""
    place = "tri_gpu_dialect.transforms.memory.insert_barriers:InsertBarriers.apply"
    Fault(_TARGET, place, "GlobalWalk.through(function)", "pass").plant(patch)


def _no_fence(patch: Patch) -> None:
    """Fences around atomics on tiles are gone."""
    patch.setattr(Memory, "order", lambda self, semantics: None)


def _no_acquire(patch: Patch) -> None:
    """Instructions that acquire are relaxed."""
    right: Callable[[str], Semantics] = machine._semantics
    patch.setattr(machine, "_semantics", lambda order: Semantics(False, right(order).releases))


def _late_store(patch: Patch) -> None:
    """The store before a release comes after it."""

    def moved(text: str) -> Any:
        pattern = r"^( *)(tl\.store\([^\n]*)\n *tl\.debug_barrier\(\)\n *(tl\.atomic_\w+\([^\n]*)$"
        return kernels.loaded(re.sub(pattern, r"\1\3\n\1tl.debug_barrier()\n\1\2", text, flags=re.MULTILINE))

    patch.setattr(running, "loaded", moved)


def _each_for_itself(patch: Patch) -> None:
    """Each thread loads the words by which all of its program decide."""
    patch.setattr(agreed_loads, "_agreed", lambda function: set())


#: faults, and whether the search for races is what finds them: threads of a program run in step
FAULTS: dict[str, tuple[Callable[[Patch], None], bool]] = {
    "a wait by .cv is weak": (_weak_cv, False),
    "no barrier between threads of a program": (_no_barriers, True),
    "a fence is dropped": (_no_fence, False),
    "an acquire is relaxed": (_no_acquire, False),
    "a store is moved past a release": (_late_store, False),
    "threads decide by words that each loads for itself": (_each_for_itself, False),
}
#: kernels of seed 0 among which each is found
_MOST = 60


def _is_wrong(number: int) -> bool:
    """True if a kernel of seed 0 leaves wrong results, or ends in an error."""
    kernel = PROGRAMS.seeded(0, number)
    try:
        found = PROGRAMS.run(kernel, _TARGET)
    except TriError:
        return True
    return PROGRAMS.difference(kernel, ("numpy", _TARGET), PROGRAMS.run(kernel, "numpy"), found) is not None


def _forget() -> None:
    """Nothing that was compiled is used again."""
    kernels.forget()
    compiler.forget()


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kernel that is wrong with the fault, and right without: by weak memory alone, or by the search for races."""
    plant, by_races = FAULTS[name]
    if not by_races:
        monkeypatch.setattr(running, "by_volatile", lambda kernel: True)
    with monkeypatch.context() as planted:
        planted.setenv("TRI_CACHE_DIR", str(tmp_path))
        plant(planted)
        _forget()
        number = next((number for number in range(_MOST) if _is_wrong(number)), None)
    assert number is not None, f"none of {_MOST} kernels shows it"
    print(f"{name}: found by kernel {number} of seed 0")
    _forget()
    assert not _is_wrong(number)
