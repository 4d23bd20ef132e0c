"""CPU time that compiling a case takes: a worker of each compiler, asked in turns, so that what else the machine does meets both.

``PYTHON -m integration.bench_amd_static.compiling tri`` (or ``triton``) is a worker: it reads numbers of cases, one a line, and writes
for each the milliseconds of CPU from source to code object, those of the processes that it starts among them, or -1 on an error.
"""

from __future__ import annotations

import importlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from integration.bench_amd_static.cases import CASES, Case, kernel_of, source_of

__all__ = ["in_turns", "worker"]

_TOP = Path(__file__).resolve().parents[2]
_TURNS = 3
#: compiled before the clock runs, which imports what is imported once
_FIRST = "gfx942 vector_add"
Worker = Callable[[int], int]


def in_turns(triton_python: str) -> tuple[dict[str, int], dict[str, int]]:
    """Milliseconds of CPU by case, the medians of a few turns: tri's, and Triton's by a Python that has it."""
    found: tuple[dict[str, int], dict[str, int]] = {}, {}
    with ExitStack() as stack:
        workers = [
            stack.enter_context(worker(python, name))
            for python, name in ((sys.executable, "tri"), (triton_python, "triton"))
        ]
        for ask in workers:
            ask(next(number for number, case in enumerate(CASES) if case.name == _FIRST))
        for number, case in enumerate(CASES):
            turns = [_turn(workers, number, reverse=turn % 2 == 1) for turn in range(_TURNS)]
            for times, table in zip(zip(*turns, strict=True), found, strict=True):
                if min(times) >= 0:  # of what it refuses a compiler has no time
                    table[case.name] = round(statistics.median(times))
    return found


def _turn(workers: Sequence[Worker], number: int, reverse: bool) -> list[int]:
    """The milliseconds of each of ``workers`` for a case, in their order; run in this order or in ``reverse``."""
    asked = list(reversed(workers)) if reverse else list(workers)
    times = [ask(number) for ask in asked]
    return list(reversed(times)) if reverse else times


@contextmanager
def worker(python: str, compiler: str) -> Iterator[Worker]:
    """A function that gives a case's milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TRITON_ALWAYS_COMPILE": "1", "TRI_ALWAYS_COMPILE": "1"}
        environment |= {"TRITON_CACHE_DIR": folder, "TRI_CACHE_DIR": folder}
        # Triton's Python needs this repository alone
        own = [] if compiler == "triton" else os.environ.get("PYTHONPATH", "").split(os.pathsep)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_TOP), *own]))
        command = [python, "-W", "ignore", "-m", __name__, compiler]
        with subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            asked, answers = process.stdin, process.stdout
            assert asked is not None
            assert answers is not None

            def ask(number: int) -> int:
                asked.write(f"{number}\n")
                asked.flush()
                return int(answers.readline())

            yield ask
            asked.close()


def _compile_with(compiler: str) -> Callable[[Case], object]:
    """A function that compiles a case by ``compiler``."""
    if compiler == "tri":
        tri = importlib.import_module("tri")

        def compile_case(case: Case) -> object:
            source = source_of(tri.ASTSource, kernel_of(case), case)
            return tri.compile(source, target=f"amd:{case.chip}", options=_options(case)).asm["hsaco"]

        return compile_case
    triton = importlib.import_module("triton")
    sys.modules["tri"], sys.modules["tri.language"] = triton, importlib.import_module("triton.language")
    made, backends = (importlib.import_module(f"triton.{name}.compiler") for name in ("compiler", "backends"))

    def compile_by_triton(case: Case) -> object:
        lanes = 64 if case.chip.startswith("gfx9") else 32
        source = source_of(made.ASTSource, kernel_of(case), case)
        target = backends.GPUTarget("hip", case.chip, lanes)
        return triton.compile(source, target=target, options=_options(case)).asm["hsaco"]

    return compile_by_triton


def _options(case: Case) -> dict[str, Any]:
    return {"num_warps": case.warps, "num_stages": case.stages}


def cpu_seconds() -> float:
    """CPU time of this process, of its children that run, and of all that have ended."""
    running = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    # Linux numbers the CPU clock of another process so (man 3 clock_getcpuclockid)
    alive = sum(time.clock_gettime((~int(child) << 3) | 2) for child in running)
    ended = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    return time.process_time() + alive + ended


def main(compiler: str) -> None:
    """Answer one number after the other."""
    compile_case = _compile_with(compiler)
    for line in sys.stdin:
        begun = cpu_seconds()
        try:
            compile_case(CASES[int(line)])
            took = round(1000 * (cpu_seconds() - begun))
        except Exception as error:
            sys.stderr.write(f"{CASES[int(line)].name}: {type(error).__name__} {str(error)[:300]}\n")
            took = -1
        sys.stdout.write(f"{took}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
