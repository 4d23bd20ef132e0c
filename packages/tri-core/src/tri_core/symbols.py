"""Names that users choose, as symbols that every assembler, linker and driver takes.

A kernel is called what its author says (``repr``, a function's name, a symbol in a file of IR).  What it is called for
a person stays; what it is called in IR and images is :func:`symbol_of` that name, from the first module on.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from tri_core.ir.walking import walk

if TYPE_CHECKING:
    from tri_core.mlir import ir

__all__ = ["file_stem", "rename_functions", "symbol_of"]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*", re.ASCII)
_FOREIGN = re.compile(r"[^A-Za-z0-9_]", re.ASCII)
#: names longer than this are cut: assemblers and file systems have limits
_MOST = 200
#: what compilers call, or treat as functions that they know
_KNOWN = frozenset(
    [
        "main",
        "_start",
        "abort",
        "exit",
        "malloc",
        "calloc",
        "realloc",
        "free",
        "printf",
        "vprintf",
        "puts",
        "putchar",
        "memcpy",
        "memmove",
        "memset",
        "memcmp",
        "bcmp",
        "strlen",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "exp",
        "exp2",
        "expm1",
        "exp10",
        "log",
        "log2",
        "log10",
        "log1p",
        "pow",
        "sqrt",
        "cbrt",
        "hypot",
        "fabs",
        "floor",
        "ceil",
        "trunc",
        "round",
        "roundeven",
        "rint",
        "nearbyint",
        "fmod",
        "remainder",
        "fma",
        "fmin",
        "fmax",
        "ldexp",
        "frexp",
        "modf",
        "erf",
        "erfc",
        "tgamma",
        "lgamma",
        "copysign",
        "sincos",
    ]
)


def symbol_of(name: str) -> str:
    """``name`` itself where it is a symbol everywhere, else one that is made from it and is no other name's.

    ASCII letters, digits, ``_`` and ``$`` make a symbol; names of the C library and those that begin with two
    underscores, which compilers and device libraries keep for themselves, are none.
    """
    if _PLAIN.fullmatch(name) and len(name) <= _MOST and not _reserved(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"k_{_FOREIGN.sub('_', name)[: _MOST // 2].lstrip('_')}_{digest}"


def _reserved(name: str) -> bool:
    return name.startswith("__") or name in _KNOWN or (name[-1:] in "fl" and name[:-1] in _KNOWN)


def file_stem(name: str) -> str:
    """``name`` as the beginning of a file's name."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:_MOST]


def rename_functions(module: ir.Module) -> None:
    """Give the functions of a ``tt`` module, and what calls them, names that are symbols; inside an MLIR session."""
    from tri_core.mlir import ir

    functions = [op for op in module.body.operations if op.operation.name == "tt.func"]
    names = [ir.StringAttr(op.attributes["sym_name"]).value for op in functions]
    renamed = {name: symbol_of(name) for name in names if symbol_of(name) != name}
    if not renamed:
        return
    for op, name in zip(functions, names, strict=True):
        op.attributes["sym_name"] = ir.StringAttr.get(renamed.get(name, name))

    def call(op: ir.Operation) -> ir.WalkResult:
        if op.name == "tt.call":
            callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            op.attributes["callee"] = ir.FlatSymbolRefAttr.get(renamed.get(callee, callee))
        return ir.WalkResult.ADVANCE

    walk(module.operation, call)
