from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_core import mlir
from tri_core.dialects.tt.enums import AtomicOp
from tri_core.errors import DeviceError
from tri_core.ir.walking import collect
from tri_core.mlir import ir
from tri_gpu_dialect.dialect.markers import OWNED
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.testing import ReferencePrimitives, TensorSpec, kernel, run

Array = npt.NDArray[Any]
RNG = np.random.default_rng(19)
WIDE = Blocked((4,), (32,), (4,), (0,))
COPIES = Blocked((1,), (32,), (4,), (0,))  # more threads than elements of small tensors


def module(
    body: str, pointers: dict[str, str], *, encoding: Blocked = WIDE, size: int = 512, hints: int = 16
) -> Any:
    """A kernel of named pointers and ``%n``; P(x) is the type of a tensor of pointers to x, T(x) one of x."""
    names = [*(f'%{name}: !tt.ptr<{element}, "global">' for name, element in pointers.items()), "%n: i32"]
    types = [*(f'!tt.ptr<{element}, "global">' for element in pointers.values()), "i32"]
    attr = str(encoding.to_attr())
    body = re.sub(r"P\((\w+)\)", lambda m: f'tensor<{size}x!tt.ptr<{m[1]}, "global">, {attr}>', body)
    body = re.sub(r"T\((\w+)\)", lambda m: f"tensor<{size}x{m[1]}, {attr}>", body)
    given = ", ".join([f"{{tt.divisibility = {hints} : i32}}"] * len(types))
    return mlir.parse(
        f"""module attributes {{"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
        "tt.func"() ({{ ^bb0({", ".join(names)}): {body}
        "tt.return"() : () -> () }}) {{sym_name = "kernel", sym_visibility = "public", arg_attrs = [{given}],
        function_type = ({", ".join(types)}) -> ()}} : () -> () }}"""
    )


def addresses(name: str, element: str, size: int = 512) -> str:
    return f"""%s{name} = "tt.splat"(%{name}) : (!tt.ptr<{element}, "global">) -> P({element})
      %a{name} = "tt.addptr"(%s{name}, %i) : (P({element}), T(i32)) -> P({element})"""


RANGE = '%i = "tt.make_range"() {start = 0 : i32, end = SIZE : i32} : () -> T(i32)'
MASK = """%nn = "tt.splat"(%n) : (i32) -> T(i32)
  %m = arith.cmpi slt, %i, %nn : T(i32)"""


def copy_kernel(
    element: str, *, other: bool, size: int = 512, hints: int = 16, encoding: Blocked = WIDE
) -> Any:
    load = f'%v = "tt.load"(%ax, %m) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : (P({element}), T(i1)) -> T({element})'
    if other:
        load = f"""%o = arith.constant dense<7> : T({element})
        %v = "tt.load"(%ax, %m, %o) {{operandSegmentSizes = array<i32: 1, 1, 1>}} :
          (P({element}), T(i1), T({element})) -> T({element})"""
    store_mask = "" if other else ", %m"
    segments = "1, 1, 0" if other else "1, 1, 1"
    types = f"P({element}), T({element})" + ("" if other else ", T(i1)")
    body = f"""{RANGE.replace("SIZE", str(size))}\n{MASK}\n{addresses("x", element)}\n{addresses("y", element)}
      {load}
      "tt.store"(%ay, %v{store_mask}) {{operandSegmentSizes = array<i32: {segments}>}} : ({types}) -> ()"""
    return module(body, {"x": element, "y": element}, hints=hints, size=size, encoding=encoding)


