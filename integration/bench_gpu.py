"""The example kernels on a GPU, tri and Triton from one source: ``python3 integration/bench_gpu.py``.

Times are medians of CUDA events over rounds in which all candidates take turns in shuffled order, the
caches flushed before each.  Errors are the largest over all elements, against float64; outputs are
poisoned with NaN first.  With ``$OUT`` set, the table goes to ``$OUT/bench_gpu.json`` as well.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP))
KERNELS = TOP / "integration" / "kernels"

Run = Callable[[ModuleType, torch.Tensor], object]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One measurement: ``run(module, out)`` launches the kernel of a module (tri's or Triton's copy).

    ``nbytes`` are the bytes that must move at least, ``flops`` the operations (0: bound by memory).
    """

    name: str
    module: str
    out: torch.Tensor
    run: Run
    oracle: Callable[[], torch.Tensor]
    torch_run: Callable[[], object]
    nbytes: int = 0
    flops: int = 0


@dataclass
class Measured:
    """Seconds per round and the largest error of one candidate."""

    first: float = 0.0
    seconds: list[float] = field(default_factory=list)
    error: float = float("nan")

    @property
    def median(self) -> float:
        """The median in seconds."""
        return statistics.median(self.seconds)


def load(name: str, compiler: str, folder: Path) -> ModuleType:
    """The kernel module ``name``, its imports of tri turned into those of ``compiler``."""
    text = (KERNELS / f"{name}.py").read_text()
    if compiler != "tri":
        text = text.replace("import tri.language as tl", f"import {compiler}.language as tl")
        text = text.replace("\nimport tri\n", f"\nimport {compiler}\n").replace(
            "@tri.jit", f"@{compiler}.jit"
        )
    place = folder / f"{compiler}_{name}.py"
    place.write_text(text)
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[place.stem] = module
    spec.loader.exec_module(module)
    return module


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


# --- the cases --------------------------------------------------------------------------------------------


def random_tensor(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)


def vector_add(n: int, block: int = 1024) -> Case:
    x, y = random_tensor(n), random_tensor(n)
    out = torch.empty_like(x)
    return Case(
        name=f"vector add {n} f32",
        module="vector_add",
        out=out,
        run=lambda m, o: m.vector_add[(cdiv(n, block),)](x, y, o, n, BLOCK=block, num_warps=4),
        oracle=lambda: x.double() + y.double(),
        torch_run=lambda: torch.add(x, y, out=out),
        nbytes=3 * 4 * n,
    )


def softmax(rows: int, columns: int, num_warps: int) -> Case:
    x = random_tensor(rows, columns)
    out = torch.empty_like(x)
    block = power_of_two(columns)
    return Case(
        name=f"softmax {rows}x{columns} f32",
        module="softmax",
        out=out,
        run=lambda m, o: m.softmax[(rows,)](
            o, x, x.stride(0), o.stride(0), columns, BLOCK=block, num_warps=num_warps
        ),
        oracle=lambda: torch.softmax(x.double(), 1),
        torch_run=lambda: torch.softmax(x, 1),
        nbytes=2 * 4 * x.numel(),
    )


def layernorm(rows: int, columns: int, block: int, num_warps: int) -> Case:
    x, w, b = random_tensor(rows, columns), random_tensor(columns), random_tensor(columns)
    out = torch.empty_like(x)
    return Case(
        name=f"layernorm {rows}x{columns} f32",
        module="layernorm",
        out=out,
        run=lambda m, o: m.layernorm[(rows,)](
            o, x, w, b, x.stride(0), columns, 1e-5, BLOCK=block, num_warps=num_warps
        ),
        oracle=lambda: torch.layer_norm(x.double(), (columns,), w.double(), b.double(), 1e-5),
        torch_run=lambda: torch.layer_norm(x, (columns,), w, b, 1e-5),
        nbytes=2 * 4 * x.numel(),
    )


def matmul(
    size: int, dtype: torch.dtype, tile: tuple[int, int, int], num_warps: int = 4, num_stages: int = 3
) -> Case:
    a, b = random_tensor(size, size, dtype=dtype), random_tensor(size, size, dtype=dtype)
    out = torch.empty(size, size, device="cuda", dtype=dtype)
    m_, n_, k_ = tile
    grid = (cdiv(size, m_) * cdiv(size, n_),)
    return Case(
        name=f"matmul {size} {str(dtype).removeprefix('torch.')}",
        module="matmul",
        out=out,
        run=lambda m, o: m.matmul[grid](
            a, b, o, size, size, size, *a.stride(), *b.stride(), *o.stride(),
            BLOCK_M=m_, BLOCK_N=n_, BLOCK_K=k_, GROUP_M=8, num_warps=num_warps, num_stages=num_stages,
        ),
        oracle=lambda: a.double() @ b.double(),
        torch_run=lambda: torch.mm(a, b, out=out),
        flops=2 * size**3,
    )  # fmt: skip


