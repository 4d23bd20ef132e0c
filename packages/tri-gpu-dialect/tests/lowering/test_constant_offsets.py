"""Constants in offsets: the values are those of the generic rules, and rows of a tile share an address."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.mlir import ir
from tri_core.text import parse_module
from tri_gpu_dialect.lowering import LoweringTable, add_constant_offsets, generic_table
from tri_gpu_dialect.testing.reference import run

SIZE, MIDDLE = 128, 8192
LAYOUT = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>"


def table() -> LoweringTable:
    made = generic_table()
    add_constant_offsets(made)
    return made


def module(body: str) -> ir.Module:
    """One warp; ``body`` makes ``%from``, where 128 numbers come from, of the arguments ``%p``, ``%s`` and ``%t`` and the range ``%r``."""
    return parse_module(f"""#l = {LAYOUT}
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @k(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %s: i64, %t: i32) {{
    %r = tt.make_range {{start = 0 : i32, end = {SIZE} : i32}} : tensor<{SIZE}xi32, #l>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<{SIZE}x!tt.ptr<f32>, #l>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<{SIZE}x!tt.ptr<f32>, #l>
    %to = tt.addptr %qs, %r : tensor<{SIZE}x!tt.ptr<f32>, #l>, tensor<{SIZE}xi32, #l>
    {body}
    %read = tt.load %from : tensor<{SIZE}x!tt.ptr<f32>, #l>
    tt.store %to, %read : tensor<{SIZE}x!tt.ptr<f32>, #l>
    tt.return
  }}
}}""")


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, Any, int, int]:
    """Text that computes ``%from``, the offsets as NumPy computes them, and the scalars."""
    scalars = {"i32": draw(st.integers(-20, 20)), "i64": draw(st.integers(-20, 20))}
    lines: list[str] = []
    kind, name, value = "i32", "%r", np.arange(SIZE, dtype=np.int64)

    def tensor(element: str) -> str:
        return f"tensor<{SIZE}x{element}, #l>"

    for number in range(draw(st.integers(1, 6))):
        made = f"%v{number}"
        step = draw(st.sampled_from(["constant", "scalar", "multiply", "extend", "range"]))
        if step == "extend" and kind == "i32":
            lines.append(f"{made} = arith.extsi {name} : {tensor('i32')} to {tensor('i64')}")
            kind = "i64"
        elif step == "range":
            other = "%r"
            if kind == "i64":
                other = f"%r{number}"
                lines.append(f"{other} = arith.extsi %r : {tensor('i32')} to {tensor('i64')}")
            lines.append(f"{made} = arith.addi {name}, {other} : {tensor(kind)}")
            value = value + np.arange(SIZE)
        elif step == "scalar":
            lines.append(
                f"%s{number} = tt.splat {'%t' if kind == 'i32' else '%s'} : {kind} -> {tensor(kind)}"
            )
            operands = draw(st.permutations([name, f"%s{number}"]))
            lines.append(f"{made} = arith.addi {', '.join(operands)} : {tensor(kind)}")
            value = value + scalars[kind]
        else:
            by = draw(st.integers(-3, 3))
            lines.append(f"%c{number} = arith.constant dense<{by}> : {tensor(kind)}")
            operands = draw(st.permutations([name, f"%c{number}"]))
            op = "muli" if step == "multiply" else "addi"
            lines.append(f"{made} = arith.{op} {', '.join(operands)} : {tensor(kind)}")
            value = value * by if step == "multiply" else value + by
        name = made
    pointers = f"tensor<{SIZE}x!tt.ptr<f32>, #l>"
    lines += [
        f"%m = arith.constant dense<{MIDDLE}> : {tensor('i64')}",
        f"%middle = tt.addptr %ps, %m : {pointers}, {tensor('i64')}",
        f"%from = tt.addptr %middle, {name} : {pointers}, {tensor(kind)}",
    ]
    return "\n".join(lines), value, scalars["i64"], scalars["i32"]


@settings(max_examples=150)
@given(programs().filter(lambda made: int(np.abs(made[1]).max()) < MIDDLE))
def test_the_values_are_those_of_plain_arithmetic(program: tuple[str, npt.NDArray[Any], int, int]) -> None:
    text, offsets, s, t = program
    p, q = np.arange(2 * MIDDLE, dtype=np.float32), np.zeros(SIZE, np.float32)
    run(module(text), [p, q, s, t], table=table())
    np.testing.assert_array_equal(q, p[offsets + MIDDLE])


ROWS = f"""%e = arith.extsi %r : tensor<{SIZE}xi32, #l> to tensor<{SIZE}xi64, #l>
    %ss = tt.splat %s : i64 -> tensor<{SIZE}xi64, #l>
    %row = arith.addi %ss, %e : tensor<{SIZE}xi64, #l>
    %c = arith.constant dense<48> : tensor<{SIZE}xi64, #l>
    %o = arith.muli %row, %c : tensor<{SIZE}xi64, #l>
    %from = tt.addptr %ps, %o : tensor<{SIZE}x!tt.ptr<f32>, #l>, tensor<{SIZE}xi64, #l>"""