@pytest.mark.parametrize("n", [0, 16, 496, 512])
def test_a_run_of_equal_bits_of_a_mask_is_compared_once(n: int) -> None:
    """The one thread's 512 elements are 32 runs of 16; vectors of four alone would need 128 comparisons."""
    encoding = Blocked((512,), (1,), (1,), (0,))
    x = RNG.integers(1, 100, 512).astype("i4")
    short, out = np.ascontiguousarray(x[:n]), np.zeros(n, "i4")
    made = copy_kernel("i32", other=False, encoding=encoding)
    made.operation.attributes["ttg.threads-per-warp"] = ir.IntegerAttr.get(ir.IntegerType.get(32), 1)
    made.operation.attributes["ttg.num-warps"] = ir.IntegerAttr.get(ir.IntegerType.get(32), 1)
    text = str(run(made, [short, out, n]))
    assert len(re.findall(r"llvm.icmp.*slt|llvm.icmp.* 2 ", text)) == 32
    np.testing.assert_array_equal(out, short)


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("n", [0, 1, 255, 512])
def test_masked_accesses_touch_nothing_else(element: str, n: int) -> None:
    x = RNG.integers(1, 100, 512).astype(f"i{int(element[1:]) // 8}")
    y = np.zeros_like(x)
    # the arrays end where the mask does: anything beyond is an error in the simulator
    short = np.ascontiguousarray(x[:n])
    out = np.ascontiguousarray(y[:n])
    run(copy_kernel(element, other=False, hints=1), [short, out, n])
    np.testing.assert_array_equal(out, short)


def test_an_access_beyond_the_array_is_found() -> None:
    with pytest.raises(DeviceError, match="outside of any buffer"):
        run(copy_kernel("i32", other=False, hints=1), [np.ones(100, np.int32), np.ones(512, np.int32), 101])


@pytest.mark.parametrize("n", [3, 256, 500])
def test_masked_elements_become_other(n: int) -> None:
    x, y = RNG.integers(100, 200, 512).astype(np.int32), np.zeros(512, np.int32)
    run(copy_kernel("i32", other=True, hints=1), [np.ascontiguousarray(x[:n]), y, n])
    np.testing.assert_array_equal(y, np.where(np.arange(512) < n, x, 7))


def widths(lowered: Any, op: str) -> set[str]:
    return set(re.findall(rf"llvm\.{op} .*?(vector<\w+>|i\d+)(?:,|$)", str(lowered), re.MULTILINE))


def test_aligned_pointers_and_a_regular_mask_give_vectors() -> None:
    x = np.arange(512, dtype=np.int32)
    lowered = run(copy_kernel("i32", other=False, hints=16), [x, np.zeros_like(x), 512])
    assert widths(lowered, "store") == {"vector<4xi32>"}
    assert str(lowered).count("llvm.load") == 1


def test_an_irregular_mask_gives_scalars() -> None:
    x = np.arange(512, dtype=np.int32)
    lowered = run(copy_kernel("i32", other=False, hints=1), [x, np.zeros_like(x), 511])
    assert widths(lowered, "store") == {"i32"}
    assert str(lowered).count("llvm.load") == 4


def test_only_one_of_several_copies_is_stored() -> None:
    x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    lowered = run(copy_kernel("i32", other=False, size=32, encoding=COPIES), [x, y, 32])
    np.testing.assert_array_equal(y, x)
    assert re.search(r"llvm\.and %\d+, %\d+ : i32", str(lowered))  # the warps that hold copies are masked


def test_what_its_owner_alone_needs_is_not_loaded_by_others() -> None:
    """The load stands under the condition of the store."""
    branches = []
    for marks in ({}, {OWNED: ir.UnitAttr.get()}):
        made = copy_kernel("i32", other=False, size=32, encoding=COPIES)
        (load,) = (op for op in collect(made.operation) if op.name == "tt.load")
        for name, mark in marks.items():
            load.attributes[name] = mark
        x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
        lowered = str(run(made, [x, y, 30]))
        np.testing.assert_array_equal(y, np.where(x < 30, x, 0))
        (condition,) = re.findall(r"(%\d+) = llvm\.and %\d+, %\d+ : i1", lowered)
        branches.append(lowered.count(f"llvm.cond_br {condition},"))
    assert branches == [1, 2]


