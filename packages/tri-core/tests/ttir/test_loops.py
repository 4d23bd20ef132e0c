"""Loops and operands of the graph by their names."""

from __future__ import annotations

from tri_core import mlir
from tri_core.text import parse_module
from tri_core.ttir import as_for, read_kernel

SOURCE = """
module {
  tt.func public @k(%out: !tt.ptr<f32>, %n: i32, %on: i1) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %first = arith.constant 1.0 : f32
    %sum, %other = scf.for %i = %zero to %n step %one iter_args(%x = %first, %y = %first) -> (f32, f32) : i32 {
      %next = arith.addf %x, %y : f32
      scf.yield %next, %x : f32, f32
    }
    tt.store %out, %sum, %on : !tt.ptr<f32>
    tt.return
  }
}
"""


def test_a_loop_has_its_parts_by_name() -> None:
    with mlir.session():
        body = read_kernel(parse_module(SOURCE)).body
    (loop,) = filter(None, map(as_for, body.ops))
    zero, one, first = (op.result for op in body.ops[:3])
    assert loop.bounds == (zero, body.arguments[1], one)
    assert loop.inits == [first, first]
    assert loop.yielded == [loop.body.ops[0].result, loop.iter_args[0]]
    loop.set_init(1, zero)
    assert loop.inits == [first, zero]
    assert [position for user, position in zero.uses if user is loop.op] == [0, 4]


def test_operands_have_the_names_that_the_class_of_the_op_declares() -> None:
    with mlir.session():
        body = read_kernel(parse_module(SOURCE)).body
    store = body.ops[-2]
    out, _, on = body.arguments
    assert store.operand("ptr") is out
    assert store.optional("mask") is on
    assert store.operand("value") is body.ops[3].results[0]
    assert as_for(store) is None
