"""What ops do to memory and to others, as their dialects declare it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tri_core import mlir
from tri_core.dialects.tt import TT
from tri_core.ir.effects import (
    HOST,
    NOTHING,
    READ_GLOBAL,
    SYNCHRONIZE_CTA,
    WRITE_GLOBAL,
    Effects,
    effects_of,
    has_at_most,
    may_have,
)
from tri_core.ir.traits import Pure, PureByAttribute
from tri_core.mlir import ir
from tri_core.text import parse_module

BODY = """
tt.func public @k(%p: !tt.ptr<f32>, %v: f32, %n: i32) {
  %x = tt.load %p : !tt.ptr<f32>
  %y = arith.addf %x, %v : f32
  tt.store %p, %y : !tt.ptr<f32>
  %old = tt.atomic_rmw fadd, relaxed, gpu, %p, %y : (!tt.ptr<f32>, f32) -> f32
  "tt.barrier"() : () -> ()
  tt.return
}
"""


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with mlir.session():
        yield parse_module(BODY)


def op_of(module: ir.Module, name: str) -> ir.Operation:
    """The first op of the kernel that has the name."""
    (kernel,) = module.body
    return next(op.operation for op in kernel.regions[0].blocks[0].operations if op.operation.name == name)


@pytest.mark.parametrize(
    ("name", "effects"),
    [
        ("tt.load", {READ_GLOBAL}),
        ("arith.addf", NOTHING),
        ("tt.store", {WRITE_GLOBAL}),
        ("tt.atomic_rmw", {READ_GLOBAL, WRITE_GLOBAL}),
        ("tt.barrier", {SYNCHRONIZE_CTA}),
        ("tt.return", NOTHING),
    ],
)
def test_an_op_has_what_it_declares(module: ir.Module, name: str, effects: set[object]) -> None:
    assert effects_of(op_of(module, name)) == effects


def test_who_declares_nothing_may_do_anything() -> None:
    with mlir.session():
        op = ir.Operation.create("builtin.unrealized_conversion_cast")
        assert effects_of(op) is None
        assert may_have(op, HOST)
        assert not has_at_most(op, HOST, READ_GLOBAL, WRITE_GLOBAL)


def test_at_most_and_at_least(module: ir.Module) -> None:
    atomic = op_of(module, "tt.atomic_rmw")
    assert has_at_most(atomic, READ_GLOBAL, WRITE_GLOBAL)
    assert not has_at_most(atomic, READ_GLOBAL)
    assert may_have(atomic, WRITE_GLOBAL, HOST)
    assert not may_have(atomic, HOST)


def test_every_op_of_the_language_says_what_it_does() -> None:
    silent = {
        op.OPERATION_NAME
        for op in TT.operations
        if Effects.declared_by(op.OPERATION_NAME) is None and not {Pure, PureByAttribute} & set(op._traits)
    }
    assert silent == {"tt.call"}  # what is called may do anything; it is inlined first