CASES: dict[str, Callable[[], Case]] = {
    "vector_add": lambda: vector_add(1 << 28),
    "softmax_4096": lambda: softmax(16384, 4096, 8),
    "softmax_32768": lambda: softmax(4096, 32768, 32),
    "layernorm_8192": lambda: layernorm(8192, 8192, 2048, 8),
    "matmul_f32": lambda: matmul(1024, torch.float32, (64, 64, 32)),
    "matmul_f16": lambda: matmul(1024, torch.float16, (64, 64, 32)),
    "matmul_f16_4096": lambda: matmul(4096, torch.float16, (128, 128, 32), num_stages=4),
    "matmul_f16_4096_wide": lambda: matmul(4096, torch.float16, (128, 256, 64), num_warps=8),
    "matmul_bf16_8192": lambda: matmul(8192, torch.bfloat16, (128, 128, 64), num_warps=8),
}


# --- measuring --------------------------------------------------------------------------------------------


def event_seconds(function: Callable[[], object], flush: torch.Tensor) -> float:
    """Seconds of one call on the device; the flush before it hides the launch."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    flush.zero_()
    begin.record()
    function()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3


def largest_error(out: torch.Tensor, expected: torch.Tensor) -> float:
    """NaN where the kernel did not write."""
    return float((out.double() - expected).abs().max())


def measure(
    case: Case, compilers: list[str], folder: Path, rounds: int, flush: torch.Tensor
) -> dict[str, Measured]:
    modules = {c: load(case.module, c, folder) for c in compilers}
    measured = {c: Measured() for c in (*compilers, "torch")}
    expected = case.oracle()
    for compiler, module in modules.items():
        case.out.fill_(float("nan"))
        torch.cuda.synchronize()
        start = time.perf_counter()
        case.run(module, case.out)
        torch.cuda.synchronize()
        measured[compiler].first = time.perf_counter() - start
        measured[compiler].error = largest_error(case.out, expected)
    del expected
    candidates: dict[str, Callable[[], object]] = {
        c: functools.partial(case.run, m, case.out) for c, m in modules.items()
    }
    candidates["torch"] = case.torch_run
    for function in candidates.values():
        for _ in range(3):
            function()
    names, shuffler = list(candidates), random.Random(0)
    for _ in range(rounds):
        shuffler.shuffle(names)
        for name in names:
            measured[name].seconds.append(event_seconds(candidates[name], flush))
    return measured


def launch_microseconds(compilers: list[str], folder: Path, launches: int = 2000) -> dict[str, float]:
    """Host time per launch of a tiny kernel, launches enqueued one after the other."""
    x, y, out = (torch.ones(1024, device="cuda") for _ in range(3))
    made = {}
    for compiler in compilers:
        kernel = load("vector_add", compiler, folder).vector_add
        kernel[(1,)](x, y, out, 1024, BLOCK=1024)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(launches):
            kernel[(1,)](x, y, out, 1024, BLOCK=1024)
        made[compiler] = (time.perf_counter() - start) / launches * 1e6
        torch.cuda.synchronize()
    return made


def row(case: Case, measured: dict[str, Measured]) -> dict[str, Any]:
    """One line of the table, as data."""
    made: dict[str, Any] = {"kernel": case.name}
    for name, m in measured.items():
        made[f"{name}_us"] = m.median * 1e6
        if name != "torch":
            made[f"{name}_error"] = m.error
            made[f"{name}_first_ms"] = m.first * 1e3
    ours = measured["tri"].median
    made["rate"] = (
        f"{case.nbytes / ours / 1e9:.0f} GB/s" if case.nbytes else f"{case.flops / ours / 1e12:.1f} TFLOP/s"
    )
    if "triton" in measured:
        made["tri_over_triton"] = ours / measured["triton"].median
    return made


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as text in columns."""
    columns = list(dict.fromkeys(key for r in rows for key in r))

    def cell(value: object) -> str:
        if isinstance(value, float):
            return f"{value:.2e}" if abs(value) < 1e-2 else f"{value:.3f}" if value < 10 else f"{value:.1f}"
        return str(value)

    cells = [columns] + [[cell(r.get(c, "")) for c in columns] for r in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return "\n".join("  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"of {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--compilers", default="tri,triton")
    given = parser.parse_args()
    torch.manual_seed(0)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in given.cases:
            case = CASES[name]()
            try:
                measured = measure(case, given.compilers.split(","), Path(folder), given.rounds, flush)
                rows.append(row(case, measured))
            except Exception as error:  # a broken kernel must not hide the others' numbers
                print(f"{case.name}: {type(error).__name__}: {error}", flush=True)
            del case
            torch.cuda.empty_cache()
        launch = launch_microseconds(given.compilers.split(","), Path(folder))
    print(table(rows))
    print("host time per launch, us:", ", ".join(f"{c} {t:.1f}" for c, t in launch.items()))
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "bench_gpu.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
