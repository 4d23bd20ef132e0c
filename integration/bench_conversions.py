"""Conversions and barriers left: ``python -m integration.bench_conversions [--only TEXT] [--triton-python PYTHON]``.

Every kernel of ``integration/kernels`` is compiled for sm_80 and sm_90a, by tri and, given a Python that has it, by
Triton; no GPU is needed.  Counted are ``ttg.convert_layout`` in the final TTGIR, and barriers of the block or of some of
its warps in PTX: Triton puts barriers in after TTGIR.  Ours are compiled as they are written (``TRI_NVIDIA_SCHEDULE``), as Triton's
are: loops of which some stages run early stand there more than once, with their conversions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

TOP = Path(__file__).resolve().parents[1]
#: tri's names by Triton's numbers: for 90 it makes code of sm_90a
ARCHITECTURES = {80: "sm_80", 90: "sm_90a"}


@dataclass(frozen=True)
class Case:
    """One kernel with its signature; parameters that are not named are constexprs, pointers, strides, ``n...`` and ``length`` divisible by 16."""

    module: str
    kernel: str
    types: str
    constants: Mapping[str, object] = field(default_factory=dict)
    label: str = ""
    options: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.kernel}{f' {self.label}' if self.label else ''}"


_TILES = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8}
_STRIDES = "M: i32, N: i32, K: i32, stride_am: i32, stride_ak: 1, stride_bk: i32, stride_bn: 1, stride_cm: i32, stride_cn: 1"


def _matmul(element: str) -> Case:
    types = f"a_ptr: *{element}, b_ptr: *{element}, c_ptr: *{element}, {_STRIDES}"
    return Case("matmul", "matmul", types, _TILES, element)


def _suite(kernel: str, types: str, label: str = "", **constants: object) -> Case:
    return Case("suite", kernel, types, constants, label)


def _timed(module: str, kernel: str, types: str, **constants: int) -> Case:
    tiles = {name: size for name, size in _TILES.items() if name != "GROUP_M"}
    return Case(module, kernel, types, {**tiles, **constants}, "fp16")


def _attention(kernel: str, outputs: Sequence[str], width: int, causal: bool) -> Case:
    """Descriptors and pointers in the order of the kernel: inputs, outputs, pointers."""
    backward = kernel != "attention"
    m, n, warps = (64, 64, 4) if backward else (128, 64, 8)
    rows = {"q": m, "k": n, "v": n, **({"grad": m} if backward else {})}
    rows |= {name: n if name in ("dk", "dv") else m for name in outputs}
    pointers = ("lse_ptr", "delta_ptr") if backward else ("lse_ptr",)
    types = [f"{name}_desc: tensordesc<fp16[{size},{width}]>" for name, size in rows.items()]
    types += [*(f"{name}: *fp32" for name in pointers), "scale: fp32", "length: i32"]
    constants = {"WIDTH": width, "BLOCK_M": m, "BLOCK_N": n, "CAUSAL": causal}
    label = f"D{width}{' causal' if causal else ''}"
    return Case("attention", kernel, ", ".join(types), constants, label, {"num_warps": warps})


_X = "out: *fp32, x: *fp32"
CASES: Sequence[Case] = (
    Case("vector_add", "vector_add", "x_ptr: *fp32, y_ptr: *fp32, out_ptr: *fp32, n: i32", {"BLOCK": 1024}),
    Case("softmax", "softmax", "out_ptr: *fp32, x_ptr: *fp32, x_stride: i32, out_stride: i32, n_cols: i32", {"BLOCK": 1024}),
    Case("layernorm", "layernorm", "out_ptr: *fp32, x_ptr: *fp32, w_ptr: *fp32, b_ptr: *fp32, stride: i32, n_cols: i32, eps: fp32", {"BLOCK": 1024}),
    _matmul("fp16"),
    _matmul("fp32"),
    _suite("reduce_rows", _X, "sum 0", M=64, N=128, KIND="sum", AXIS=0),
    _suite("reduce_rows", _X, "sum 1", M=64, N=128, KIND="sum", AXIS=1),
    _suite("reduce_rows", _X, "argmax 1", M=64, N=128, KIND="argmax", AXIS=1),
    _suite("moments", _X, N=1024),
    _suite("scan", _X, "0", M=32, N=64, AXIS=0, REVERSE=False),
    _suite("scan", _X, "1", M=32, N=64, AXIS=1, REVERSE=False),
    _suite("matmul", "c: *fp32, a: *fp16, b: *fp16", M=64, N=64, K=64),
    _suite("transpose", _X, M=64, N=64),
    _suite("shapes", _X, N=1024),
    _suite("gathers", "out: *fp32, x: *fp32, indices: *i32", N=256, M=256),
    _suite("counts", "out: *i32, x: *i32", N=1024, BINS=256),
    _suite("masked_copy", "out: *fp32, x: *fp32, n: i32", OTHER=0.0, BLOCK=1024),
    _suite("add_atomically", "out: *fp32, x: *fp32, n: i32", BINS=64, BLOCK=1024),
    _suite("extremes", "out: *i32, x: *i32, n: i32", BLOCK=1024),
    _suite("arithmetic", "out: *i32, x: *i32, y: *i32", BLOCK=512),
    _suite("collatz", "out: *i32, n: i32", BLOCK=256),
    _suite("smaller_transposed", "out: *fp32, x: *fp32, y: *fp32", M=64, N=64),
    *(
        _attention(kernel, outputs, width, causal)
        for kernel, outputs in (("attention", ["out"]), ("gradients_of_keys", ["dk", "dv"]), ("gradients_of_queries", ["dq"]))
        for width in (64, 128)
        for causal in (False, True)
    ),
    _timed(
        "grouped_matmul", "grouped_matmul",
        "a_ptr: *fp16, b_ptr: *fp16, c_ptr: *fp32, starts_ptr: *i32, groups: i32, N: i32, K: i32, "
        "stride_a: i32, stride_bg: i32, stride_b: i32, stride_c: i32", PROGRAMS=132,
    ),
    _timed("persistent_matmul", "persistent_matmul", f"a_ptr: *fp16, b_ptr: *fp16, c_ptr: *fp32, {_STRIDES}", PROGRAMS=132),
    _timed(
        "persistent_matmul", "persistent_matmul_descriptor",
        "a_ptr: *fp16, b_ptr: *fp16, c_ptr: *fp16, M: i32, N: i32, K: i32, stride_a: i32, stride_b: i32, stride_c: i32", PROGRAMS=132,
    ),
    _timed(
        "matmul_descriptor", "matmul_descriptor",
        "a: tensordesc<fp16[64,32]>, b: tensordesc<fp16[32,64]>, c: tensordesc<fp16[64,64]>, M: i32, N: i32, K: i32", GROUP_M=8,
    ),
    _timed(
        "convolution", "convolution",
        "x_ptr: *fp16, w_ptr: *fp16, out_ptr: *fp32, images: i32, height: i32, width: i32, out_height: i32, out_width: i32",
        CHANNELS=64, FILTERS=128, TAPS_Y=3, TAPS_X=3, STRIDE=1, PADDING=1, DILATION=1,
    ),
)  # fmt: skip

#: runs in either Python: the kernels import whatever is called tri there
COUNT = """
import importlib, json, re, sys
sys.path.insert(0, {top!r})
if {original!r}:
    import triton, triton.language
    from triton.compiler import ASTSource
    from triton.backends.compiler import GPUTarget
    sys.modules["tri"], sys.modules["tri.language"] = triton, triton.language
    compile, target = triton.compile, lambda arch: GPUTarget("cuda", arch, 32)
