"""DPAS: the layout against the extension's tables, the table of devices, dots in the simulator, modules that are valid."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl
from intel_support import target_of
from tri_backend_intel.dialect import Dpas
from tri_backend_intel.dialect.matrix import KINDS, DpasOp
from tri_backend_intel.dpas import dots
from tri_backend_intel.options import IntelOptions
from tri_core.mlir import ir, session
from tri_gpu_dialect.encodings import DotOperand, MatrixEncoding, decode
from tri_gpu_dialect.layouts import LANE, REGISTER, LinearLayout, layout_for
from tri_gpu_dialect.lowering import SimulatedCTA

#: element of operands: (dtype of arrays, dtype of results)
TYPES = {
    "fp16": (np.float16, np.float32),
    "fp32": (np.float32, np.float32),
    "i8": (np.int8, np.int32),
}


# --- the layout ---------------------------------------------------------------------------------------------


def dealt(layout: LinearLayout, matrix: np.ndarray[Any, Any], lanes: int) -> list[np.ndarray[Any, Any]]:
    """The registers of a warp that hold ``matrix`` as ``layout`` says."""
    registers = layout.in_size(REGISTER)
    places = [[layout.apply({REGISTER: r, LANE: lane}) for lane in range(lanes)] for r in range(registers)]
    return [np.array([matrix[p["dim0"], p["dim1"]] for p in row]) for row in places]


class Cta:
    """As much of a simulated CTA as DPAS asks for: one sub-group."""

    def __init__(self, lanes: int) -> None:
        self.threads_per_warp = self.num_threads = lanes


def as_given(kind: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Small whole numbers in the type in which the op has elements of ``kind``."""
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype({"f16": np.float16, "f32": np.float32, "i8": np.int8, "u8": np.uint8}[kind])


@settings(deadline=None)
@given(
    st.sampled_from(sorted(KINDS)), st.sampled_from([8, 16]), st.sampled_from([1, 2, 4, 8]), st.integers(0, 9)
)
def test_fragments_are_what_the_extension_says(kind: str, lanes: int, rows: int, seed: int) -> None:
    per_channel = 32 // KINDS[kind].bits
    if rows * 8 * per_channel < lanes:
        return
    encoding = Dpas(
        repeat_count=rows, execution_size=lanes, ops_per_channel=per_channel, threads_per_warp=lanes
    )
    make, k = np.random.default_rng(seed), encoding.depth
    low = 0 if kind == "u8" else -9
    a, b, c = (
        make.integers(low, 100 if kind == "u8" else 9, s) for s in ((rows, k), (k, lanes), (rows, lanes))
    )
    sums = np.int32 if KINDS[kind].accumulator == "i32" else np.float32
    given_ = [as_given(kind, a), as_given(kind, b), c.astype(sums)]
    operands = [dealt(encoding.fragment(role, 0), m, lanes) for role, m in enumerate(given_)]
    with session():
        element = ir.Type.parse({"bf16": "bf16", "u8": "i8"}.get(kind, kind))
        types = [element, element, ir.Type.parse(KINDS[kind].accumulator)]
        module = ir.Module.create()
        with ir.InsertionPoint(module.body), ir.Location.unknown():
            parts = [
                [ir.Operation.create("llvm.mlir.undef", results=[type_]).results[0] for _ in part]
                for type_, part in zip(types, operands, strict=True)
            ]
            op: Any = DpasOp.of(kind, *parts)[0].owner.opview
        cta: SimulatedCTA = Cta(lanes)  # type: ignore[assignment]
        made = op.simulate(cta, [v for part in operands for v in part])
    wanted = dealt(encoding.fragment(2, 0), a @ b + c, lanes)
    assert all(np.array_equal(x, y) for x, y in zip(made, wanted, strict=True))
    assert made[0].dtype == sums


@given(
    st.sampled_from([8, 16]),
    st.sampled_from([1, 2, 4]),
    st.tuples(st.sampled_from([8, 32, 64, 128]), st.sampled_from([16, 32, 128])),
    st.sampled_from([(1, 1), (2, 2), (4, 1), (8, 4)]),
)
def test_layouts_cover_operands_and_result(
    lanes: int, per_channel: int, shape: tuple[int, int], warps: tuple[int, int]
) -> None:
    parent = Dpas(execution_size=lanes, ops_per_channel=per_channel, threads_per_warp=lanes).spread(
        shape, warps
    )
    assert max(parent.rep_cluster) <= 4
    (m, n), k = shape, 64
    for encoding, size in (
        (parent, (m, n)),
        (DotOperand(0, parent), (m, k)),
        (DotOperand(1, parent), (k, n)),
    ):
        layout = layout_for(encoding, size)
        assert layout.is_surjective
        assert tuple(layout.out_sizes.values()) == size
        assert layout.in_size(LANE) == lanes


