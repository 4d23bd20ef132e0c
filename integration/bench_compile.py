"""Compile times: ``python -m integration.bench_compile [--triton-python PYTHON]``.

Fresh processes of tri and Triton, interleaved, each compiling one kernel for an H200 (sm_90a) with no cache: the import,
the process's first compile, and the median of later ones, each with its file written anew, so that nothing is found.
Seconds of the clock and of the CPU, with the processes that a compiler starts.  Installed packages count: editable ones
are hashed whole in each process.  Then the CPU target's cold compiles of the four
example kernels.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

TOP = Path(__file__).resolve().parents[1]
KERNELS = TOP / "integration" / "kernels"

#: takes the peer's package and a case as JSON from its arguments; writes one line of JSON
COMPILE = '''
import json, os, pathlib, resource, sys, time

def of_children():
    """CPU seconds of the processes that run still: LLVM's, for one."""
    tasks = pathlib.Path("/proc/self/task")
    children = [c for t in tasks.iterdir() for c in (t / "children").read_text().split()]
    files = (f for c in children for f in pathlib.Path("/proc", c, "task").glob("*/schedstat"))
    return sum(int(f.read_text().split()[0]) for f in files) / 1e9

def now():
    ended = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), of_children() + sum(r.ru_utime + r.ru_stime for r in ended)

def since(start):
    return [b - a for a, b in zip(start, now())]

start = now()
{imports}
imported = since(start)
case = json.loads(sys.argv[1])

def measured(module):
    kernel = getattr(__import__(module), case["kernel"])
    attrs = {{(kernel.arg_names.index(n),): [["tt.divisibility", 16]] for n in case["divisible"]}}
    start = now()
    source = ASTSource(kernel, case["signature"], case["constants"], attrs)
    compiled = compiler.compile(source, target={target}, options=case["options"])
    assert compiled.asm["cubin"]
    return since(start)

