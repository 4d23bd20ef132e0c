"""2D blocks: operands and results in the simulator, which refuses surfaces that the hardware does not take; valid modules."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl

BLOCKS = ("BLOCK_M", "BLOCK_N", "BLOCK_K")


@tri.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    A_T: tl.constexpr, B_T: tl.constexpr, PRECISION: tl.constexpr, SCALED: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    if A_T:
        a = tl.make_tensor_descriptor(a_ptr, [K, M], [stride_a, 1], [BLOCK_K, BLOCK_M])
    else:
        a = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_a, 1], [BLOCK_M, BLOCK_K])
    if B_T:
        b = tl.make_tensor_descriptor(b_ptr, [N, K], [stride_b, 1], [BLOCK_N, BLOCK_K])
    else:
        b = tl.make_tensor_descriptor(b_ptr, [K, N], [stride_b, 1], [BLOCK_K, BLOCK_N])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [stride_c, 1], [BLOCK_M, BLOCK_N])
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    kind: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=kind)
    for k in range(tl.cdiv(K, BLOCK_K)):
        x = tl.trans(a.load([k * BLOCK_K, row])) if A_T else a.load([row, k * BLOCK_K])
        y = tl.trans(b.load([column, k * BLOCK_K])) if B_T else b.load([k * BLOCK_K, column])
        total = tl.dot(x, y, total, out_dtype=kind, input_precision=PRECISION)
    if SCALED:
        total = total * 2.0 + 1.0
    c.store([row, column], total.to(c.dtype))


def compiled(
    kind: str, a_t: bool, b_t: bool, block: tuple[int, int, int], warps: int, scaled: bool = False
) -> Any:
    constants = dict(zip(BLOCKS, block, strict=True))
    constants |= {"A_T": a_t, "B_T": b_t, "PRECISION": "tf32", "SCALED": scaled}
    out = "i32" if kind == "i8" else "fp32"
    numbers = ("M", "N", "K", "stride_a", "stride_b", "stride_c")
    signature = {"a_ptr": f"*{kind}", "b_ptr": f"*{kind}", "c_ptr": f"*{out}"} | dict.fromkeys(numbers, "i32")
    whole = {(i,): [["tt.divisibility", 16]] for i in range(len(signature))}
    source = tri.ASTSource(matmul, signature | dict.fromkeys(constants, "constexpr"), constants, whole)
    return tri.compile(source, target="intel:pvc", options={"num_warps": warps})


def placed(values: np.ndarray[Any, Any], offset: int, pitch: int) -> np.ndarray[Any, Any]:
    """``values`` ``offset`` bytes from a multiple of 64, rows ``pitch`` elements apart; NaN around them."""
    rows, columns = values.shape
    room = np.full(rows * pitch * values.itemsize + 256, 0x7F, np.uint8)
    start = -room.ctypes.data % 64 + offset
    flat = room[start : start + rows * pitch * values.itemsize].view(values.dtype)
    made = flat.reshape(rows, pitch)[:, :columns]
    made[...] = values
    return made


def error(
    kind: str = "f2", a_t: bool = False, b_t: bool = False, size: tuple[int, int, int] = (96, 80, 112),
    block: tuple[int, int, int] = (64, 32, 32), offset: int = 0, extra: int = 0, scaled: bool = False, warps: int = 4,
) -> float:  # fmt: skip
    m, n, k = size
    make, dtype = np.random.default_rng(1), np.dtype(kind)
    a, b = (
        make.integers(-9, 9, s).astype(dtype) if kind == "i1" else make.standard_normal(s).astype(dtype)
        for s in ((m, k), (k, n))
    )
    result = np.dtype("i4" if kind == "i1" else "f4")
    lying = [v.T if t else v for v, t in ((a, a_t), (b, b_t))]
    x, y, c = (placed(v, offset, v.shape[1] + extra) for v in (*lying, np.zeros((m, n), result)))
    strides = [v.strides[0] // v.itemsize for v in (x, y, c)]
    with tri.target("sim:intel:pvc"):
        grid = (-(-m // block[0]), -(-n // block[1]))
        matmul[grid](x, y, c, m, n, k, *strides, a_t, b_t, "tf32", scaled, *block, num_warps=warps)
    if kind == "f4":
        a, b = ((v.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for v in (a, b))
    wanted = a.astype("f8") @ b.astype("f8")
    return float(np.abs(c - (wanted * 2 + 1 if scaled else wanted)).max() / np.abs(wanted).max())


@pytest.mark.parametrize("kind", ["f2", "f4", "i1"])
@pytest.mark.parametrize(("a_t", "b_t"), [(False, False), (False, True), (True, False), (True, True)])
def test_operands_in_any_order_are_right(kind: str, a_t: bool, b_t: bool) -> None:
    assert error(kind, a_t, b_t, block=(64, 32, 64)) <= (0 if kind == "i1" else 1e-6)


@pytest.mark.parametrize(
    ("size", "offset", "extra"),
    [
        ((96, 80, 112), 16, 0),  # dense rows from an unaligned base: the surface would be too wide
        ((96, 80, 112), 16, 32),
        ((96, 80, 112), 48, 64),
        ((96, 72, 104), 0, 0),
        ((40, 16, 24), 0, 0),  # rows of less than 64 bytes
        ((33, 40, 24), 32, 8),
    ],
)
def test_what_the_hardware_does_not_take_goes_by_elements(
    size: tuple[int, int, int], offset: int, extra: int
) -> None:
    assert error("f2", size=size, offset=offset, extra=extra) <= 1e-6


@pytest.mark.parametrize("kind", ["f2", "f4", "i1"])
@pytest.mark.parametrize(("a_t", "b_t"), [(False, True), (True, False)])
def test_slices_of_operands_in_any_order_are_right(kind: str, a_t: bool, b_t: bool) -> None:
    # the base is no multiple of 64 bytes and rows are dense, so that no surface is taken
    assert error(kind, a_t, b_t, block=(64, 32, 64), offset=16) <= (0 if kind == "i1" else 1e-6)


def test_dots_of_operands_by_elements_go_over_k_in_slices() -> None:
    text = compiled("fp16", False, False, (64, 64, 64), 8).asm["ttgir"]
    dots = [line for line in text.splitlines() if "tt.dot" in line]
    assert ["64x16x" in line for line in dots] == [False, True]
    # the operand of one step fits an instruction already
    assert compiled("fp16", False, False, (64, 64, 16), 8).asm["ttgir"].count("scf.for") == 2


@tri.jit
def two_dots(
    q_ptr, k_ptr, v_ptr, out_ptr, LENGTH, stride,
    M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """As attention has them: the left operand of the second dot is made of what the first one gave."""
    q = tl.make_tensor_descriptor(q_ptr, [M, WIDTH], [stride, 1], [M, WIDTH])
    k = tl.make_tensor_descriptor(k_ptr, [LENGTH, WIDTH], [stride, 1], [N, WIDTH])
    v = tl.make_tensor_descriptor(v_ptr, [LENGTH, WIDTH], [stride, 1], [N, WIDTH])
    out = tl.make_tensor_descriptor(out_ptr, [M, WIDTH], [stride, 1], [M, WIDTH])
    queries = q.load([0, 0])
    total = tl.zeros((M, WIDTH), dtype=tl.float32)
    for i in range(0, LENGTH, N):
        scores = tl.dot(queries, k.load([i, 0]).T)
        total = tl.dot(scores.to(tl.float16), v.load([i, 0]), total)
    out.store([0, 0], total)


@pytest.mark.parametrize("offset", [0, 16])  # blocks, elements
def test_slices_of_what_was_computed_are_right(offset: int) -> None:
    make = np.random.default_rng(2)
    # small whole numbers: scores are exact in f16
    q, k, v = (make.integers(-2, 3, (rows, 64)).astype("f2") for rows in (16, 80, 80))
    x, y, z, out = (placed(a, offset, 64) for a in (q, k, v, np.zeros((16, 64), "f4")))
    with tri.target("sim:intel:pvc"):
        two_dots[(1,)](x, y, z, out, 80, 64, 16, 64, 64, num_warps=2)
    np.testing.assert_array_equal(out, (q.astype("f8") @ k.T.astype("f8")) @ v.astype("f8"))


def test_dots_of_large_operands_go_over_k_in_slices() -> None:
    constants = {"M": 16, "N": 64, "WIDTH": 64}
    signature = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr"), "*fp16")
    signature |= {"out_ptr": "*fp32", "LENGTH": "i32", "stride": "i32"}
    source = tri.ASTSource(
        two_dots, signature | dict.fromkeys(constants, "constexpr"), constants,
        {(i,): [["tt.divisibility", 16]] for i in range(len(signature))},
    )  # fmt: skip
    text = tri.compile(source, target="intel:pvc", options={"num_warps": 2}).asm["ttgir"]
    dots = [line.split(" -> ")[0] for line in text.splitlines() if "tt.dot " in line]
    # by blocks halves, by elements as deep as an instruction
    assert ["x32xf16" in dot or "<32x" in dot for dot in dots].count(True) == 4
    assert ["x16xf16" in dot for dot in dots].count(True) == 8
    assert text.count("tile_prefetch") < len(dots)  # one for each load of the source, not of the slices


@tri.jit
def moved_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    BEFORE: tl.constexpr, PADDING: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """k begins BEFORE elements before the matrices, where padding is read."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_a, 1], [BLOCK_M, BLOCK_K], padding_option=PADDING)
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [stride_b, 1], [BLOCK_K, BLOCK_N], padding_option=PADDING)
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [stride_c, 1], [BLOCK_M, BLOCK_N])
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(-BEFORE, K, BLOCK_K):
        total = tl.dot(a.load([row, k]), b.load([k, column]), total)
    c.store([row, column], total)