else:
    import tri
    from tri import ASTSource
    compile, target = tri.compile, lambda arch: "nvidia:" + {architectures!r}[arch]
BARRIER = re.compile(r"^\\s*(?:@%p\\d+ )?(?:bar\\.sync|barrier\\.sync)", re.M)
counts = {{}}
for case in json.loads({cases!r}):
    kernel = getattr(importlib.import_module("integration.kernels." + case["module"]), case["kernel"])
    given = dict(part.split(": ") for part in case["types"].split(", "))
    constants = {{**case["constants"], **{{name: 1 for name, type_ in given.items() if type_ == "1"}}}}
    signature = {{name: "constexpr" if name in constants else given[name] for name in kernel.arg_names}}
    divisible = [name.startswith(("n", "length")) or type_[0] == "*" or "stride" in name for name, type_ in signature.items()]
    attrs = {{(i,): [["tt.divisibility", 16]] for i, d in enumerate(divisible) if d and kernel.arg_names[i] not in constants}}
    for arch in {architectures!r}:
        try:
            made = compile(ASTSource(kernel, signature, constants, attrs), target=target(arch), options=case["options"]).asm
            count = [made["ttgir"].count("ttg.convert_layout"), len(BARRIER.findall(made["ptx"]))]
        except Exception as error:
            print(case["kernel"], arch, type(error).__name__, str(error)[:300], file=sys.stderr)
            count = None
        counts[f"{{case['name']}}/{{arch}}"] = count
print(json.dumps(counts))
"""

Counts = dict[str, "list[int] | None"]


def count(
    python: str,
    original: bool,
    cases: Sequence[Case] = CASES,
    architectures: Mapping[int, str] = ARCHITECTURES,
) -> Counts:
    """(conversions, barriers) by ``kernel/architecture``; None where a kernel does not compile."""
    listed = json.dumps([{**asdict(c), "name": c.name} for c in cases])
    source = COUNT.format(top=str(TOP), original=original, cases=listed, architectures=dict(architectures))
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "count.py"
        script.write_text(source)
        caches = {"TRI_CACHE_DIR": f"{folder}/tri", "TRITON_CACHE_DIR": f"{folder}/triton"}
        environment = {**os.environ, **caches, "TRI_NVIDIA_SCHEDULE": "written"}
        command = [python, "-W", "ignore", str(script)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    sys.stderr.write(done.stderr)
    made: Counts = json.loads(done.stdout.splitlines()[-1])
    return made


def rows(mine: Counts, theirs: Counts) -> list[str]:
    """Lines of a table in Markdown; where tri leaves more, the number is in bold."""
    made = [
        "| kernel | sm | conversions, tri | Triton | barriers, tri | Triton |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for key, found in mine.items():
        name, _, arch = key.rpartition("/")
        peer = theirs.get(key)
        cells = []
        for i in range(2):
            left, right = (None if c is None else c[i] for c in (found, peer))
            more = left is not None and right is not None and left > right
            cells += [
                f"**{left}**" if more else str("-" if left is None else left),
                str("-" if right is None else right),
            ]
        made.append(f"| {name} | {arch} | {' | '.join(cells)} |")
    return made


def main(
    triton_python: Annotated[str, typer.Option(help="a Python that has Triton")] = "",
    only: Annotated[str, typer.Option(help="kernels whose names have this")] = "",
) -> None:
    """Print the table."""
    cases = [case for case in CASES if only in case.name]
    mine = count(sys.executable, original=False, cases=cases)
    theirs = count(triton_python, original=True, cases=cases) if triton_python else {}
    Console(width=120).print("\n".join(rows(mine, theirs)), markup=False, highlight=False)


if __name__ == "__main__":
    typer.run(main)
