"""Calls of OpenCL builtins: functions whose mangled names LLVM's SPIR-V backend turns into instructions."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["call_builtin", "mangled"]

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