def test_the_encoding_is_spelt_as_the_original_does() -> None:
    with session():
        made = Dpas(warps_per_cta=(4, 2), rep_cluster=(4, 2))
        text = str(made.to_attr())
        assert decode(ir.Attribute.parse(text)) == made
    for part in ("#ttig.dpas", "repeatCount = 8", "systolicDepth = 8", "executionSize = 16", "opsPerChan = 2",
                 "threadsPerWarp = 16", "warpsPerCTA = [4, 2]", "repCluster = [4, 2]"):  # fmt: skip
        assert part in text


@pytest.mark.parametrize(
    ("field", "value"),
    [("repeat_count", 3), ("systolic_depth", 4), ("execution_size", 32), ("ops_per_channel", 8),
     ("threads_per_warp", 32), ("rep_cluster", (1,))],
)  # fmt: skip
def test_what_no_instruction_has_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        Dpas(**{field: value})


# --- devices ------------------------------------------------------------------------------------------------


def test_each_device_has_its_table() -> None:
    found = {
        a: dots(target_of(a), IntelOptions())
        for a in ("pvc", "bmg", "lnl", "ptl", "dg2", "arl-h", "mtl", "xe-lp")
    }
    shapes = {a: {(i.a, i.shape) for i in d.instructions if i.shape[0] == 8} for a, d in found.items()}
    wide = {("f16", (8, 16, 16)), ("bf16", (8, 16, 16)), ("i8", (8, 16, 32)), ("f32", (8, 16, 8))}
    wide |= {("f8E5M2", (8, 16, 32)), ("f8E4M3FN", (8, 16, 32))}
    assert all(shapes[a] == wide for a in ("pvc", "bmg", "lnl", "ptl"))
    assert shapes["dg2"] == {
        *(("f16", (8, 8, 16)), ("bf16", (8, 8, 16)), ("i8", (8, 8, 32))),
        *(("f8E5M2", (8, 8, 32)), ("f8E4M3FN", (8, 8, 32))),
    }
    assert not any(shapes[a] for a in ("arl-h", "mtl", "xe-lp"))
    assert [found[a].threads_per_warp for a in ("pvc", "dg2", "mtl")] == [16, 8, 0]


@pytest.mark.parametrize(("arch", "size"), [("pvc", 32), ("dg2", 16), ("dg2", 32)])
def test_sub_groups_of_another_size_have_no_dpas(arch: str, size: int) -> None:
    assert not dots(target_of(arch), IntelOptions(warp_size=size)).instructions


# --- kernels ------------------------------------------------------------------------------------------------


@tri.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K,
    PRECISION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    rows, columns, depth = row + tl.arange(0, BLOCK_M), column + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    kind: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=kind)
    for k in range(0, K, BLOCK_K):
        inner = k + depth
        a = tl.load(
            a_ptr + rows[:, None] * K + inner[None, :],
            mask=(rows < M)[:, None] & (inner < K)[None, :],
            other=0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * N + columns[None, :],
            mask=(inner < K)[:, None] & (columns < N)[None, :],
            other=0,
        )
        total = tl.dot(a, b, total, out_dtype=kind, input_precision=PRECISION)
    tl.store(
        c_ptr + rows[:, None] * N + columns[None, :], total, mask=(rows < M)[:, None] & (columns < N)[None, :]
    )


BLOCKS = ("BLOCK_M", "BLOCK_N", "BLOCK_K")


def compiled(
    arch: str, kind: str, block: tuple[int, int, int], warps: int, precision: str = "tf32", **options: Any
) -> Any:
    constants = dict(zip(BLOCKS, block, strict=True)) | {"PRECISION": precision}
    out = "i32" if kind == "i8" else "fp32"
    signature = {"a_ptr": f"*{kind}", "b_ptr": f"*{kind}", "c_ptr": f"*{out}"} | dict.fromkeys("MNK", "i32")
    source = tri.ASTSource(matmul, signature | dict.fromkeys(constants, "constexpr"), constants)
    return tri.compile(source, target=f"intel:{arch}", options={"num_warps": warps, **options})


