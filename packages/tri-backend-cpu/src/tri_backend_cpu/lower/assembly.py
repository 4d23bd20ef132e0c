"""The user's assembly, for one element, and waiting for memory to change."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tri_backend_cpu.builder import I1, I32, I64, Builder
from tri_backend_cpu.lower.atomics import atomic_load
from tri_core.api import Unsupported, located
from tri_core.mlir import ir
from tri_core.ttir import Op
from tri_core.ttir.loops import WHILE

__all__ = ["assemble", "poll"]

#: an instruction of a GPU's virtual machine: ``shl.b32``, ``cvt.rn.f16x2.f32``
_TYPED_MNEMONIC = re.compile(r"\b[a-z]\w*(?:\.\w+)*\.(?:(?:b|u|s|f|bf)(?:8|16|32|64|128)(?:x2)?|pred)\b")
#: C11's TIME_UTC, the one clock that every C library has
_TIME_UTC = 1


def assemble(b: Builder, op: Op, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """``tt.elementwise_inline_asm`` of registers, in AT&T's syntax on x86."""
    _check_machine(op)
    types = [b.type(r.dtype) for r in op.results]
    result = types[0] if len(types) == 1 else ir.Type.parse(f"!llvm.struct<({', '.join(map(str, types))})>")
    attributes: dict[str, ir.Attribute] = {
        "asm_string": ir.StringAttr.get(op.attributes["asm_string"]),
        "constraints": ir.StringAttr.get(op.attributes["constraints"]),
    }
    if not op.attributes["pure"]:
        attributes["has_side_effects"] = ir.UnitAttr.get()
    made = b.op("llvm.inline_asm", result, *operands, **attributes)
    if len(types) == 1:
        return [made]
    position = ir.DenseI64ArrayAttr.get
    return [b.op("llvm.extractvalue", t, made, position=position([i])) for i, t in enumerate(types)]


def _check_machine(op: Op) -> None:
    """Unsupported for the assembly of a GPU's virtual machine, whose mnemonics end in the type that they compute with."""
    found = _TYPED_MNEMONIC.search(op.attributes["asm_string"])
    if found is not None:
        raise located(
            Unsupported,
            op.location,
            f"inline assembly with {found[0]!r}: that is a GPU's, and a CPU has other instructions",
            remedy="write it in tl, or choose by the target, which tl.target_info tells",
        )


def poll(
    b: Builder,
    op: Op,
    pointer: ir.Value,
    expected: ir.Value,
    timeout: ir.Value | None,
    more: Callable[[ir.Value], ir.Value] | None = None,
) -> ir.Value:
    """Load until ``expected`` is seen or ``timeout`` nanoseconds are over; whether it was seen.

    ``more`` may turn the condition to go on into another.
    """
    deadline = b.i64(0) if timeout is None else b.same("arith.addi", _now(b), timeout)
    kind = b.type(I1)
    loop = ir.Operation.create(WHILE, results=[kind], operands=[], regions=2, loc=b.location, ip=b.ip)
    test, body = loop.regions[0].blocks.append(), loop.regions[1].blocks.append(kind, arg_locs=[b.location])
    with b.inside(test):
        seen = b.cmp("eq", atomic_load(b, op, pointer), expected)
        again = b.same("arith.xori", seen, b.constant(1, I1))
        if timeout is not None:
            again = b.same("arith.andi", again, b.cmp("slt", _now(b), deadline))
        b.effect("scf.condition", again if more is None else more(again), seen)
    with b.inside(body):
        b.yield_()
    return loop.result


def _now(b: Builder) -> ir.Value:
    """Nanoseconds by the C library's clock."""
    first = (
        ir.InsertionPoint(b.entry.operations[0]) if len(b.entry.operations) else ir.InsertionPoint(b.entry)
    )
    with b.at(first):
        count = ir.Operation.create(
            "arith.constant",
            results=[b.i64_type],
            attributes={"value": ir.IntegerAttr.get(b.i64_type, 2)},
            loc=b.location,
            ip=b.ip,
        ).result
        element = ir.TypeAttr.get(b.type(I64))
        place = b.op("llvm.alloca", ir.Type.parse("!llvm.ptr"), count, elem_type=element)
    b.call("timespec_get", b.type(I32), place, b.constant(_TIME_UTC, I32))
    seconds, rest = (b.load(b.offset(place, i, I64), I64) for i in (0, 1))
    return b.same("arith.addi", b.same("arith.muli", seconds, b.i64(1_000_000_000)), rest)
