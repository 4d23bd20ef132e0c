"""Calls of OpenCL builtins: functions whose mangled names LLVM's SPIR-V backend turns into instructions."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["call_builtin", "call_printf", "mangled"]

_CODES = {"i8": "c", "i16": "s", "i32": "i", "i64": "l", "f16": "Dh", "f32": "f", "f64": "d"}
#: builtins that OpenCL declares with unsigned parameters need other letters
_UNSIGNED = {"c": "h", "s": "t", "i": "j", "l": "m"}

_READS_NOTHING = (
    "#llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none, errnoMem = none, "
    "targetMem0 = none, targetMem1 = none>"
)


def mangled(name: str, types: Sequence[ir.Type], unsigned: Sequence[int] = ()) -> str:
    """The Itanium name of OpenCL's ``name`` for scalars of ``types``; ``unsigned`` counts parameters."""
    codes = [_CODES[str(t)] for t in types]
    for index in unsigned:
        codes[index] = _UNSIGNED[codes[index]]
    return f"_Z{len(name)}{name}{''.join(codes) or 'v'}"


def call_builtin(
    b: Builder,
    symbol: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type],
    *,
    convergent: bool = False,
    pure: bool = True,
) -> list[ir.Value]:
    """Call ``symbol``; a ``pure`` one touches no memory and may be dropped.

    A ``convergent`` one speaks with other threads: it stays where it is in the control flow.
    """
    convention = ir.Attribute.parse("#llvm.cconv<spir_funccc>")
    unit = ir.UnitAttr.get()
    function: dict[str, ir.Attribute] = {"CConv": convention, "no_unwind": unit, "will_return": unit}
    call: dict[str, ir.Attribute] = {"CConv": convention}
    if convergent:
        function["convergent"] = call["convergent"] = unit
    if pure:
        function["memory_effects"] = ir.Attribute.parse(_READS_NOTHING)
    return b.call(symbol, operands, results, function, call)


_CONSTANT_SPACE = 2


def call_printf(b: Builder, text: str, args: Sequence[ir.Value]) -> None:
    """Call OpenCL's printf with the format ``text``."""
    if "printf" not in b.symbols():
        ip = ir.InsertionPoint.at_block_begin(b.module.body)
        attributes = {
            "sym_name": ir.StringAttr.get("printf"),
            "function_type": ir.Attribute.parse(f"!llvm.func<i32 (ptr<{_CONSTANT_SPACE}>, ...)>"),
            "CConv": ir.Attribute.parse("#llvm.cconv<spir_funccc>"),
        }
        ir.Operation.create("llvm.func", attributes=attributes, regions=1, ip=ip)
        b.symbols().add("printf")
    operands = [_constant_string(b, text), *args]
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get("printf"),
        "var_callee_type": ir.Attribute.parse(f"!llvm.func<i32 (ptr<{_CONSTANT_SPACE}>, ...)>"),
        "CConv": ir.Attribute.parse("#llvm.cconv<spir_funccc>"),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    b.run("llvm.call", operands, [b.i32], attributes)


def _constant_string(b: Builder, text: str) -> ir.Value:
    """The address of a zero-terminated constant."""
    data = text.encode() + b"\0"
    name = f"printf_format_{sum(s.startswith('printf_format_') for s in b.symbols())}"
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "global_type": ir.TypeAttr.get(ir.Type.parse(f"!llvm.array<{len(data)} x i8>")),
        "addr_space": ir.IntegerAttr.get(b.i32, _CONSTANT_SPACE),
        "linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
        "constant": ir.UnitAttr.get(),
        "value": ir.StringAttr.get(data),
    }
    ip = ir.InsertionPoint.at_block_begin(b.module.body)
    ir.Operation.create("llvm.mlir.global", attributes=attributes, regions=1, ip=ip)
    b.symbols().add(name)
    symbol = {"global_name": ir.FlatSymbolRefAttr.get(name)}
    return b.op("llvm.mlir.addressof", (), b.ptr(_CONSTANT_SPACE), symbol)
