from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_core import mlir
from tri_core.errors import DeviceError, Unsupported
from tri_core.mlir import session
from tri_gpu_dialect.encodings import Blocked, Slice
from tri_gpu_dialect.testing import ReferencePrimitives, TensorSpec, kernel, run

Array = npt.NDArray[Any]
RNG = np.random.default_rng(29)
B = Blocked((2,), (32,), (4,), (0,))
SPEC = TensorSpec("i32", (512,), B)
with session():
    T = SPEC.type

LIMITS = """%zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ten = arith.constant 10 : i32"""


def apply(body: str, *arrays: Array, outputs: int = 1, grid: int = 1) -> list[Array]:
    results = [np.zeros(512, np.int32) for _ in range(outputs)]
    module = kernel([SPEC] * len(arrays), [SPEC] * outputs, body, warps=4, lanes=32)
    run(module, [*arrays, *results], grid=(grid, 1, 1))
    return results


def numbers() -> Array:
    return RNG.integers(-1000, 1000, 512).astype(np.int32)


def test_tensors_and_scalars_are_carried_around_a_loop() -> None:
    body = f"""{LIMITS}
      %out0, %s, %out1 = scf.for %k = %zero to %ten step %one
          iter_args(%a = %in0, %t = %one, %b = %in1) -> ({T}, i32, {T}) : i32 {{
        %kk = "tt.splat"(%t) : (i32) -> {T}
        %p = arith.addi %a, %kk : {T}
        %u = arith.muli %t, %k : i32
        %v = arith.addi %u, %one : i32
        scf.yield %b, %v, %p : {T}, i32, {T}
      }}"""
    x, y = numbers(), numbers()
    a, b, t = x.astype(np.int64), y.astype(np.int64), 1
    for k in range(10):
        a, t, b = b, t * k + 1, a + t
    found = apply(body, x, y, outputs=2)
    np.testing.assert_array_equal(found[0], a.astype(np.int32))
    np.testing.assert_array_equal(found[1], b.astype(np.int32))


class _InWords(ReferencePrimitives):
    carries_words = True


@pytest.mark.parametrize("words", [ReferencePrimitives, _InWords])
def test_bytes_are_carried_in_words_where_the_target_asks_for_it(words: type[ReferencePrimitives]) -> None:
    spec = TensorSpec("i8", (1024,), Blocked((8,), (32,), (4,), (0,)))
    with session():
        type_ = spec.type
    body = f"""{LIMITS}
      %out0, %out1 = scf.for %k = %zero to %one step %one
          iter_args(%a = %in0, %b = %in1) -> ({type_}, {type_}) : i32 {{
        scf.yield %b, %a : {type_}, {type_}
      }}"""
    x, y = (RNG.integers(-128, 128, 1024).astype(np.int8) for _ in range(2))
    found = [np.zeros_like(x), np.zeros_like(y)]
    module = run(kernel([spec, spec], [spec, spec], body, warps=4, lanes=32), [x, y, *found], words=words)
    np.testing.assert_array_equal(found[0], y)
    np.testing.assert_array_equal(found[1], x)
    (header,) = re.findall(r"\^bb\d+\((.*?: i\d+)\)", str(module))
    carried = [part.split(": ")[1] for part in header.split(", ")][1:]
    assert carried == (["i8"] * 16 if words is ReferencePrimitives else ["i32"] * 4)


def test_a_loop_that_does_not_run_gives_its_start() -> None:
    body = f"""{LIMITS}
      %out0 = scf.for %k = %ten to %zero step %one iter_args(%a = %in0) -> ({T}) : i32 {{
        %b = arith.addi %a, %a : {T}
        scf.yield %b : {T}
      }}"""
    x = numbers()
    np.testing.assert_array_equal(apply(body, x)[0], x)


@pytest.mark.parametrize("grid", [1, 3])
def test_branches_give_tensors(grid: int) -> None:
    body = f"""{LIMITS}
      %p = "tt.get_num_programs"() {{axis = 0 : i32}} : () -> i32
      %c = arith.cmpi sgt, %p, %one : i32
      %out0 = scf.if %c -> ({T}) {{
        %b = arith.addi %in0, %in1 : {T}
        scf.yield %b : {T}
      }} else {{
        scf.yield %in1 : {T}
      }}"""
    x, y = numbers(), numbers()
    np.testing.assert_array_equal(apply(body, x, y, grid=grid)[0], x + y if grid > 1 else y)


def test_a_while_loop_decides_by_a_reduction() -> None:
    body = f"""{LIMITS}
      %limit = arith.constant 100000 : i32
      %out0, %n = scf.while (%a = %in0, %k = %zero) : ({T}, i32) -> ({T}, i32) {{
        %m = "tt.reduce"(%a) ({{ ^bb0(%l: i32, %r: i32): %x = arith.maxsi %l, %r : i32
          "tt.reduce_return"(%x) : (i32) -> () }}) {{axis = 0 : i32}} : ({T}) -> i32
        %c = arith.cmpi slt, %m, %limit : i32
        scf.condition(%c) %a, %k : {T}, i32
      }} do {{
      ^bb0(%a: {T}, %k: i32):
        %d = arith.addi %a, %a : {T}
        %j = arith.addi %k, %one : i32
        scf.yield %d, %j : {T}, i32
      }}
      %out1 = "tt.splat"(%n) : (i32) -> {T}"""
    x = numbers()
    expected, count = x.copy(), 0
    while expected.max() < 100000:
        expected, count = expected * 2, count + 1
    found = apply(body, x, outputs=2)
    np.testing.assert_array_equal(found[0], expected)
    assert (found[1] == count).all()


