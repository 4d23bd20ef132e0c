"""Entry that a launch calls: a function that finds the arguments of a kernel in a block of bytes."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.api import InternalError
from tri_core.mlir import ir

__all__ = ["ENTRY", "PROGRAM", "entry"]

#: ``void <kernel>.launch(ptr block, i32 programs_x, ..., i32 program_z)``, with the address of the packed arguments
ENTRY = "{}.launch"
#: numbers that a function of linalg takes behind the kernel's parameters: counts of programs, and which this one is
PROGRAM = 6
#: what describes memory of one dimension: where it begins, twice, and its offset, size and stride
_DESCRIPTOR = "{ ptr, ptr, i64, i64, i64 }"
#: more than any array has
_EVERYTHING = 2**63 - 1


def entry(function: ir.Operation) -> str:
    """LLVM IR of the entry of ``function``, a ``func.func``, in whose place stands what upstream makes of it.

    A struct of LLVM has each field at its natural alignment, as packed arguments have; an unranked memref goes as its rank and
    the address of what describes it.
    """
    name = ir.StringAttr(function.attributes["sym_name"]).value
    inputs = list(ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs)
    given = inputs[:-PROGRAM]
    fields = [_type(type_) for type_ in given]
    lines, values = list[str](), list[str]()
    for number, (type_, field) in enumerate(zip(given, fields, strict=True)):
        lines.append(f"%p{number} = getelementptr {{ {', '.join(fields)} }}, ptr %block, i32 0, i32 {number}")
        lines.append(f"%a{number} = load {field}, ptr %p{number}")
        if isinstance(type_, ir.UnrankedMemRefType):
            lines += _describe(number)
            values.append(f"i64 1, ptr %d{number}")
        else:
            values.append(f"{field} %a{number}")
    numbers = [f"i32 %n{number}" for number in range(PROGRAM)]
    lines += [f"call void @{name}({', '.join([*values, *numbers])})", "ret void"]
    body = "".join(f"  {line}\n" for line in lines)
    return f'\ndefine void @"{ENTRY.format(name)}"({", ".join(["ptr %block", *numbers])}) {{\n{body}}}\n'


def _describe(number: int) -> Sequence[str]:
    """The lines that describe the memory at ``%aN`` in ``%dN``."""
    parts = {0: f"ptr %a{number}", 1: f"ptr %a{number}", 2: "i64 0", 3: f"i64 {_EVERYTHING}", 4: "i64 1"}
    lines = [f"%d{number} = alloca {_DESCRIPTOR}"]
    for place, part in parts.items():
        field = f"%f{number}.{place}"
        lines.append(f"{field} = getelementptr {_DESCRIPTOR}, ptr %d{number}, i32 0, i32 {place}")
        lines.append(f"store {part}, ptr {field}")
    return lines


def _type(type_: ir.Type) -> str:
    """LLVM's name of a parameter's type."""
    match type_:
        case ir.UnrankedMemRefType():
            return "ptr"
        case ir.IntegerType():
            return f"i{type_.width}"
        case ir.F16Type():
            return "half"
        case ir.F32Type():
            return "float"
        case ir.F64Type():
            return "double"
        case _:
            raise InternalError(f"a kernel takes no {type_}")
