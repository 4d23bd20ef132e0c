"""Printing, checking and assembly: what is seen outside of memory.

What may stop a device runs in a process of its own, whose output is read: ``python -m tri_conformance.levels.effects``.
"""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tri_conformance.case import Case, Needs, asked, require
from tri_conformance.contracts import Exact
from tri_conformance.kernels import effects as k
from tri_conformance.kernels import structures
from tri_conformance.subject import Subject
from tri_core.api import DeviceError, TriError

__all__ = ["cases", "launch", "main"]

#: the shape of the block that is printed, with places above 9, and how many programs print it
M, N, PROGRAMS = 2, 16, 2
B = 64
_SECONDS = 300
#: program, place in the block (none for a scalar), prefix, value; how much space is between them is free
_LINE = re.compile(r"pid \((\d+), (\d+), (\d+)\)(?: idx \(([\d, ]*)\))?\s*(\w+):\s*(\S+)")


def cases() -> Iterator[Case]:
    """The cases, all of the level of the language."""
    yield Case("language", "device_print", "", _printed)
    yield Case("language", "device_assert", "holds", asked(_holds, True))
    yield Case("language", "device_assert", "without-debug", asked(_holds, False))
    yield Case("language", "device_assert", "fails", _fails)
    for dtype, pack in (("int32", 1), ("uint8", 4)):
        needs = Needs(dtypes=(dtype,), warps=4)
        yield Case(
            "language", "inline_asm_elementwise", f"{dtype}-pack{pack}", asked(_assembled, pack), needs
        )
    yield Case("language", "target_info", "backend", _about_the_target)


def _numbers() -> Any:
    """Whole numbers of both signs, and quarters, which any number of digits shows exactly."""
    rng = np.random.default_rng(5)
    return rng.integers(-(2**31), 2**31, M * N).astype(np.int32), rng.integers(-40, 40, N).astype(
        np.float32
    ) / 4


def _expected() -> Counter[Any]:
    """Each line that must be printed, once: program, place, prefix, value."""
    numbers, fractions = _numbers()
    found: Counter[Any] = Counter()
    for program in range(PROGRAMS):
        found[program, (), "alone", float(program + 40)] = 1
        for place in np.ndindex(M, N):
            found[program, place, "number", float(numbers.reshape(M, N)[place])] = 1
        for i in range(N):
            found[program, (i,), "fraction", float(fractions[i])] = 1
            found[program, (i,), "bits", float(int(numbers[i]) % 2**32)] = 1
    return found


def _read(text: str) -> Counter[Any]:
    """The lines of ``text`` that a kernel printed."""
    found: Counter[Any] = Counter()
    for x, _, _, place, prefix, value in _LINE.findall(text):
        shown = float(int(value, 16)) if prefix == "bits" else float(value)
        found[int(x), tuple(int(i) for i in place.split(",") if i.strip()), prefix, shown] += 1
    return found


def _printed(subject: Subject) -> None:
    """Every element is printed once, with its program and its place."""
    text = _in_another_process(subject, "print")
    made, expected = _read(text), _expected()
    missing, too_much = expected - made, made - expected
    require(
        not missing,
        f"{missing.total()} lines are not printed, one is {next(iter(missing), None)}; printed: {text[:400]!r}",
    )
    require(
        not too_much, f"{too_much.total()} lines are printed too often, one is {next(iter(too_much), None)}"
    )


def _holds(subject: Subject, debug: bool) -> None:
    """Assertions that hold, or whose mask is false, change nothing; without debug there are none."""
    x = np.random.default_rng(1).integers(0, 100, B).astype(np.int32)
    limit = int(x[np.arange(B) % 3 != 0].max()) + 1
    x[::3] = limit + 5
    if not debug:
        limit -= 50
    out = np.full(B, 77, np.int32)
    subject.launch(k.checks, (1,), [out, x, limit], {"B": B}, debug=debug)
    Exact().check(out, x)


def _fails(subject: Subject) -> None:
    """A false assertion is a DeviceError, at the launch or when it is waited for."""
    try:
        _in_another_process(subject, "assert")
    except DeviceError:
        return
    raise AssertionError("an assertion is false, and nothing is said")


def _assembled(subject: Subject, pack: int) -> None:
    """The complement of a register, of one element or of the four bytes in it."""
    given = subject.profile.assembly
    kind = np.dtype(np.int32 if pack == 1 else np.uint8)
    x = np.random.default_rng(pack).integers(0, 200, 512).astype(kind)
    out = np.full(512, 77, kind)
    constants = {"TEXT": "", "CONSTRAINTS": "=r,r", "PACK": pack, "B": 512}
    if given is not None:
        constants |= {"TEXT": given.text, "CONSTRAINTS": given.constraints}
    subject.launch(structures.assembled, (1,), [out, x], constants)
    require(given is not None, "assembly is not refused, and the profile has none (`assembly`) to try")
    Exact().check(out, ~x)


def _about_the_target(subject: Subject) -> None:
    """A kernel knows whom it is compiled for."""
    for name, truth in ((subject.target.key.backend, 1), ("no-such-backend", 0)):
        out = np.full(1, 77, np.int32)
        subject.launch(structures.about_the_target, (1,), [out], {"NAME": name})
        Exact().check(out, np.array([truth]))


# --- the other process --------------------------------------------------------------------------------------


def _in_another_process(subject: Subject, what: str) -> str:
    """Output of ``what`` in another process; raises its errors."""
    with tempfile.TemporaryDirectory() as folder:
        raised = Path(folder) / "raised"
        command = [
            sys.executable,
            "-m",
            "tri_conformance.levels.effects",
            what,
            str(raised),
            subject.name,
            *subject.given,
        ]
        done = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS)
        if raised.exists():
            raise pickle.loads(raised.read_bytes())
        said = done.stderr.decode(errors="replace")[-300:]
        require(not done.returncode, f"the process ended with exit code {done.returncode}: {said}")
        return done.stdout.decode(errors="replace")


def launch(subject: Subject, what: str) -> None:
    """The kernel that prints, or one that fails, for ``what`` of ``print`` and ``assert``."""
    if what == "print":
        numbers, fractions = _numbers()
        subject.launch(k.prints, (PROGRAMS,), [numbers, fractions], {"M": M, "N": N})
    else:
        x, out = np.arange(B, dtype=np.int32), np.zeros(B, np.int32)
        subject.launch(k.checks, (1,), [out, x, B // 2], {"B": B}, debug=True)


def main(what: str, raised: str, name: str, *given: str) -> None:
    """Launch for the target ``name``, with the options that are ``given``; what is raised is left in the file ``raised``."""
    try:
        launch(Subject(name, given), what)
    except TriError as error:
        Path(raised).write_bytes(pickle.dumps(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
