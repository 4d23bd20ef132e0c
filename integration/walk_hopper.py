"""A GEMM and attention on Hopper, stage by stage: ``python -m integration.walk_hopper`` writes two pages of ``docs``.

The kernels and configurations are those of :mod:`integration.steady_loops`, which are fast on an H200; no GPU is needed.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import tri
from integration.steady_loops.cases import CASES, Case, source_of
from integration.steady_loops.machine import steady
from tri_core.compiler.driver import trace
from tri_core.compiler.trace import Trace

__all__ = ["WALKS", "Walk", "page"]

_DOCS = Path(__file__).resolve().parents[1] / "docs"
_TARGET = "nvidia:sm_90a"

#: ops that are shown: control flow, copies, barriers, dots, and what softmax takes its time with
_SHOWN = re.compile(
    r"scf\.(for|if|yield)|tt\.(load|store|dot|descriptor_\w+)\b|"
    r"ttn?g\.(warp_|async_|wait_barrier|arrive_barrier|barrier|local_alloc|fence)|"
    r"math\.exp2|default \{|partition\d|^\s*\}"
)
_LONGEST = 110


@dataclass(frozen=True)
class Walk:
    """A page: file, title, the case of :data:`CASES`, what is said of passes that are shown, and the last part."""

    file: str
    title: str
    case: str
    passes: Mapping[str, str]
    measured: str

    @property
    def path(self) -> Path:
        """Path of the page."""
        return _DOCS / self.file


_SPECIALIZED = (
    "The function is in two: consumer warps (`default`) wait for a stage of the ring and multiply, a producer (`partition0`) waits "
    "until a stage is released and starts the copies into it. `full` and `empty` barriers lie in shared memory."
)
WALKS = (
    Walk(
        "walk-hopper-gemm.md",
        "A Hopper GEMM, stage by stage",
        "matmul fp16 128x256x64",
        {
            "promote-pointer-tiles": "Tiles of pointers became tensor descriptors, which the launch encodes as tensor maps.",
            "accelerate-matmul": "The dot has the layout of `wgmma` and reads its operands from shared memory.",
            "warp-specialize": _SPECIALIZED,
            "sink-dot-waits": "The wait for a dot stands as late as its result allows; the stage is released behind it.",
            "insert-barriers": "Buffers have offsets; fences and barriers stand between ordinary accesses and TMA.",
        },
        "At 8192 it runs at 783 TFLOP/s on an H200, 1.03 of Triton and 1.02 of cuBLAS (persistent; "
        "[measurements](measurements.md)). The loop is bound by the matrix unit: 69 % of all samples of the 4096 GEMM wait for `wgmma`.",
    ),
    Walk(
        "walk-hopper-attention.md",
        "Attention on Hopper, stage by stage",
        "attention D128",
        {
            "accelerate-matmul": "Both dots have the layout of `wgmma`; the second one's A operand comes from registers.",
            "make-persistent": "The kernel is in a loop over programs.",
            "warp-specialize": _SPECIALIZED,
            "pipeline-chained-dots": (
                "The dot with V starts an iteration late, beside the dot with K of the next block: a modulo schedule of two stages, "
                "with a prologue before the loop and an epilogue behind it."
            ),
            "ping-pong": "Two consumer groups alternate: one multiplies while the other computes exponentials.",
            "insert-barriers": "Buffers have offsets; fences and barriers stand between ordinary accesses and TMA.",
        },
        "It runs at 691 TFLOP/s on an H200, 1.34 of Triton and 1.07 of SDPA ([measurements](measurements.md)). The second dot in flight "
        "brought 19 % ([measured](measurements/2026-11-22.md)).",
    ),
)

_INTRODUCTION = (
    "Made by `python -m integration.walk_hopper`, and checked by a test. Shown of each stage are control flow, copies, barriers\n"
    "and dots, without their types; `...` stands for what is left out. `tri explore` shows all of it."
)


def page(walk: Walk) -> str:
    """Expected text of the page of ``walk``; takes seconds."""
    case = next(c for c in CASES if c.name == walk.case)
    kernel = getattr(importlib.import_module(f"integration.kernels.{case.module}"), case.kernel)
    options = {"num_warps": case.warps, "num_stages": case.stages, **case.schedule}
    found = trace(source_of(tri.ASTSource, kernel, case), _TARGET, options)
    parts = [
        f"# {walk.title}",
        _INTRODUCTION,
        _call(case, options),
        _block("python", inspect.getsource(kernel.fn)),
    ]
    parts += _stages(walk, found)
    parts += ["## PTX", _instructions(str(found.kernel.asm["ptx"]))]
    count = len(steady(str(found.kernel.asm["sass"])))
    parts += [
        "## Machine code",
        f"A consumer warp executes {count} instructions in one iteration of the steady-state loop.",
    ]
    return "\n\n".join([*parts, "## Measured behaviour", walk.measured]) + "\n"


def _call(case: Case, options: Mapping[str, object]) -> str:
    chosen = ", ".join(f"`{name}={value}`" for name, value in {**case.constants, **options}.items())
    return f"Target `{_TARGET}`; {chosen}."


def _stages(walk: Walk, found: Trace) -> Iterator[str]:
    """TTIR as the frontend builds it, then the chosen passes in the order of the compile."""
    shown: set[str] = set()
    for snapshot in found.snapshots:
        name = snapshot.pass_name
        first = not shown and not name
        if not first and (name in shown or name not in walk.passes):
            continue
        shown.add(name)
        yield "## TTIR" if first else f"## After `{name}`"
        yield "What the frontend builds." if first else walk.passes[name]
        yield _block("mlir", _excerpt(snapshot.text))


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def _excerpt(text: str) -> str:
    """The lines of :data:`_SHOWN` without types, attributes' dictionaries and locations."""
    kept: list[str] = []
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if "tt.func" in line)
    for line in lines[start + 1 :]:
        if not _SHOWN.search(line):
            kept += ["    ..."] * (bool(kept) and kept[-1] != "    ...")
        elif line.strip():
            kept.append(_short(line))
    return "\n".join([*kept[:_LONGEST], *["    ..."] * (len(kept) > _LONGEST)])


def _short(line: str) -> str:
    line = re.sub(r" = (-?\d+) : i\d+", r" = \1", line)
    line = re.sub(r" (attributes )?\{(actualRegisters|padding|cachePolicy|inputPrecision)[^{}]*\}", "", line)
    line = re.sub(r" loc\(.*?\)+(?=,|\)|$|\s)", "", line)
    line = re.sub(r" -> \(?(tensor|!tt).*?(?=\{?$)", " ", line) if "scf." in line else line.split(" : ")[0]
    return re.sub(r" : (tensor|i32|!tt).*$", "", line).rstrip()[:140]


_COUNTED = (
    "cp.async.bulk.tensor",
    "mbarrier.try_wait",
    "mbarrier.arrive",
    "wgmma.mma_async",
    "wgmma.wait_group",
    "setmaxnreg",
    "bar.sync",
    "bar.arrive",
    "stmatrix",
    "ex2.approx",
)


def _instructions(ptx: str) -> str:
    rows = []
    for start in _COUNTED:
        found = re.findall(rf"(?<![\w.])({re.escape(start)}[\w.:]*)", ptx)
        if found:
            rows.append(f"| {', '.join(f'`{name}`' for name in sorted(set(found)))} | {len(found)} |")
    return "\n".join(["| instruction | times in the text |", "| --- | ---: |", *rows])


def main() -> None:
    """Write the pages."""
    for walk in WALKS:
        walk.path.write_text(page(walk))


if __name__ == "__main__":
    main()
