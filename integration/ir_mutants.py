"""``python -m integration.ir_mutants --count 2500 --seed 0``: recorded modules with a mistake in them, parsed, verified and compiled.

Each is compiled in a process of its own kind, which has to survive: it is compiled, or refused by an error of ours.  A raw error, one
that says that the compiler is at fault, a process that dies and one that hangs are printed with the mutant, whose file is kept in
``--found``.  A mutant depends on the seed and its number alone.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from integration.random_kernels.runner import Runner
from integration.random_kernels.values import Array
from tri_core.errors import BackendError, InternalError, ToolchainError, TriError

__all__ = ["NUMBERS", "Mutant", "compiled", "main", "mutant"]

_TOP = Path(__file__).parents[1]
#: of TTIR; a module of TTGIR names its own
_TARGETS = ("cpu", "nvidia:sm_80", "nvidia:sm_90a", "amd:gfx942", "intel:pvc")
_OWN = re.compile(r'ttg\.target = "(cuda|hip|nvidia|amd|intel):(\w+)"')
#: Triton's names of kinds of targets, and ours
_BACKENDS = {"cuda": "nvidia", "hip": "amd"}
#: what a number becomes, and a type
NUMBERS = (
    "0",
    "-1",
    "-16",
    "3",
    "65536",
    "4294967296",
    "2147483647",
    "1",
    "8",
    "[1]",
    "[]",
    "true",
    "64",
    '"x"',
    "",
)
_TYPES = ("f32", "f16", "i1", "i32", "i64", "!tt.ptr<f32>", "tensor<8xf32>", "index")
_NUMBER = re.compile(r"(?<![#%\w.])-?\b\d+\b")
_TYPE = re.compile(r"\b(?:f16|f32|bf16|i1|i8|i16|i32|i64)\b")
_VALUE = re.compile(r"%\w+")
#: errors of ours that say that we are at fault
_OUR_FAULT = (InternalError, BackendError, ToolchainError)


@dataclass(frozen=True)
class Mutant:
    """A module for ``target`` with a mistake: text of the level ``stage``, ``made`` out of which file and how."""

    source: str
    stage: str
    target: str
    made: str
    productions: frozenset[str] = frozenset()


def mutant(seed: int, number: int) -> Mutant:
    """The mutant of this number: one line of a recorded module is another."""
    chance = random.Random(f"{seed} {number}")
    path = chance.choice(_texts())
    text = path.read_text()
    lines = text.splitlines()
    target = chance.choice(_TARGETS) if path.suffix == ".ttir" else _target_of(text)
    change = chance.choice((_other_number, _other_number, _other_type, _other_value, _line_less, _line_twice))
    for _ in range(50):
        i = chance.randrange(len(lines))
        if not lines[i].startswith("#loc") and (changed := change(chance, lines, i)) is not None:
            lines[i : i + 1] = changed
            break
    return Mutant(
        "\n".join(lines) + "\n",
        path.suffix[1:],
        target,
        f"{path.name}, {change.__name__.strip('_')}, line {i + 1}",
    )


def _target_of(text: str) -> str:
    """The target that a module of TTGIR is for."""
    own = _OWN.search(text)
    if own is None:
        return "nvidia:sm_90a"
    backend, arch = _BACKENDS.get(own[1], own[1]), own[2]
    if arch.isdigit():
        arch = f"sm_{arch}" + ("a" if int(arch) in (90, 100) else "")
    return f"{backend}:{arch}"


def _texts() -> list[Path]:
    return sorted(p for kind in ("ttgir", "ttir") for p in (_TOP / "packages").glob(f"*/tests/**/*.{kind}"))


def _replaced(
    chance: random.Random, line: str, what: re.Pattern[str], others: tuple[str, ...]
) -> list[str] | None:
    found = list(what.finditer(line.partition(" loc(")[0]))
    if not found or not others:
        return None
    first, last = chance.choice(found).span()
    return [line[:first] + chance.choice(others) + line[last:]]


def _other_number(chance: random.Random, lines: list[str], i: int) -> list[str] | None:
    return _replaced(chance, lines[i], _NUMBER, NUMBERS)


def _other_type(chance: random.Random, lines: list[str], i: int) -> list[str] | None:
    return _replaced(chance, lines[i], _TYPE, _TYPES)


def _other_value(chance: random.Random, lines: list[str], i: int) -> list[str] | None:
    return _replaced(chance, lines[i], _VALUE, tuple(_VALUE.findall(chance.choice(lines))))


def _line_less(chance: random.Random, lines: list[str], i: int) -> list[str] | None:
    return []


def _line_twice(chance: random.Random, lines: list[str], i: int) -> list[str] | None:
    return [lines[i], lines[i]]


def compiled(made: Mutant, target: str) -> list[Array]:
    """An array where ``made`` compiles for ``target``; nothing where it is refused."""
    import tri

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"mutant.{made.stage}"
        path.write_text(made.source)
        try:
            tri.compile(path, target=target)
        except TriError as error:
            if isinstance(error, _OUR_FAULT):
                raise
            return []
    return [np.ones(1, np.int32)]


def main(arguments: list[str] | None = None) -> int:
    """Print what mutants came to; 1 where one came to harm."""
    parser = argparse.ArgumentParser(prog="python -m integration.ir_mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--found", type=Path, default=Path("mutants"))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no other after so many")
    options = parser.parse_args(arguments)
    runner, harm, taken, count = Runner(compiled, limit=options.limit), Counter[str](), 0, 0
    end = time.monotonic() + 60 * options.minutes
    try:
        for number in range(options.count):
            if time.monotonic() > end:
                break
            count += 1
            made = mutant(options.seed, number)
            answer = runner.run(made, made.target)
            runner.end_of_kernel()
            if answer.outputs is not None:
                taken += len(answer.outputs)
            else:
                harm[answer.kind] += 1
                options.found.mkdir(parents=True, exist_ok=True)
                path = options.found / f"{options.seed}-{number}.{made.stage}"
                path.write_text(made.source)
                print(f"{path}: {made.made}, {made.target}: {answer.kind}: {answer.text[:300]}")
    finally:
        runner.close()
    refused = count - taken - harm.total()
    print(
        f"{count} mutants of seed {options.seed}: {taken} compiled, {refused} refused, {dict(harm) or 'none came to harm'}"
    )
    return 1 if harm else 0


if __name__ == "__main__":
    sys.exit(main())