def moved(depth: int, before: int, padding: str, offset: int, extra: int) -> tuple[Any, Any]:
    """What is computed and what A @ B is, of small whole numbers."""
    make = np.random.default_rng(3)
    a, b = (make.integers(-3, 4, shape).astype("f2") for shape in ((32, depth), (depth, 64)))
    x, y, c = (placed(v, offset, v.shape[1] + extra) for v in (a, b, np.zeros((32, 64), "f4")))
    strides = [v.strides[0] // v.itemsize for v in (x, y, c)]
    with tri.target("sim:intel:pvc"):
        moved_matmul[(1, 1)](x, y, c, 32, 64, depth, *strides, before, padding, 32, 64, 32, num_warps=2)
    return c, a.astype("f8") @ b.astype("f8")


@pytest.mark.parametrize("offset", [0, 16, 32])
def test_before_the_first_column_are_zeros_where_the_base_is_moved_too(offset: int) -> None:
    # with a base that is no multiple of 64 bytes, the surface begins before the tensor: there is no zero
    made, wanted = moved(96, 8, "zero", offset, 64)
    np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize(("depth", "before", "is_inside"), [(96, 0, True), (80, 0, False), (96, 8, False)])
def test_descriptors_padded_with_nan_are_no_blocks(depth: int, before: int, is_inside: bool) -> None:
    made, wanted = moved(depth, before, "nan", 0, 0)
    if is_inside:
        np.testing.assert_array_equal(made, wanted)
    else:
        assert np.isnan(made).all()


@pytest.mark.parametrize("warps", [1, 8, 32])
def test_any_number_of_warps(warps: int) -> None:
    assert error("f2", block=(64, 64, 32), warps=warps) <= 1e-6


def test_an_epilogue_computes_where_the_dot_left_its_result() -> None:
    assert error("f2", scaled=True) <= 1e-6
    text = compiled("fp16", False, False, (128, 128, 32), 32, scaled=True).asm["ttgir"]
    assert text.count("ttig.tile_store") == 2
    assert "ttg.convert_layout" not in text


@pytest.mark.parametrize(("a_t", "b_t"), [(False, False), (False, True), (True, False), (True, True)])
def test_operands_need_no_local_memory(a_t: bool, b_t: bool) -> None:
    kernel = compiled("fp16", a_t, b_t, (128, 128, 32), 32)
    assert kernel.metadata.resources["shared"] == 0
    assert kernel.asm["ttgir"].count("by_elements") == 3
    assert kernel.asm["ttgir"].count('"tt.descriptor_load"') == 0


def test_blocks_are_as_large_as_the_hardware_has_them() -> None:
    text = compiled("fp16", False, False, (128, 128, 32), 8).asm["llir"]
    loads = [line for line in text.splitlines() if "call" in line and "2DBlockLoad" in line]
    assert len(loads) == 3


@pytest.mark.skipif(shutil.which("spirv-val") is None, reason="spirv-val is not installed")
@pytest.mark.parametrize("kind", ["fp16", "bf16", "i8", "fp32"])
@pytest.mark.parametrize("transposed", [False, True])
def test_modules_are_valid(kind: str, transposed: bool, tmp_path: Path) -> None:
    place = tmp_path / "kernel.spv"
    place.write_bytes(compiled(kind, False, transposed, (64, 64, 64), 8).asm["spv"])
    made = subprocess.run(["spirv-val", str(place)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr


#: SPIR-V's numbers: labels, branches, block loads, DPAS
LABEL, FUNCTION_END, BRANCH, BRANCH_IF, LOADS, DPAS = 248, 56, 249, 250, (6231, 6232, 6233), 6237


def block_loop(words: bytes) -> list[int]:
    """The opcodes of the loop that loads blocks and multiplies, labels and branches counted."""
    code, at, label = np.frombuffer(words, dtype="<u4"), 5, 0
    blocks: dict[int, list[tuple[int, list[int]]]] = {}
    while at < len(code):
        op, size = int(code[at]) & 0xFFFF, int(code[at]) >> 16
        operands = [int(w) for w in code[at + 1 : at + size]]
        label = operands[0] if op == LABEL else 0 if op == FUNCTION_END else label
        if label:
            blocks.setdefault(label, []).append((op, operands))
        at += size
    order, found = list(blocks), []
    for last, name in enumerate(order):
        op, operands = blocks[name][-1]
        for target in operands[:1] if op == BRANCH else operands[1:3] if op == BRANCH_IF else ():
            if target in order[: last + 1]:
                body = [o for b in order[order.index(target) : last + 1] for o, _ in blocks[b]]
                if DPAS in body and any(o in LOADS for o in body):
                    found.append(body)
    (only,) = found
    return only


@pytest.mark.parametrize(
    ("block", "warps", "operations", "dpas", "loads"),
    [((128, 128, 32), 32, 60, 8, 2), ((128, 128, 32), 8, 120, 32, 3), ((256, 256, 32), 32, 120, 32, 3)],
)
def test_a_step_of_k_is_short(
    block: tuple[int, int, int], warps: int, operations: int, dpas: int, loads: int
) -> None:
    found = block_loop(compiled("fp16", False, False, block, warps).asm["spv"])
    assert found.count(DPAS) == dpas
    assert sum(op in LOADS for op in found) == loads
    assert len(found) <= operations