first, *later = [measured(module) for module in case["modules"]]
print(json.dumps({{"import": imported, "first": first, "later": later}}))
'''

TRI = COMPILE.format(
    imports="import tri as compiler, tri.language\nfrom tri import ASTSource", target='"nvidia:sm_90a"'
)
TRITON = COMPILE.format(
    imports="import triton as compiler, triton.language\nfrom triton.compiler import ASTSource\n"
    "from triton.backends.compiler import GPUTarget",
    target='GPUTarget("cuda", 90, 32)',
)


@dataclass(frozen=True)
class Case:
    """One kernel of ``integration/kernels``, as both compilers take it.

    ``goal`` is the largest share of Triton's CPU time that is aimed at for a process's first compile.
    """

    name: str
    module: str
    kernel: str
    signature: Mapping[str, str]
    constants: Mapping[str, int | bool]
    goal: float
    options: Mapping[str, int] = field(default_factory=dict)

    def request(self, modules: list[str]) -> str:
        """Argument of the process that compiles."""
        constants = dict.fromkeys(self.constants, "constexpr")
        aligned = [name for name, kind in self.signature.items() if kind.startswith(("*", "i"))]
        return json.dumps(
            {
                "kernel": self.kernel,
                "signature": {**self.signature, **constants},
                "constants": dict(self.constants),
                "options": dict(self.options),
                "divisible": aligned,
                "modules": modules,
            }
        )


#: a block of rows of a head, as a descriptor brings it
_ROWS = "tensordesc<fp16[128,64]>"

CASES = (
    Case(
        "vector add",
        "vector_add",
        "vector_add",
        {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"},
        {"BLOCK": 1024},
        goal=0.75,
    ),
    Case(
        "matmul",
        "matmul",
        "matmul",
        dict.fromkeys(["a_ptr", "b_ptr", "c_ptr"], "*fp16")
        | dict.fromkeys(["M", "N", "K"], "i32")
        | dict.fromkeys(["stride_am", "stride_bk", "stride_cm"], "i32"),
        # row-major, as a launch finds it
        dict.fromkeys(["stride_ak", "stride_bn", "stride_cn"], 1)
        | {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8},
        goal=0.5,
        options={"num_warps": 8, "num_stages": 3},
    ),
    Case(
        "causal attention",
        "attention",
        "attention",
        dict.fromkeys(["q_desc", "k_desc", "v_desc", "out_desc"], _ROWS)
        | {"lse_ptr": "*fp32", "scale": "fp32", "length": "i32"},
        {"WIDTH": 64, "BLOCK_M": 128, "BLOCK_N": 128, "CAUSAL": True},
        goal=0.9,
        options={"num_warps": 8, "num_stages": 3},
    ),
)

CPU = """
import json, sys, time
sys.path.insert(0, {top!r})
import numpy as np
import tri
from integration.demo.cases import CASES
from integration.kernels.vector_add import vector_add
x = np.ones(16, np.float32)
vector_add[(1,)](x, x, x.copy(), 16, BLOCK=16)
times = {{}}
rng = np.random.default_rng(0)
for case in CASES:
    inputs = case.make_inputs(rng)
    out = np.empty(case.out, np.float32)
    start = time.perf_counter()
    case.launch(out, *inputs)
    first = time.perf_counter() - start
    start = time.perf_counter()
    case.launch(out, *inputs)
    times[case.name] = first - (time.perf_counter() - start)
print(json.dumps(times))
"""

#: what a process of a peer measures, each by the clock and of the CPU
Spent = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Peer:
    """A compiler: the interpreter that has it, its package and the program that compiles with it."""

    python: str
    package: str
    program: str

    def spent(self, case: Case, later: int = 3) -> Spent:
        """Seconds of a fresh process: ``import``, ``first`` and the median of ``later`` compiles."""
        text = (KERNELS / f"{case.module}.py").read_text()
        text = text.replace("import tri.language", f"import {self.package}.language")
        text = text.replace("\nimport tri\n", f"\nimport {self.package}\n").replace(
            "@tri.jit", f"@{self.package}.jit"
        )
        with tempfile.TemporaryDirectory() as folder:
            # lines elsewhere: nothing of an earlier one is found
            modules = [f"kernel_{i}" for i in range(1 + later)]
            for lines, name in enumerate(modules):
                Path(folder, f"{name}.py").write_text("\n" * lines + text)
            made = run(self.python, self.program, folder, case.request(modules))
        clock, cpu = zip(*made.pop("later"), strict=True)
        return {**made, "later": (statistics.median(clock), statistics.median(cpu))}


def run(python: str, program: str, folder: str, *arguments: str) -> Any:
    """Run ``program`` in a fresh process with empty caches in ``folder``; its last line is JSON."""
    script = Path(folder) / "script.py"
    script.write_text(program)
    caches = {"TRI_CACHE_DIR": f"{folder}/tri", "TRITON_CACHE_DIR": f"{folder}/triton"}
    command = [python, "-W", "ignore", str(script), *arguments]
    done = subprocess.run(command, env={**os.environ, **caches}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def _compiles(peers: Mapping[str, Peer], rounds: int) -> dict[tuple[str, str], Spent]:
    """The least of ``rounds`` for each case and peer, interleaved."""
    spent: dict[tuple[str, str], list[Spent]] = defaultdict(list)
    for _ in track(range(rounds), "compiling", transient=True):
        for case in CASES:
            for name, peer in peers.items():
                spent[case.name, name].append(peer.spent(case))
    return {
        which: {part: tuple(map(min, zip(*(r[part] for r in runs), strict=True))) for part in runs[0]}
        for which, runs in spent.items()
    }


def _table(found: Mapping[tuple[str, str], Spent]) -> Table:
    table = Table(title="ms by the clock (of the CPU), least of fresh processes; ratios are of the CPU")
    for column in (
        "",
        "",
        "import",
        "first",
        "later",
        "first / Triton's",
        "goal",
        "with the import",
        "later / Triton's",
    ):
        table.add_column(column, justify="right")
    goals = {case.name: case.goal for case in CASES}
    for (case, name), row in found.items():
        peer = found.get((case, "triton"), row)
        whole, theirs = (r["import"][1] + r["first"][1] for r in (row, peer))
        table.add_row(
            case,
            name,
            *(f"{clock * 1e3:.0f} ({cpu * 1e3:.0f})" for clock, cpu in row.values()),
            f"{row['first'][1] / peer['first'][1]:.2f}",
            f"{goals[case]:.2f}",
            f"{whole / theirs:.2f}",
            f"{row['later'][1] / peer['later'][1]:.2f}",
        )
    return table


def _cpu_target(rounds: int) -> Table:
    runs: list[Mapping[str, float]] = []
    for _ in track(range(rounds), "compiling for the CPU", transient=True):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(run(sys.executable, CPU.format(top=str(TOP)), folder))
    table = Table("kernel", "ms", title="CPU target: cold compile, medians")
    for name in runs[0]:
        table.add_row(name, f"{statistics.median(r[name] for r in runs) * 1e3:.1f}")
    return table


def main(
    triton_python: Annotated[str, typer.Option(help="a Python that has Triton")] = "",
    rounds: int = 7,
) -> None:
    """Print both tables."""
    peers = {"tri": Peer(sys.executable, "tri", TRI)}
    if triton_python:
        peers["triton"] = Peer(triton_python, "triton", TRITON)
    console = Console()
    console.print(_table(_compiles(peers, rounds)))
    console.print(_cpu_target(rounds))


if __name__ == "__main__":
    typer.run(main)
