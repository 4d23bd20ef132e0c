"""Accesses and dots, whatever op does them: what ops declare is what the op's class gives."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import pytest

from tri_core import mlir
from tri_core.ir.access import MemoryAccess, access_of
from tri_core.ir.dots import Dot, DotLike, is_dot
from tri_core.ir.effects import READ_GLOBAL, WRITE_GLOBAL, Effects
from tri_core.mlir import ext, ir


class Vendor(ext.Dialect, name="made_up_access"):
    """A dialect as a vendor may have it."""


class FetchOp(
    Vendor.Operation,
    name="fetch",
    traits=[
        Effects(READ_GLOBAL),
        MemoryAccess("base", offsets=("row", "columns"), mask="where", other="instead"),
    ],
):
    result: ext.Result[Any]
    base: ext.Operand[Any]
    row: ext.Operand[Any]
    columns: Sequence[ext.Operand[Any]]
    where: ext.Operand[Any] | None = None
    instead: ext.Operand[Any] | None = None


class PutOp(
    Vendor.Operation,
    name="put",
    traits=[Effects(WRITE_GLOBAL), MemoryAccess("base", stored="value", mask="where")],
):
    value: ext.Operand[Any]
    base: ext.Operand[Any]
    where: ext.Operand[Any] | None = None


class StreamOp(
    Vendor.Operation, name="stream", traits=[Effects(READ_GLOBAL), MemoryAccess("base", into="buffer")]
):
    token: ext.Result[Any]
    buffer: ext.Operand[Any]
    base: ext.Operand[Any]


class MultiplyOp(Vendor.Operation, name="multiply", traits=[DotLike]):
    a: ext.Operand[Any]
    b: ext.Operand[Any]
    c: ext.Operand[Any]
    scale: ext.Operand[Any]
    result: ext.Result[Any]


TEXT = """func.func @f(%p: i64, %x: i32, %y: i32, %z: i32, %m: i1) {
  %a = "made_up_access.fetch"(%p, %x, %y, %z, %m) {operandSegmentSizes = array<i32: 1, 1, 2, 1, 0>} : (i64, i32, i32, i32, i1) -> i32
  "made_up_access.put"(%a, %p) : (i32, i64) -> ()
  %t = "made_up_access.stream"(%x, %p) : (i32, i64) -> i32
  %d = "made_up_access.multiply"(%x, %y, %z, %x) : (i32, i32, i32, i32) -> i32
  return
}"""


@pytest.fixture
def ops():
    mlir.registry.add_dialect(Vendor)
    with mlir.session():
        module = ir.Module.parse(TEXT)
        yield [view.operation for view in next(iter(module.body)).regions[0].blocks[0].operations]


def test_a_vendors_load_is_an_access(ops) -> None:
    fetch = access_of(ops[0])
    assert fetch is not None
    assert fetch.operation == ops[0]
    assert fetch.address == ops[0].operands[0]
    assert fetch.offsets == list(ops[0].operands)[1:4]
    assert (fetch.mask, fetch.other) == (ops[0].operands[4], None)
    assert (fetch.stored, fetch.value) == (None, ops[0].results[0])


def test_a_vendors_store_is_an_access(ops) -> None:
    put = access_of(ops[1])
    assert put is not None
    assert put.address == ops[1].operands[1]
    assert put.offsets == []
    assert put.stored == put.value == ops[1].operands[0]
    assert (put.mask, put.other) == (None, None)


def test_what_a_copy_reads_goes_to_its_buffer(ops) -> None:
    stream = access_of(ops[2])
    assert stream is not None
    assert stream.stored is None
    assert stream.value == ops[2].operands[0]


def test_other_ops_access_nothing(ops) -> None:
    assert access_of(ops[3]) is None
    assert MemoryAccess.of("made_up_access.multiply") is None


def test_a_vendors_dot_is_a_dot(ops) -> None:
    assert is_dot(ops[3])
    assert not is_dot(ops[2])
    dot = Dot(ops[3])
    assert [dot.a, dot.b, dot.c] == list(ops[3].operands)[:3]
