"""Equal ops become one."""

from __future__ import annotations

from collections.abc import Callable

from tri_core.passes import CSE
from tri_core.testing import filecheck

LOAD = '"tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (ptr<f32>) -> f32'
PRINT = '"tt.print"({}) {{prefix = "", hex = false, isSigned = array<i32: 1, 1>}} : ({}) -> ()'


def test_pure_ops(function: Callable[..., str], after: Callable[..., str]) -> None:
    body = """%0 = "tt.splat"(%s) : (f32) -> tensor<8xf32>
              %1 = "tt.splat"(%s) : (f32) -> tensor<8xf32>
              %2 = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
              %3 = "tt.get_program_id"() {axis = 1 : i32} : () -> i32
           """
    uses = PRINT.format("%0, %1", "tensor<8xf32>, tensor<8xf32>") + "\n" + PRINT.format("%2, %3", "i32, i32")
    filecheck(
        after(CSE(), function("%s: f32", body + uses)),
        """CHECK-COUNT-1: tt.splat
           CHECK-NOT: tt.splat
           CHECK: axis = 0
           CHECK: axis = 1
           CHECK: "tt.print"(%[[A:[0-9]+]], %[[A]])""",
    )


def test_loads_with_no_write_between(function: Callable[..., str], after: Callable[..., str]) -> None:
    body = f"%0 = {LOAD}\n%1 = {LOAD}\n{PRINT.format('%0, %1', 'f32, f32')}"
    filecheck(after(CSE(), function("%p: ptr<f32>", body)), "CHECK: tt.load\nCHECK-NOT: tt.load")


def test_loads_around_a_store(function: Callable[..., str], after: Callable[..., str]) -> None:
    store = '"tt.store"(%p, %x) {operandSegmentSizes = array<i32: 1, 1, 0>} : (ptr<f32>, f32) -> ()'
    body = f"%0 = {LOAD}\n{store}\n%1 = {LOAD}\n{PRINT.format('%0, %1', 'f32, f32')}"
    filecheck(after(CSE(), function("%p: ptr<f32>, %x: f32", body)), "CHECK-COUNT-2: tt.load")


def test_volatile_loads(function: Callable[..., str], after: Callable[..., str]) -> None:
    load = LOAD.replace("{operand", "{isVolatile = true, operand")
    body = f"%0 = {load}\n%1 = {load}\n{PRINT.format('%0, %1', 'f32, f32')}"
    filecheck(after(CSE(), function("%p: ptr<f32>", body)), "CHECK-COUNT-2: tt.load")


def test_what_cannot_be_merged(function: Callable[..., str], after: Callable[..., str]) -> None:
    rmw = (
        '"tt.atomic_rmw"(%p, %x) {atomic_rmw_op = 5 : i32, operandSegmentSizes = array<i32: 1, 1, 0>, '
        "scope = 1 : i32, sem = 1 : i32} : (ptr<f32>, f32) -> f32"
    )
    body = f"%0 = {rmw}\n%1 = {rmw}"
    filecheck(after(CSE(), function("%p: ptr<f32>, %x: f32", body)), "CHECK-COUNT-2: tt.atomic_rmw")
