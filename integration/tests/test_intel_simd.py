"""Both paths of Intel's backend, kernel by kernel: by SIMD a case is right, or refused with its op and place; by either path all are right."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tri
from integration.bench_intel_static import igc
from integration.bench_intel_static.cases import CASES, compiled
from integration.bench_intel_static.figures import RECORD, by_simd, read
from integration.kernels.attention import attention
from integration.kernels.layernorm import layernorm
from integration.kernels.softmax import softmax
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_conformance import Selection, Subject
from tri_conformance.run import Run

#: what has dots, and a little of everything
DOTS = Selection(select=("language/dot*", "language/*descriptor*", "programs/*"), sample=40)
SOME = Selection(levels=("language",), sample=75)
ALL = Selection(levels=("language",), sample=300)
_REFUSED = re.compile(r"Unsupported: the SIMD path (has no|stops)[^\n]*\n  at \S+:\d+:\d+")
Array = npt.NDArray[Any]

_cases = {case.name: case for case in CASES}
RECORDED = read()
CARRIED = [name for name, own in RECORDED.items() if "pvc" in own and own["pvc"].simd >= 0]


def failures(path: str, selection: Selection) -> list[str]:
    run = Run(Subject("sim:intel:pvc", (f"path={path}",)), selection).all()
    assert len(run.results) > 10
    return [result.detail for result in run.results if result.verdict == "failed"]


@pytest.mark.parametrize(
    "selection",
    [
        pytest.param(DOTS, id="dots"),
        pytest.param(SOME, id="some"),
        pytest.param(ALL, id="all", marks=pytest.mark.slow),
    ],
)
def test_by_simd_a_case_is_right_or_refused_with_its_place(selection: Selection) -> None:
    assert [each for each in failures("simd", selection) if not _REFUSED.search(each)] == []


@pytest.mark.slow
def test_by_either_path_all_cases_are_right() -> None:
    assert failures("auto", DOTS) == []


# --- kernel by kernel, against float64 and the other path ------------------------------------------------


def by_softmax(path: str) -> tuple[Array, Array]:
    x = np.random.default_rng(1).standard_normal((5, 100)).astype("f4")
    out = np.zeros_like(x)
    softmax[(5,)](out, x, 100, 100, 100, BLOCK=128, path=path)
    wanted = np.exp(x.astype("f8"))
    return out, wanted / wanted.sum(1, keepdims=True)


def by_layernorm(path: str) -> tuple[Array, Array]:
    make = np.random.default_rng(2)
    x, weight, bias = (make.standard_normal(s).astype("f4") for s in ((3, 100), 100, 100))
    out = np.zeros_like(x)
    layernorm[(3,)](out, x, weight, bias, 100, 100, 1e-5, BLOCK=64, path=path)
    wide = x.astype("f8")
    centred = wide - wide.mean(1, keepdims=True)
    return out, centred / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * weight + bias


def by_attention(path: str, causal: bool = False) -> tuple[Array, Array]:
    heads, length, width, block_m, block_n = 2, 128, 64, 64, 32
    make = np.random.default_rng(3)
    q, k, v = (make.standard_normal((heads * length, width)).astype("f2") for _ in range(3))
    out, lse = np.zeros_like(q), np.zeros(heads * length, "f4")
    rows = [TensorDescriptor.from_tensor(t, [block_m, width]) for t in (q, out)]
    columns = [TensorDescriptor.from_tensor(t, [block_n, width]) for t in (k, v)]
    attention[(length // block_m, heads)](
        rows[0], *columns, rows[1], lse, 0.125, length,
        WIDTH=width, BLOCK_M=block_m, BLOCK_N=block_n, CAUSAL=causal, path=path, num_warps=4,
    )  # fmt: skip
    wide_q, wide_k, wide_v = (t.astype("f8").reshape(heads, length, width) for t in (q, k, v))
    scores = wide_q @ wide_k.transpose(0, 2, 1) * 0.125
    if causal:
        scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
    weights = np.exp(scores)
    sums = weights.sum(-1, keepdims=True)
    wanted = np.concatenate([weights / sums @ wide_v, np.log2(sums)], -1)
    return np.concatenate([out.astype("f4"), lse[:, None]], -1), wanted.reshape(heads * length, width + 1)


def by_causal_attention(path: str) -> tuple[Array, Array]:
    return by_attention(path, causal=True)


@pytest.mark.parametrize(
    ("run", "most"),
    [(by_softmax, 1e-6), (by_layernorm, 2e-6), (by_attention, 2e-3), (by_causal_attention, 2e-3)],
)
def test_both_paths_are_right(run: Any, most: float) -> None:
    with tri.target("sim:intel:pvc"):
        for path in ("simd", "simt"):
            found, wanted = run(path)
            assert np.abs(found - wanted).max() <= most, path


FORWARD = _cases["attention D64 128x64 w16"]


@pytest.mark.skipif(shutil.which("spirv-val") is None, reason="spirv-val is not installed")
def test_attention_is_a_valid_module(tmp_path: Path) -> None:
    place = tmp_path / "kernel.spv"
    module = compiled(FORWARD, "pvc", path="simd").asm["spv"]
    assert isinstance(module, bytes)
    place.write_bytes(module)
    made = subprocess.run(["spirv-val", str(place)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr


@pytest.mark.skipif(igc.ocloc() is None, reason="there is no ocloc")
@pytest.mark.parametrize(
    "name", ["attention D64 64x32 w16", "attention D64 128x64 w16", "matmul fp16 128x128x32 w8"]
)
def test_dots_by_simd_spill_nothing(name: str) -> None:
    assert by_simd(_cases[name], "pvc")["simd_spills"] == 0


#: cases whose right operands are no blocks: they are loaded through pointers
_THROUGH_POINTERS = ("matmul i8 A^T", "experts_matmul", "int4_matmul", "chunk_scan")


def test_no_kernel_with_dots_spills_by_simd() -> None:
    spilling = [
        name
        for name in CARRIED
        if RECORDED[name]["pvc"].dpas
        and RECORDED[name]["pvc"].simd_spills
        and not name.startswith(_THROUGH_POINTERS)
    ]
    assert spilling == []


def test_the_bench_has_matmuls_by_simd() -> None:
    assert {"matmul fp16 128x128x32 w32", "matmul bf16 256x256x32 w32"} <= set(CARRIED)
    assert RECORDED["matmul fp16 128x128x32 w32"]["pvc"].simd <= 50  # 47 in 128 registers


@pytest.mark.skipif(igc.ocloc() is None, reason="there is no ocloc")
@pytest.mark.parametrize("name", ["matmul fp16 128x128x32 w32", "matmul bf16 128x128x32 w8"])
def test_machine_code_by_simd_is_as_recorded(name: str) -> None:
    # another version of the compiler may count a little otherwise
    more = 1.0 if igc.version() == json.loads(RECORD.read_text())["compiler"] else 1.1
    assert by_simd(_cases[name], "pvc")["simd"] <= RECORDED[name]["pvc"].simd * more
