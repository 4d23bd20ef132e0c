"""Atomic operations on one element."""

from __future__ import annotations

from collections.abc import Callable

from tri_backend_cpu.builder import I1, Builder, storage_of
from tri_backend_cpu.lower.casts import narrow, widen
from tri_core.api import Unsupported, located
from tri_core.dialects.tt.enums import AtomicOp, MemSemantic
from tri_core.mlir import ir
from tri_core.ttir import DType, Op, dtype_of
from tri_core.ttir.loops import WHILE

__all__ = ["atomic_cas", "atomic_load", "atomic_rmw", "atomic_store", "exchange"]

#: memory order by tt.MemSemantic, as LLVM's codes
_ORDERS = {
    MemSemantic.RELAXED: 2,
    MemSemantic.ACQUIRE: 4,
    MemSemantic.RELEASE: 5,
    MemSemantic.ACQUIRE_RELEASE: 6,
}
#: LLVM's code of each operation on integers
_INTEGER = {
    AtomicOp.XCHG: 0,
    AtomicOp.ADD: 1,
    AtomicOp.AND: 3,
    AtomicOp.OR: 5,
    AtomicOp.XOR: 6,
    AtomicOp.MAX: 7,
    AtomicOp.MIN: 8,
    AtomicOp.UMAX: 9,
    AtomicOp.UMIN: 10,
}


def _bits(dtype: DType) -> DType:
    """The integer that atomics on ``dtype`` work with."""
    return dtype_of(f"i{8 * dtype.nbytes}") if not dtype.is_pointer else storage_of(dtype)


def _as_bits(b: Builder, value: ir.Value, dtype: DType) -> ir.Value:
    return b.bitcast(b.to_storage(value, dtype), _bits(dtype))


def _from_bits(b: Builder, bits: ir.Value, dtype: DType) -> ir.Value:
    return b.from_storage(b.bitcast(bits, storage_of(dtype)), dtype)


def _code(b: Builder, code: int) -> ir.Attribute:
    return ir.IntegerAttr.get(b.i64_type, code)


def atomic_rmw(b: Builder, op: Op, pointer: ir.Value, value: ir.Value) -> ir.Value:
    """The old element at ``pointer``, which becomes a function of it and ``value``."""
    dtype = op.operand("val").dtype
    kind, order = AtomicOp(op.attributes["atomic_rmw_op"]), _ORDERS[MemSemantic(op.attributes["sem"])]
    if kind is AtomicOp.FADD:
        return _add_float(b, dtype, pointer, value, order)
    if kind not in _INTEGER or (dtype.is_float and kind is not AtomicOp.XCHG):
        raise located(Unsupported, op.location, f"atomic {kind.name} on {dtype}")
    bits = _as_bits(b, value, dtype)
    code, ordering = _code(b, _INTEGER[kind]), _code(b, order)
    return _from_bits(
        b, b.op("llvm.atomicrmw", bits.type, pointer, bits, bin_op=code, ordering=ordering), dtype
    )


def atomic_cas(b: Builder, op: Op, pointer: ir.Value, expected: ir.Value, value: ir.Value) -> ir.Value:
    """The old element at ``pointer``, which becomes ``value`` if it was ``expected`` (bit for bit)."""
    dtype = op.operand("val").dtype
    order = _ORDERS[MemSemantic(op.attributes["sem"])]
    old, _ = exchange(b, pointer, _as_bits(b, expected, dtype), _as_bits(b, value, dtype), order)
    return _from_bits(b, old, dtype)


def atomic_load(b: Builder, op: Op, pointer: ir.Value) -> ir.Value:
    """The element at ``pointer``."""
    return _ordered(b, op, "llvm.load", pointer, None)


def atomic_store(b: Builder, op: Op, pointer: ir.Value, value: ir.Value) -> None:
    """Set the element at ``pointer``."""
    _ordered(b, op, "llvm.store", pointer, value)


def _ordered(b: Builder, op: Op, name: str, pointer: ir.Value, value: ir.Value | None) -> ir.Value:
    dtype = op.operands[0].dtype.element
    order = _ORDERS[MemSemantic(op.attributes["sem"])]
    attributes = {"alignment": _code(b, dtype.nbytes), "ordering": _code(b, order)}
    if value is not None:
        b.effect(name, b.to_storage(value, dtype), pointer, **attributes)
        return value
    return b.from_storage(b.op(name, b.type(storage_of(dtype)), pointer, **attributes), dtype)


def exchange(
    b: Builder, pointer: ir.Value, expected: ir.Value, value: ir.Value, order: int
) -> tuple[ir.Value, ir.Value]:
    """Compare and swap: the old bits, and whether they were the expected ones."""
    pair = ir.Type.parse(f"!llvm.struct<({value.type}, i1)>")
    failure = {5: 2, 6: 4}.get(order, order)  # a failed exchange releases nothing
    made = b.op(
        "llvm.cmpxchg",
        pair,
        pointer,
        expected,
        value,
        success_ordering=_code(b, order),
        failure_ordering=_code(b, failure),
    )
    old = b.op("llvm.extractvalue", value.type, made, position=ir.DenseI64ArrayAttr.get([0]))
    return old, b.op("llvm.extractvalue", b.type(I1), made, position=ir.DenseI64ArrayAttr.get([1]))


def _add_float(b: Builder, dtype: DType, pointer: ir.Value, value: ir.Value, order: int) -> ir.Value:
    """Add and exchange until nobody interferes."""
    bits = _bits(dtype)
    wide = widen(b, value, dtype)

    def attempt(expected: ir.Value) -> tuple[ir.Value, ir.Value]:
        old = widen(b, _from_bits(b, expected, dtype), dtype)
        new = b.same("arith.addf", old, wide)
        new = narrow(b, new, dtype) if dtype.bits < 32 else new
        return exchange(b, pointer, expected, _as_bits(b, new, dtype), order)

    start = b.load(pointer, bits)
    return _from_bits(b, _repeat(b, bits, start, attempt), dtype)


def _repeat(
    b: Builder, bits: DType, start: ir.Value, attempt: Callable[[ir.Value], tuple[ir.Value, ir.Value]]
) -> ir.Value:
    """A ``while`` loop: attempt with what was last seen until it succeeds; what was seen then."""
    kind = b.type(bits)
    loop = ir.Operation.create(WHILE, results=[kind], operands=[start], regions=2, loc=b.location, ip=b.ip)
    before = loop.regions[0].blocks.append(kind, arg_locs=[b.location])
    after = loop.regions[1].blocks.append(kind, arg_locs=[b.location])
    with b.inside(before):
        seen, done = attempt(before.arguments[0])
        again = b.same("arith.xori", done, b.constant(1, I1))
        b.effect("scf.condition", again, seen)
    with b.inside(after):
        b.yield_(after.arguments[0])
    return loop.result
