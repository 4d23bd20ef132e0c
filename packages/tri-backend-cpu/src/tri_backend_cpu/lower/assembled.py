"""Inline assembly by itself: what LLVM's assembler refuses is refused where the user wrote it, before it is part of a kernel."""

from __future__ import annotations

import re
from collections.abc import Callable

from tri_backend_cpu.lower.translation import to_llvm_ir
from tri_core.api import CodegenCrash, ToolchainError, TriError, Unsupported, located
from tri_core.dialects.tt import ElementwiseInlineAsmOp
from tri_core.ir.views import isa
from tri_core.ir.walking import walk
from tri_core.mlir import ir

__all__ = ["check_assembly"]

#: what LLVM says of an error: the line of the assembly, if it is one of its lines, and what is wrong
_ERROR = re.compile(
    r"^(?:LLVM ERROR|error|fatal error): (?:<inline asm>:(?P<line>\d+):\d+: )?(?P<reason>.+)", re.M
)
_MOST = 160
#: of the llvm dialect, which is not defined here
_ASSEMBLY = "llvm.inline_asm"


def check_assembly(
    source: ir.Module, module: ir.Module, target: str, compiled: Callable[[str], object]
) -> None:
    """Unsupported, at its place, for inline assembly of ``module`` (at the vector level) that does not assemble for ``target``.

    ``source`` is the module in TTIR, which is faster asked whether there is any; ``compiled`` takes LLVM IR to an object file.
    """
    if not _those(source, lambda op: isa(op, ElementwiseInlineAsmOp)):
        return
    found: dict[tuple[str, ...], ir.Location] = {}
    for op in _those(module, lambda op: op.name == _ASSEMBLY):
        types = [str(v.type) for v in (*op.operands, *op.results)]
        texts = [str(op.attributes[name]) for name in ("asm_string", "constraints")]
        found.setdefault((*texts, str(len(op.operands)), *types), op.location)
    for (text, constraints, count, *types), location in found.items():
        operands, results = types[: int(count)], types[int(count) :]
        try:
            compiled(_alone(text, constraints, operands, results))
        except ToolchainError as error:
            if isinstance(error, CodegenCrash) and _ERROR.search(error.log) is None:
                raise  # the worker was killed
            raise _refused(error, ir.StringAttr(ir.Attribute.parse(text)).value, target, location) from error


def _those(module: ir.Module, wanted: Callable[[ir.Operation], bool]) -> list[ir.Operation]:
    """The ops of ``module`` that are ``wanted``."""
    found: list[ir.Operation] = []

    def look(op: ir.Operation) -> ir.WalkResult:
        if wanted(op):
            found.append(op)
        return ir.WalkResult.ADVANCE

    walk(module.operation, look)
    return found


def _alone(text: str, constraints: str, operands: list[str], results: list[str]) -> str:
    """LLVM IR of a function that has nothing but this assembly."""
    values = [f"%{i} = llvm.mlir.zero : {type_}" for i, type_ in enumerate(operands)]
    given = ", ".join(f"%{i}" for i in range(len(operands)))
    made = "%made = " if results else ""
    call = f"{made}{_ASSEMBLY} has_side_effects {text}, {constraints} {given} : ({', '.join(operands)}) -> {results[0] if results else '()'}"
    body = "\n".join([*values, call, "llvm.return"])
    return to_llvm_ir(ir.Module.parse(f"llvm.func @assembly() {{\n{body}\n}}"))


def _refused(error: ToolchainError, text: str, target: str, location: ir.Location) -> TriError:
    said = _ERROR.search(error.log) or _ERROR.search(f"error: {error.message}")
    where, reason = "", error.message
    if said is not None:
        reason = said["reason"]
        lines = text.splitlines()
        number = int(said["line"] or 0)
        if 0 < number <= len(lines):
            where = f", line {number} ({lines[number - 1].strip()!r})"
    return located(
        Unsupported,
        location,
        f"inline assembly does not assemble for {target}{where}: {reason[:_MOST]}",
        remedy="write it for this processor (on x86 in AT&T's syntax), or choose by the target, which tl.target_info tells",
    )