def _addresses(lowered: ir.Module) -> tuple[set[str], set[int]]:
    """What loads of global memory read from: the bases, and the bytes from them."""
    text = str(lowered)
    named = {}
    for line in text.splitlines():
        if "llvm.getelementptr" in line and "i8" in line:
            result, _, rest = line.strip().partition(" = ")
            named[result] = (rest.split()[1].split("[")[0], int(rest.partition("[")[2].split("]")[0]))
    loads = [line for line in text.splitlines() if "llvm.load" in line or "ref.load" in line]
    read = [line.partition("= ")[2].split()[1].rstrip(",") for line in loads]
    found = [named.get(pointer, (pointer, 0)) for pointer in read]
    return {base for base, _ in found}, {by for _, by in found}


def test_elements_of_a_thread_share_an_address() -> None:
    p, q = np.arange(2 * MIDDLE, dtype=np.float32), np.zeros(SIZE, np.float32)
    lowered = run(module(ROWS), [p, q, 2, 0], table=table())
    np.testing.assert_array_equal(q, p[48 * (np.arange(SIZE) + 2)])
    bases, bytes_ = _addresses(lowered)
    assert len(bases) == 1
    assert bytes_ == {0, *(32 * k * 48 * 4 for k in (1, 2, 3))}


def test_a_sum_that_may_wrap_is_extended_as_a_whole() -> None:
    """The largest i32 and more: the offset is negative, and so is the address."""
    text = f"""%ts = tt.splat %t : i32 -> tensor<{SIZE}xi32, #l>
    %x = arith.addi %ts, %r : tensor<{SIZE}xi32, #l>
    %e = arith.extsi %x : tensor<{SIZE}xi32, #l> to tensor<{SIZE}xi64, #l>
    %ss = tt.splat %s : i64 -> tensor<{SIZE}xi64, #l>
    %o = arith.addi %ss, %e : tensor<{SIZE}xi64, #l>
    %wrapped = arith.constant dense<{1 << 32}> : tensor<{SIZE}xi64, #l>
    %zero = arith.constant dense<0> : tensor<{SIZE}xi64, #l>
    %less = arith.cmpi slt, %e, %zero : tensor<{SIZE}xi64, #l>
    %back = arith.addi %o, %wrapped : tensor<{SIZE}xi64, #l>
    %i = arith.select %less, %back, %o : tensor<{SIZE}xi1, #l>, tensor<{SIZE}xi64, #l>
    %from = tt.addptr %ps, %i : tensor<{SIZE}x!tt.ptr<f32>, #l>, tensor<{SIZE}xi64, #l>"""
    first = (1 << 31) - 40
    p, q = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
    run(module(text), [p, q, -first, first], table=table())
    np.testing.assert_array_equal(q, p)
