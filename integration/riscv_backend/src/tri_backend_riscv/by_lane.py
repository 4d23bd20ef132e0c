"""A pass over LLVM IR: conversions that round towards zero are made lane by lane.

QEMU before 8.0 stops at the vector instructions for them (``vfcvt.rtz`` and its like: an assertion of its translator),
and Debian 12 has 7.2.  Scalar instructions give the same numbers.  For hardware, leave the pass out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tri_core.api import StageContext, TextPass

__all__ = ["ConvertByLane"]

_CAST = re.compile(r"^ *%(\S+) = (fpto[su]i) <(\d+) x (\w+)> (.+) to <\d+ x (\w+)>(.*)$", re.MULTILINE)
_CALL = re.compile(
    r"^ *%(\S+) = [a-z ]*call [a-z ]*<(\d+) x (\w+)> @llvm\.(trunc|fpto[su]i\.sat)\.\S+?\(<\d+ x (\w+)> ([^()]+)\)(.*)$",
    re.MULTILINE,
)
_SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


@dataclass(frozen=True)
class ConvertByLane(TextPass):
    """Take vectors apart for ``fptosi``, ``fptoui``, their saturating kinds and ``trunc``."""

    name = "riscv-convert-by-lane"

    def apply(self, text: str, context: StageContext) -> str:
        """The text with a scalar conversion for each lane."""
        del context
        declared: set[str] = set()

        def cast(found: re.Match[str]) -> str:
            name, op, lanes, source, operand, result, tail = found.groups()
            return _lanes(name, int(lanes), source, operand, result, f"{op} {source} {{}} to {result}", tail)

        def call(found: re.Match[str]) -> str:
            name, lanes, result, op, source, operand, tail = found.groups()
            types = _SUFFIX[source] if op == "trunc" else f"{result}.{_SUFFIX[source]}"
            declared.add(f"declare {result} @llvm.{op}.{types}({source})")
            scalar = f"call {result} @llvm.{op}.{types}({source} {{}})"
            return _lanes(name, int(lanes), source, operand, result, scalar, tail)

        made = _CALL.sub(call, _CAST.sub(cast, text))
        missing = sorted(line for line in declared if line not in text)
        return "\n".join([made, *missing, ""]) if missing else made


def _lanes(name: str, count: int, source: str, operand: str, result: str, scalar: str, tail: str) -> str:
    """Instructions that take ``operand`` apart, and give ``%name`` what ``scalar`` makes of each lane."""
    lines, so_far = [], "poison"
    for lane in range(count):
        taken, made = f"%lane.{name}.{lane}", f"%made.{name}.{lane}"
        whole = f"%{name}" if lane == count - 1 else f"%whole.{name}.{lane}"
        lines += [
            f"  {taken} = extractelement <{count} x {source}> {operand}, i32 {lane}{tail}",
            f"  {made} = {scalar.format(taken)}{tail}",
            f"  {whole} = insertelement <{count} x {result}> {so_far}, {result} {made}, i32 {lane}{tail}",
        ]
        so_far = whole
    return "\n".join(lines)