def test_copies_are_carried_once() -> None:
    parent = Blocked((1, 4), (4, 8), (4, 1), (1, 0))
    row = TensorSpec("f32", (1, 64), parent)
    whole = TensorSpec("f32", (32, 64), parent)
    body = f"""{LIMITS}
      %r = scf.for %k = %zero to %ten step %one iter_args(%a = %in0) -> ({row.type}) : i32 {{
        %b = arith.addf %a, %in0 : {row.type}
        scf.yield %b : {row.type}
      }}
      %out0 = "tt.broadcast"(%r) : ({row.type}) -> {whole.type}"""
    x, y = RNG.integers(-9, 9, (1, 64)).astype(np.float32), np.zeros((32, 64), np.float32)
    lowered = run(kernel([row], [whole], body, warps=4, lanes=32), [x, y])
    np.testing.assert_array_equal(y, np.broadcast_to(x * 11, (32, 64)))
    # 64 columns over 8 lanes of 4 elements: two groups, eight values around the loop with the counter
    assert "^bb1(%" in str(lowered)


def test_shared_memory_is_reused_in_a_loop() -> None:
    body = f"""{LIMITS}
      %s = "tt.reduce"(%in0) ({{ ^bb0(%l: i32, %r: i32): %x = arith.maxsi %l, %r : i32
          "tt.reduce_return"(%x) : (i32) -> () }}) {{axis = 0 : i32}} : ({T}) -> i32
      %t = scf.for %k = %zero to %ten step %one iter_args(%a = %s) -> (i32) : i32 {{
        %aa = "tt.splat"(%a) : (i32) -> {T}
        %b = arith.subi %in0, %aa : {T}
        %m = "tt.reduce"(%b) ({{ ^bb0(%l: i32, %r: i32): %x = arith.maxsi %l, %r : i32
          "tt.reduce_return"(%x) : (i32) -> () }}) {{axis = 0 : i32}} : ({T}) -> i32
        scf.yield %m : i32
      }}
      %out0 = "tt.splat"(%t) : (i32) -> {T}"""
    x = numbers()
    value = x.max()
    for _ in range(10):
        value = (x - value).max()
    assert (apply(body, x)[0] == value).all()


def test_a_failed_assertion_stops_the_kernel() -> None:
    body = f"""%c = arith.constant dense<500> : {T}
      %ok = arith.cmpi slt, %in0, %c : {T}
      "tt.assert"(%ok) {{message = "too large"}} : ({TensorSpec("i1", (512,), B).type}) -> ()
      %out0 = arith.addi %in0, %in0 : {T}"""
    x = np.arange(512, dtype=np.int32)  # a thread has two neighbours of each half
    with pytest.raises(DeviceError, match="thread 122 stopped the kernel"):
        apply(body, x)
    np.testing.assert_array_equal(apply(body, x % 100)[0], x % 100 * 2)


def test_slices_are_carried_with_their_parent() -> None:
    parent = Blocked((1, 4), (4, 8), (4, 1), (1, 0))
    row, whole = TensorSpec("f32", (32,), Slice(1, parent)), TensorSpec("f32", (32, 64), parent)
    body = f"""{LIMITS}
      %start = arith.constant dense<0.0> : {row.type}
      %out0 = scf.for %k = %zero to %ten step %one iter_args(%a = %start) -> ({row.type}) : i32 {{
        %s = "tt.reduce"(%in0) ({{ ^bb0(%l: f32, %r: f32): %x = arith.addf %l, %r : f32
          "tt.reduce_return"(%x) : (f32) -> () }}) {{axis = 1 : i32}} : ({whole.type}) -> {row.type}
        %b = arith.addf %a, %s : {row.type}
        scf.yield %b : {row.type}
      }}"""
    x, y = RNG.integers(-9, 9, (32, 64)).astype(np.float32), np.zeros(32, np.float32)
    run(kernel([whole], [row], body, warps=4, lanes=32), [x, y])
    np.testing.assert_array_equal(y, x.sum(1) * 10)


def test_a_device_function_left_over_is_refused() -> None:
    module = mlir.parse(
        """module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
        "tt.func"() ({ ^bb0: "tt.return"() : () -> () })
          {sym_name = "k", sym_visibility = "public", function_type = () -> ()} : () -> ()
        "tt.func"() ({ ^bb0: "tt.return"() : () -> () })
          {sym_name = "helper", sym_visibility = "private", function_type = () -> ()} : () -> () }"""
    )
    with pytest.raises(Unsupported, match="helper"):
        run(module, [])