def largest_error(
    arch: str, kind: str, block: tuple[int, int, int], warps: int, precision: str, **options: Any
) -> float:
    """In the simulator, relative to the largest result in float64 of the operands that are read."""
    m, n, k = 70, 50, 90
    operand, result = TYPES[kind]
    make = np.random.default_rng(3)
    a, b = (
        make.integers(-128, 128, s).astype(operand)
        if kind == "i8"
        else make.standard_normal(s).astype(operand)
        for s in ((m, k), (k, n))
    )
    c = np.full((m, n), 113, result)
    with tri.target(f"sim:intel:{arch}"):
        grid = (-(-m // block[0]), -(-n // block[1]))
        matmul[grid](a, b, c, m, n, k, precision, *block, num_warps=warps, **options)
    if precision == "tf32" and kind == "fp32":
        a, b = ((v.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for v in (a, b))
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return float(np.abs(c - wanted).max() / np.abs(wanted).max())


CASES = [
    (arch, kind, block, warps)
    for arch in ("pvc", "bmg", "dg2")
    for kind, depth in (("fp16", 32), ("i8", 64), ("fp32", 32))
    for block, warps in (((32, 32, depth), 4), ((64, 32, depth), 2), ((4, 16, depth), 1))
]


@pytest.mark.parametrize(("arch", "kind", "block", "warps"), CASES)
def test_dots_are_right(arch: str, kind: str, block: tuple[int, int, int], warps: int) -> None:
    assert largest_error(arch, kind, block, warps, "tf32") <= (
        0 if kind == "i8" else 1e-3 if kind == "fp32" else 1e-6
    )


def test_tf32_is_cut_off_and_ieee_is_exact() -> None:
    assert largest_error("pvc", "fp32", (32, 32, 32), 4, "tf32") <= 1e-6
    assert largest_error("pvc", "fp32", (32, 32, 32), 4, "ieee") <= 1e-5


def test_a_wrong_layout_gives_wrong_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Dpas.fragment

    def wrong(self: Dpas, role: int, k_width: int) -> LinearLayout:
        layout = right(self, role, k_width)
        if role != 0:
            return layout
        bases = layout.bases
        lane = bases[LANE]
        return LinearLayout.from_bases(bases | {LANE: [lane[1], lane[0], *lane[2:]]}, layout.out_sizes)

    monkeypatch.setattr(Dpas, "fragment", wrong)
    assert largest_error("pvc", "fp16", (32, 16, 32), 2, "tf32") > 0.1


@pytest.mark.parametrize(("arch", "size"), [("pvc", 16), ("bmg", 16), ("dg2", 8), ("arl-h", 16)])
def test_sub_groups_have_the_size_that_dots_want(arch: str, size: int) -> None:
    kernel = compiled(arch, "fp16", (32, 32, 32), 4)
    assert kernel.metadata.threads_per_warp == size
    assert ("SPV_INTEL_subgroup_matrix_multiply_accumulate" in kernel.metadata.attrs["spirv_extensions"]) == (
        arch != "arl-h"
    )
    assert ("#ttig.dpas" in kernel.asm["ttgir"]) == (arch != "arl-h")


def test_a_size_that_is_asked_for_stays() -> None:
    kernel = compiled("dg2", "fp16", (32, 32, 32), 4, warp_size=16)
    assert kernel.metadata.threads_per_warp == 16
    assert "#ttig.dpas" not in kernel.asm["ttgir"]


def test_accumulators_go_around_loops_as_vectors() -> None:
    text = compiled("pvc", "fp16", (32, 32, 32), 4).asm["llir"]
    assert "phi <8 x float>" in text
    assert "phi float" not in text


@pytest.mark.skipif(shutil.which("spirv-val") is None, reason="spirv-val is not installed")
@pytest.mark.parametrize("arch", ["pvc", "dg2"])
@pytest.mark.parametrize("kind", ["fp16", "bf16", "i8", "fp32"])
@pytest.mark.parametrize("rows", [32, 2])
def test_modules_are_valid(arch: str, kind: str, rows: int, tmp_path: Path) -> None:
    place = tmp_path / "kernel.spv"
    place.write_bytes(compiled(arch, kind, (rows, 16, 64), 1).asm["spv"])
    made = subprocess.run(["spirv-val", str(place)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr


def test_the_parent_of_operands_is_a_matrix_encoding() -> None:
    assert issubclass(Dpas, MatrixEncoding)