def test_two_dimensions_are_read_along_the_contiguous_one() -> None:
    for encoding, order in (
        (Blocked((1, 4), (4, 8), (4, 1), (1, 0)), "rows"),
        (Blocked((4, 1), (8, 4), (1, 4), (0, 1)), "columns"),
    ):
        spec = TensorSpec("f32", (32, 64), encoding)
        x, y = RNG.standard_normal((32, 64)).astype(np.float32), np.zeros((32, 64), np.float32)
        lowered = run(
            kernel([spec], [spec], f"%out0 = arith.negf %in0 : {spec.type}", warps=4, lanes=32), [x, y]
        )
        np.testing.assert_array_equal(y, -x)
        assert ("vector<4xf32>" in str(lowered)) == (order == "rows")


def test_pointers_to_pointers() -> None:
    element = '!tt.ptr<i32, "global">'
    body = f"""{RANGE.replace("SIZE", "512")}
      %st = "tt.splat"(%t) : (!tt.ptr<{element}, "global">) -> PP
      %at = "tt.addptr"(%st, %i) : (PP, T(i32)) -> PP
      %ax = "tt.load"(%at) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : (PP) -> P(i32)
      %v = "tt.load"(%ax) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : (P(i32)) -> T(i32)
      {addresses("y", "i32")}
      "tt.store"(%ay, %v) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : (P(i32), T(i32)) -> ()"""
    body = body.replace("PP", f'tensor<512x!tt.ptr<{element}, "global">, {WIDE.to_attr()}>')
    lowered = module(body, {"t": element, "x": "i32", "y": "i32"})
    x, y = np.arange(512, dtype=np.int32), np.zeros(512, np.int32)
    # the simulator puts the first array, of 4096 bytes, at 1 << 16; x follows after a gap
    place = -(-((1 << 16) + 4096 + 4096) // 256) * 256
    run(lowered, [place + 4 * np.arange(512)[::-1].astype(np.int64), x, y, 0])
    np.testing.assert_array_equal(y, x[::-1])


def test_a_scalar_is_stored_once_and_loaded_by_all() -> None:
    body = """%v = "tt.load"(%x) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<i32, "global">) -> i32
      %w = arith.addi %v, %n : i32
      "tt.store"(%y, %w) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<i32, "global">, i32) -> ()"""
    y = np.zeros(1, np.int32)
    run(module(body, {"x": "i32", "y": "i32"}), [np.array([40], np.int32), y, 2])
    assert y[0] == 42


# --- atomics ----------------------------------------------------------------------------------------------


ATOMIC = "{{atomic_rmw_op = {kind} : i32, sem = 4 : i32, scope = 1 : i32, operandSegmentSizes = array<i32: 1, 1, {mask}>}}"


@pytest.mark.parametrize("encoding", [WIDE, COPIES], ids=["wide", "copies"])
@pytest.mark.parametrize("size", [32, 512])
def test_atomics_count_every_element_once_and_tell_the_old_value(size: int, encoding: Blocked) -> None:
    body = f"""{RANGE.replace("SIZE", str(size))}
      {addresses("x", "i32")}
      {addresses("y", "i32")}
      %c = arith.constant dense<5> : T(i32)
      %j = arith.remsi %i, %eight : T(i32)
      %st = "tt.splat"(%t) : (!tt.ptr<i32, "global">) -> P(i32)
      %at = "tt.addptr"(%st, %j) : (P(i32), T(i32)) -> P(i32)
      %u = "tt.atomic_rmw"(%at, %c) {ATOMIC.format(kind=4, mask=0)} : (P(i32), T(i32)) -> T(i32)
      %old = "tt.atomic_rmw"(%ax, %i) {ATOMIC.format(kind=4, mask=0)} : (P(i32), T(i32)) -> T(i32)
      "tt.store"(%ay, %old) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : (P(i32), T(i32)) -> ()"""
    body = body.replace("%j =", "%eight = arith.constant dense<8> : T(i32)\n%j =")
    x, y, t = RNG.integers(0, 99, size).astype(np.int32), np.zeros(size, np.int32), np.zeros(8, np.int32)
    before = x.copy()
    run(module(body, {"x": "i32", "y": "i32", "t": "i32"}, size=size, encoding=encoding), [x, y, t, 0])
    np.testing.assert_array_equal(y, before)
    np.testing.assert_array_equal(x, before + np.arange(size))
    np.testing.assert_array_equal(t, np.full(8, 5 * size // 8))


@pytest.mark.parametrize(
    ("kind", "oracle"),
    [
        (1, np.bitwise_and),
        (2, np.bitwise_or),
        (3, np.bitwise_xor),
        (6, np.maximum),
        (7, np.minimum),
        (10, lambda a, b: b),
    ],
)
def test_kinds_of_atomics_under_a_mask(kind: int, oracle: Any) -> None:
    body = f"""{RANGE.replace("SIZE", "512")}\n{MASK}\n{addresses("x", "i32")}\n{addresses("y", "i32")}
      %v = "tt.load"(%ay) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : (P(i32)) -> T(i32)
      %u = "tt.atomic_rmw"(%ax, %v, %m) {ATOMIC.format(kind=kind, mask=1)} : (P(i32), T(i32), T(i1)) -> T(i32)"""
    x, y = (RNG.integers(-99, 99, 512).astype(np.int32) for _ in range(2))
    expected = np.where(np.arange(512) < 300, oracle(x, y), x)
    run(module(body, {"x": "i32", "y": "i32"}, hints=1), [x, y, 300])
    np.testing.assert_array_equal(x, expected)


class Packs(ReferencePrimitives):
    """Hardware that adds two neighbours at once."""

    def atomic_width(self, kind: AtomicOp, element: ir.Type) -> int:
        return 2 if kind is AtomicOp.FADD and str(element) in ("f16", "bf16") else 1


@pytest.mark.parametrize("words", [ReferencePrimitives, Packs])
@pytest.mark.parametrize("n", [300, 301])
@pytest.mark.parametrize("size", [64, 512])
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("encoding", [WIDE, COPIES], ids=["wide", "copies"])
def test_sums_of_16_bits(encoding: Blocked, element: str, size: int, n: int, words: type) -> None:
    """One at a time or two, at the end of the array as well: it ends where the mask does."""
    body = f"""{RANGE.replace("SIZE", str(size))}\n{MASK}\n{addresses("x", element)}\n{addresses("y", element)}
      %seven = arith.constant dense<7> : T(i32)
      %j = arith.andi %i, %seven : T(i32)
      %v = arith.sitofp %j : T(i32) to T({element})
      %u = "tt.atomic_rmw"(%ax, %v, %m) {ATOMIC.format(kind=5, mask=1)} : (P({element}), T({element}), T(i1)) -> T({element})
      "tt.store"(%ay, %u, %m) {{operandSegmentSizes = array<i32: 1, 1, 1>}} : (P({element}), T({element}), T(i1)) -> ()"""
    n = min(n, size - 1)
    before = RNG.integers(-64, 64, n)

    def held(values: Array) -> Array:
        wide = values.astype(np.float32)
        return wide.astype(np.float16) if element == "f16" else (wide.view(np.uint32) >> 16).astype(np.uint16)

    x, y = held(before), held(0 * before)
    hints = 16 if n % 16 == 0 else 2 if n % 2 == 0 else 1
    given = module(body, {"x": element, "y": element}, size=size, encoding=encoding, hints=hints)
    run(given, [x, y, n], words=words)
    np.testing.assert_array_equal(y, held(before))
    np.testing.assert_array_equal(x, held(before + np.arange(n) % 8))


def test_a_scalar_compare_and_swap_is_seen_by_all_threads() -> None:
    body = f"""{RANGE.replace("SIZE", "512")}\n{addresses("y", "i32")}
      %old = "tt.atomic_cas"(%x, %n, %seven) {{sem = 4 : i32, scope = 1 : i32}} :
        (!tt.ptr<i32, "global">, i32, i32) -> i32
      %v = "tt.splat"(%old) : (i32) -> T(i32)
      "tt.store"(%ay, %v) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : (P(i32), T(i32)) -> ()"""
    body = "%seven = arith.constant 7 : i32\n" + body
    x, y = np.array([3], np.int32), np.zeros(512, np.int32)
    run(module(body, {"x": "i32", "y": "i32"}), [x, y, 3])
    assert x[0] == 7
    assert (y == 3).all()
