"""Float negation hidden from Intel's OpenCL CPU compiler, in kernels with barriers.

That compiler keeps what work-items hold across a barrier, but takes the result of LLVM's ``fneg`` for one of the
whole group: after the barrier all have that of the last sub-group (intel-opencl-rt 2026.2).  Its optimizer
makes ``fneg`` of a subtraction from -0.0, of a product with -1.0 and of a flipped sign bit too, so the mask of the
sign bit is computed from the number of dimensions, which it does not know when it compiles.
"""

from __future__ import annotations

import re

__all__ = ["without_negation"]

_BARRIER = re.compile(r"call [^\n]*(?:barrier|Barrier)")
_FLAGS = r"(?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*"
_NEGATION = re.compile(
    rf"^  (?P<result>%\S+) = fneg {_FLAGS}(?P<lanes><\d+ x )?(?P<type>half|bfloat|float|double)(?P<end>>?) "
    r"(?P<value>[^\s,]+)(?P<rest>[^\n]*)$",
    re.M,
)
_DEFINITION = re.compile(r"^define [^\n]*\{\n(?:[\w.]+:[^\n]*\n)?", re.M)
_DIMENSIONS = "_Z12get_work_dimv"
_WIDTHS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


def without_negation(llvm_ir: str) -> str:
    """``llvm_ir`` with flipped sign bits for its negations, when it has barriers."""
    if " fneg " not in llvm_ir or not _BARRIER.search(llvm_ir):
        return llvm_ir
    text = _NEGATION.sub(_flipped, llvm_ir)
    text = _DEFINITION.sub(lambda head: head[0] + _masks(), text)
    if f"@{_DIMENSIONS}(" not in llvm_ir:
        text += f"\ndeclare spir_func i32 @{_DIMENSIONS}()\n"
    return text


def _masks() -> str:
    """The sign bits of all widths: there are less than 256 dimensions, so nothing else is set."""
    lines = [
        f"%tri.dimensions = call spir_func i32 @{_DIMENSIONS}()",
        "%tri.nothing = lshr i32 %tri.dimensions, 8",
        "%tri.sign32 = or i32 %tri.nothing, -2147483648",
        "%tri.high = lshr i32 %tri.sign32, 16",
        "%tri.sign16 = trunc i32 %tri.high to i16",
        "%tri.wide = zext i32 %tri.sign32 to i64",
        "%tri.sign64 = shl i64 %tri.wide, 32",
    ]
    return "".join(f"  {line}\n" for line in lines)


def _flipped(found: re.Match[str]) -> str:
    result, width = found["result"], _WIDTHS[found["type"]]
    lanes, end = found["lanes"] or "", found["end"]
    floats, integers = f"{lanes}{found['type']}{end}", f"{lanes}i{width}{end}"
    name = f"%tri.negated.{result.removeprefix('%').strip(chr(34))}"
    lines = []
    mask = f"%tri.sign{width}"
    if lanes:
        count = lanes.strip("<x ")
        lines += [
            f"{name}.first = insertelement {integers} poison, i{width} {mask}, i64 0",
            f"{name}.mask = shufflevector {integers} {name}.first, {integers} poison, <{count} x i32> zeroinitializer",
        ]
        mask = f"{name}.mask"
    lines += [
        f"{name}.bits = bitcast {floats} {found['value']} to {integers}",
        f"{name}.flipped = xor {integers} {name}.bits, {mask}",
        f"{result} = bitcast {integers} {name}.flipped to {floats}{found['rest']}",
    ]
    return "\n".join(f"  {line}" for line in lines)
