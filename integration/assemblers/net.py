"""One ptxas judged: every program is assembled, disassembled, evaluated and compared with its meaning."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from integration.assemblers.programs import Program, chains, halves, module, packed, quads, words
from integration.assemblers.small_floats import small_floats
from tri_backend_nvidia.sass.evaluator import Thread, UnknownCode

__all__ = ["Judgement", "judge", "known_programs", "programs"]

#: sm_100a and newer are unknown to PTX 8.0, sm_80 has no packed operations
_UNPACKED = ("sm_75", "sm_80", "sm_86", "sm_89")

#: where the parameters begin in the first constant bank, by the architecture's first digits
_PARAMETERS = {"8": 0x160, "9": 0x210, "10": 0x380, "12": 0x380}
_SOURCE, _TARGET = 0x1000, 0x2000
_SECTION = re.compile(r"\s*\.section\s+\.text\.(\w+)\b")
_LINE = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")


@dataclass
class Judgement:
    """The programs that a ptxas makes right, wrong (with an input, the right result and its own), and into code that isn't known."""

    right: list[str] = field(default_factory=list)
    wrong: dict[str, tuple[tuple[int, int, int], int, int]] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)


@cache
def programs(*, packed_ones: bool = True) -> tuple[Program, ...]:
    """All of the net's programs."""
    return (*halves(), *words(), *quads(), *chains(), *(packed() if packed_ones else ()))


def known_programs(architecture: str, ptxas: tuple[int, ...] | None) -> tuple[Program, ...]:
    """Programs that ptxas of version ``ptxas`` (None: any) can make for ``architecture``: PTX 8.x came with CUDA 12.x."""
    capability = int(re.sub(r"\D", "", architecture))
    every = (*programs(packed_ones=architecture not in _UNPACKED), *small_floats(capability))
    return tuple(p for p in every if ptxas is None or ptxas >= (p.version[0] + 4, p.version[1]))


def judge(
    ptxas: Path,
    nvdisasm: Path,
    chosen: Iterable[Program],
    architecture: str = "sm_90a",
    *,
    version: str = "",
    rewrite: Callable[[str], str] = lambda text: text,
) -> Judgement:
    """Assemble ``chosen`` with ``ptxas`` for ``architecture``, after ``rewrite``, and evaluate what nvdisasm shows.

    ``version``: of PTX; by default the first that has what is asked for.
    """
    kernels = tuple(chosen)
    if not version:
        first = {"sm_89": (8, 1), "sm_80": (8, 0), "sm_90a": (8, 0)}.get(architecture, (8, 7))
        version = ".".join(map(str, max(first, *(program.version for program in kernels))))
    code = disassembled(ptxas, nvdisasm, rewrite(module(kernels, architecture, version)), architecture)
    base = _PARAMETERS[re.sub(r"\D", "", architecture)[:-1]]
    found = Judgement()
    for number, program in enumerate(kernels):
        try:
            results = evaluated(program, code[f"k{number}"], base)
        except UnknownCode as error:
            found.unknown[program.name] = str(error)
            continue
        pairs = zip(program.inputs(), program.expected(), results, strict=True)
        wrong = next((each for each in pairs if each[1] != each[2]), None)
        if wrong is None:
            found.right.append(program.name)
        else:
            found.wrong[program.name] = wrong
    return found


def disassembled(ptxas: Path, nvdisasm: Path, ptx: str, architecture: str) -> dict[str, list[str]]:
    """The instructions of each kernel."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "net.ptx"), Path(folder, "net.cubin")
        source.write_text(ptx)
        _run([str(ptxas), f"-arch={architecture}", "-O3", str(source), "-o", str(cubin)])
        text = _run([str(nvdisasm), "-c", str(cubin)])
    code: dict[str, list[str]] = {}
    now: list[str] = []
    for line in text.splitlines():
        if section := _SECTION.match(line):
            now = code.setdefault(section[1], [])
        elif found := _LINE.match(line):
            now.append(found[1])
    return code


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-2000:]}")
    return done.stdout


def evaluated(program: Program, code: Sequence[str], base: int) -> list[int]:
    """The results that ``code`` stores, one for each of the program's inputs."""
    inputs, nbytes = program.inputs(), program.bits // 8
    memory = {_TARGET + i: np.full(len(inputs), 0xA5, np.uint64) for i in range(8)}
    for i in range(3):
        column = np.array([each[i] for each in inputs], np.uint64)
        for j in range(nbytes):
            memory[_SOURCE + i * nbytes + j] = column >> np.uint64(8 * j) & np.uint64(0xFF)
    constants = {
        base + 8 * i + j: place >> 8 * j & 255 for i, place in enumerate((_SOURCE, _TARGET)) for j in range(8)
    }
    thread = Thread(len(inputs), constants, memory)
    thread.run(code)
    stored = sum(
        (memory[_TARGET + i] << np.uint64(8 * i) for i in range(program.stored // 8)),
        np.zeros(len(inputs), np.uint64),
    )
    return [int(each) for each in stored]
