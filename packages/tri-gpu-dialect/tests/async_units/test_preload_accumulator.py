"""``preload-accumulator``: which dots start from what is added to them, and where rows are read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import mlir, text
from tri_core.testing import filecheck
from tri_gpu_dialect.passes import PreloadAccumulator, VerifyLayouts
from tri_gpu_dialect.policies.gpu import AsyncPolicy, DefaultPolicy

HEAD = """
#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#s = #ttg.slice<{dim = 0, parent = #b}>
#sh = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#row = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#m = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
tt.func public @k(%a: A, %b: A, %rows: R, %others: R, %bar: B, %w: T, %row: V) {
  %zero = arith.constant dense<0.000000e+00> : T
  %no = arith.constant false
  %yes = arith.constant true
  %phase = arith.constant 0 : i32
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #s>
  ttng.wait_barrier %bar, %phase deps %rows : B, R
"""
DOT = "  %NAME = ttng.warp_group_dot %a, %b, ONTO {inputPrecision = 0 : i32} : A * A -> T\n"
WAIT = "  %NAME = ttng.warp_group_dot_wait %OF {pendings = PENDINGS : i32} : (T) -> T\n"
READ = """  %d = ttg.local_load %rows : R -> V
  %e = tt.expand_dims %d {axis = 0 : i32} : V -> tensor<1x64xf32, #b>
  %f = tt.broadcast %e : tensor<1x64xf32, #b> -> T
"""
GIVEN = READ.replace("%d = ttg.local_load %rows : R -> V\n", "").replace("%d", "%row")
TYPES = {
    "A": "!ttg.memdesc<64x64xf16, #sh, #m, mutable>",
    "R": "!ttg.memdesc<64xf32, #row, #m, mutable>",
    "B": "!ttg.memdesc<1xi64, #row, #m, mutable>",
    "V": "tensor<64xf32, #s>",
    "T": "tensor<64x64xf32, #b>",
}


def dot(name: str, onto: str = "%zero, %no") -> str:
    return DOT.replace("NAME", name).replace("ONTO", onto)


def wait(name: str, of: str, pendings: int = 0) -> str:
    return WAIT.replace("NAME", name).replace("OF", of).replace("PENDINGS", str(pendings))


def program(*lines: str) -> str:
    source = HEAD + "".join(lines) + "  tt.return\n}\n}\n"
    return re.sub(r"(?<![%#\w])[ABRTV](?!\w)", lambda found: TYPES[found[0]], source)


def after(source: str, registers: int | None = None) -> str:
    module = text.parse_module(source)
    for each in (
        PreloadAccumulator(policy=DefaultPolicy(async_units=AsyncPolicy(registers=registers))),
        VerifyLayouts(),
    ):
        each.apply(module, None)  # type: ignore[arg-type]
    mlir.verify(module)
    return str(module)


USE = '  "tt.print"(%y) {prefix = "", hex = false, isSigned = array<i32: 0>} : (T) -> ()\n'
#: the gradients': S, then dP, which is waited for behind the read
BOTH = (dot("s"), dot("t"), wait("u", "s", 1), READ, wait("x", "t"))


def sub(x: str = "%x", y: str = "%f", op: str = "subf") -> str:
    return f"  %y = arith.{op} {x}, {y} : T\n" + USE


def test_rows_are_read_and_negated_before_the_dot() -> None:
    filecheck(
        after(program(*BOTH, sub())),
        """CHECK: "ttg.warp_group_dot"(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) {
           CHECK-NEXT: %[[D:.*]] = "ttg.local_load"
           CHECK: %[[E:.*]] = "tt.expand_dims"(%[[D]])
           CHECK: %[[F:.*]] = "tt.broadcast"(%[[E]])
           CHECK: %[[N:.*]] = arith.negf %[[F]]
           CHECK: %[[T:.*]] = "ttg.warp_group_dot"(%{{[^,]*}}, %{{[^,]*}}, %[[N]]) {
           CHECK: %[[X:.*]] = "ttg.warp_group_dot_wait"(%[[T]])
           CHECK-NOT: arith.subf
           CHECK: "tt.print"(%[[X]])""",
    )


@pytest.mark.parametrize("order", [("%x", "%f"), ("%f", "%x")])
def test_what_is_added(order: tuple[str, str]) -> None:
    made = after(program(dot("t"), READ, wait("x", "t"), sub(*order, op="addf")))
    assert "arith.addf" not in made
    assert "arith.negf" not in made
    filecheck(
        made,
        """CHECK: %[[F:.*]] = "tt.broadcast"
           CHECK: "ttg.warp_group_dot"(%{{[^,]*}}, %{{[^,]*}}, %[[F]]) {""",
    )


_REFUSED = {
    "the dot is what is subtracted": (*BOTH, sub("%f", "%x")),
    "the row is in registers": (dot("t"), GIVEN, wait("x", "t"), sub()),
    "it adds to something already": (dot("t", "%w"), READ, wait("x", "t"), sub()),
    "it adds where a flag says so": (dot("t", "%w, %yes"), READ, wait("x", "t"), sub()),
    "somebody else reads the accumulators": (dot("t"), READ, wait("x", "t"), sub(), USE.replace("%y", "%x")),
    "the addend is computed from another dot": (
        dot("s"), dot("t"), wait("u", "s", 1), wait("x", "t"), sub("%x", "%u"),
    ),
    "the rows come later": (
        dot("t"), "  ttng.wait_barrier %bar, %phase deps %rows : B, R\n", READ, wait("x", "t"), sub(),
    ),
    "it is unknown what a wait is for": (
        dot("t"), "  ttng.wait_barrier %bar, %phase : B\n", READ, wait("x", "t"), sub(),
    ),
    "the rows are written": (dot("t"), "  ttg.local_store %row, %rows : V -> R\n", READ, wait("x", "t"), sub()),
}  # fmt: skip


@pytest.mark.parametrize("reason", _REFUSED)
def test_others_stay(reason: str) -> None:
    source = program(*_REFUSED[reason])
    assert after(source) == str(text.parse_module(source))


def test_waits_for_others_are_passed() -> None:
    other = "  ttng.wait_barrier %bar, %phase deps %others : B, R\n"
    assert "arith.subf" not in after(program(dot("t"), other, READ, wait("x", "t"), sub()))


MASK = """  %h = arith.addi %i, %i : tensor<64xi32, #s>
  %j = tt.expand_dims %h {axis = 0 : i32} : tensor<64xi32, #s> -> tensor<1x64xi32, #b>
  %k = tt.broadcast %j : tensor<1x64xi32, #b> -> tensor<64x64xi32, #b>
  %l = arith.constant dense<7> : tensor<64x64xi32, #b>
  %c = arith.cmpi sge, %k, %l : tensor<64x64xi32, #b>
  %g = arith.select %c, %u, %zero : tensor<64x64xi1, #b>, T
  "tt.print"(%g) {prefix = "", hex = false, isSigned = array<i32: 0>} : (T) -> ()
"""


@given(st.integers(0, 255), st.booleans())
def test_registers_decide(registers: int, masked: bool) -> None:
    """Tensors take 64 registers of a thread and numbers 16; 16 indices that a mask compares as many. What does not fit is as it was."""
    source = program(*BOTH, sub(), MASK if masked else "")
    made = after(source, registers)
    if registers >= (96 if masked else 80):
        assert "arith.subf" not in made
    else:
        assert made == str(text.parse_module(source))
