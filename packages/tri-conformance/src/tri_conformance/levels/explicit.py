"""Gluon's core, for backends that claim it: each row x threads per warp x warps, and what must be refused."""

from __future__ import annotations

import importlib
import itertools
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tri_conformance.case import Case, Needs, asked, require
from tri_conformance.features import Feature
from tri_conformance.subject import Subject
from tri_conformance.tables.explicit import REFUSALS, ROWS, Machine
from tri_core.api import CompilationError

__all__ = ["LANES", "NAME", "WARPS", "cases"]

#: the name by which a profile claims the level
NAME = "explicit"
#: threads per warp of the machines that there are; a target is asked for those that it declares
LANES = (32, 64, 16, 8)
WARPS = (1, 4, 8)

_Threads = tuple[int, int]


def cases() -> Iterator[Case]:
    """The cases of this level."""
    for name, (lanes, warps) in itertools.product(ROWS, itertools.product(LANES, WARPS)):
        for dtype in ROWS[name].dtypes:
            point = f"{dtype}-t{lanes}-w{warps}"
            needs = Needs(dtypes=(dtype, "int32"), warps=warps, lanes=lanes, claims=NAME)
            yield Case(NAME, name, point, asked(_agrees, (name, dtype, (lanes, warps))), needs)
    for name, lanes in itertools.product(REFUSALS, LANES):
        needs = Needs(dtypes=("int32",), warps=4, lanes=lanes, claims=NAME)
        yield Case(NAME, f"refused-{name}", f"t{lanes}", asked(_refused, (name, (lanes, 4))), needs)


def _machine(threads: _Threads, **given: Any) -> Machine:
    language = importlib.import_module("tri.experimental.gluon.language")
    return Machine(gl=language, lanes=threads[0], warps=threads[1], **given)


def _kernel(name: str) -> Any:
    return getattr(importlib.import_module("tri_conformance.kernels.explicit"), name)


def _options(subject: Subject, lanes: int) -> dict[str, int]:
    """``warp_size`` where the target has a choice."""
    return {"warp_size": lanes} if len(subject.target.spec.threads_per_warp) > 1 else {}


def _agrees(subject: Subject, asked_for: tuple[str, str, _Threads]) -> None:
    name, dtype, threads = asked_for
    row = ROWS[name]
    seed = f"{name}/{dtype}"  # the same numbers for every machine
    machine = _machine(threads, dtype=dtype, rng=np.random.default_rng(zlib.crc32(seed.encode())))
    feature = Feature(
        name=name,
        kernel=_kernel(row.kernel),
        make=lambda point: row.make(machine),
        dtypes=row.dtypes,
        shapes=((),),
        contract=row.contract,
        options=_options(subject, threads[0]),
        level=NAME,
    )
    feature.check(subject, seed, dtype, (), threads[1])


def _refused(subject: Subject, asked_for: tuple[str, _Threads]) -> None:
    """A CompilationError that stands at a line of the kernel, says what is wrong and what to do."""
    name, threads = asked_for
    refusal = REFUSALS[name]
    constants = refusal.constants(_machine(threads))
    kernel = _kernel(refusal.kernel)
    source = subject.source(kernel, [np.zeros(2048, np.int32)], constants)
    try:
        subject.compile(source, num_warps=threads[1], **_options(subject, threads[0]))
    except CompilationError as error:
        _check(error, refusal.words)
    else:
        raise AssertionError("it was compiled")


def _check(error: CompilationError, words: str) -> None:
    place = str(error.location)
    require(error.location is not None and "explicit.py" in place, f"it stands at {place}, not in the kernel")
    require(error.remedy, "it says no remedy")
    require(words in str(error), f"{words!r} is not in what it says: {error}")
