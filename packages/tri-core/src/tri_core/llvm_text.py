"""From the ``llvm`` dialect to LLVM text that the code generator's LLVM reads.

The MLIR bindings print with a newer LLVM than the one that generates code.  What differs in the text we
make are float constants: the newer one prints ``+inf``, ``+qnan``, ``+nan(0x1)``, bit patterns as
``f0x7FC00000``, and shortest decimals such as ``float 1.000000e-01``, where the older one wants a decimal
to be exact in its type.  So every float constant is rewritten as its bit pattern, which all versions read.

``llvm.inline_asm`` has no way to say that it is convergent (what threads do together, which may not be moved into or
out of a branch): ops with the attribute :data:`CONVERGENT` have their calls marked in the text.
"""

from __future__ import annotations

import re
import struct

from tri_core.bindings import ir, translate_module_to_llvmir
from tri_core.errors import InternalError
from tri_core.ir.walking import walk

__all__ = ["CONVERGENT", "normalize_floats", "to_llvm_text"]

#: the attribute of ``llvm.inline_asm`` ops that are
CONVERGENT = "convergent"

_DECIMAL = r"\d+\.\d+(?:[eE][+-]?\d+)?"
_NAN = r"(?:qnan|[s]?nan\(0x[0-9A-Fa-f]+\))"
_LITERAL = rf"(?:(?<![\w.$@%])f0x[0-9A-Fa-f]+|(?<![\w.$@%+-])(?:[+-]?{_DECIMAL}|[+-](?:inf\b|{_NAN})))"
_TYPE = r"(?<![\w.$@%])(?:half|bfloat|float|double)\b(?![.$(])"
#: found in every literal, and cheap to look for: most lines have none
_HINT = re.compile(r"\.\d|inf|nan|f0x")
_TOKEN = re.compile(rf'(?P<string>"[^"]*")|(?P<comment>;.*$)|(?P<type>{_TYPE})|(?P<literal>{_LITERAL})')

#: exponent bits, mantissa bits
_FORMATS = {"half": (5, 10), "bfloat": (8, 7), "float": (8, 23), "double": (11, 52)}


def to_llvm_text(module: ir.Module) -> str:
    """``module`` (``llvm`` dialect only) as LLVM text; InternalError with MLIR's words when it is not."""
    try:
        text = translate_module_to_llvmir(module.operation)
    except RuntimeError as error:
        raise InternalError(f"translation to LLVM IR failed: {error}") from error
    return normalize_floats(_mark_convergent(text, _convergent_assembly(module)))


# --- inline assembly --------------------------------------------------------------------------------------

_ASSEMBLY = re.compile(r' asm (?:sideeffect )?"(?P<text>[^"]*)", "(?P<constraints>[^"]*)"\(')
_ESCAPE = re.compile(r"\\(\\|[0-9A-Fa-f]{2})")


def _convergent_assembly(module: ir.Module) -> set[tuple[str, str]]:
    """Text and constraints of the marked ops: an instruction is convergent wherever it stands."""
    found = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "llvm.inline_asm" and CONVERGENT in op.attributes:
            names = ("asm_string", "constraints")
            text, constraints = (ir.StringAttr(op.attributes[name]).value for name in names)
            found.add((text, constraints))
        return ir.WalkResult.ADVANCE

    walk(module.operation, visit)
    return found


def _mark_convergent(text: str, marked: set[tuple[str, str]]) -> str:
    """``text`` with the attribute at the calls of ``marked``."""
    if not marked:
        return text
    pieces: list[str] = []
    done = 0
    for call in _ASSEMBLY.finditer(text):
        if (_plain(call["text"]), _plain(call["constraints"])) in marked:
            end = _closing(text, call.end())
            pieces += text[done:end], " convergent"
            done = end
    return "".join(pieces) + text[done:]


def _plain(escaped: str) -> str:
    r"""LLVM's quoted text without its escapes, ``\0A`` or ``\\``."""
    return _ESCAPE.sub(lambda m: "\\" if m[1] == "\\" else chr(int(m[1], 16)), escaped)


def _closing(text: str, place: int) -> int:
    """Behind the parenthesis that closes what is open at ``place``."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        place += 1
    return place


# --- floats -----------------------------------------------------------------------------------------------


def normalize_floats(text: str) -> str:
    """LLVM text with every float constant as a hexadecimal bit pattern."""
    pieces: list[str] = []
    done = 0
    while (hint := _HINT.search(text, done)) is not None:
        start = text.rfind("\n", 0, hint.start()) + 1
        end = text.find("\n", hint.start())
        end = len(text) if end < 0 else end
        pieces += text[done:start], _normalize_line(text[start:end])
        done = end
    return "".join(pieces) + text[done:]


def _normalize_line(line: str) -> str:
    """A constant has the type written last before it: its own, or that of the op for untyped operands."""
    seen = "double"

    def rewrite(token: re.Match[str]) -> str:
        nonlocal seen
        if token.lastgroup == "type":
            seen = token.group()
        return _hexadecimal(token.group(), seen) if token.lastgroup == "literal" else token.group()

    return _TOKEN.sub(rewrite, line)


def _hexadecimal(literal: str, type_: str) -> str:
    bits = _bits(literal, type_)
    match type_:
        case "half":
            return f"0xH{bits:04X}"
        case "bfloat":
            return f"0xR{bits:04X}"
        case "float":
            return f"0x{_widen(bits):016X}"
        case _:
            return f"0x{bits:016X}"


def _bits(literal: str, type_: str) -> int:
    """The bit pattern of ``literal`` in ``type_``."""
    if literal.startswith("f0x"):
        return int(literal[3:], 16)
    exponent_bits, mantissa_bits = _FORMATS[type_]
    sign = (literal[0] == "-") << (exponent_bits + mantissa_bits)
    top = ((1 << exponent_bits) - 1) << mantissa_bits
    body = literal.lstrip("+-")
    if body == "inf":
        return sign | top
    if "nan" in body:
        quiet = 0 if body[0] == "s" else 1 << (mantissa_bits - 1)
        payload = int(body[body.index("0x") : -1], 16) if "(" in body else 0
        return sign | top | quiet | payload
    return sign | _encode(float(body), type_)


def _encode(value: float, type_: str) -> int:
    """The bits of a finite positive ``value``, rounded to nearest even."""
    match type_:
        case "half":
            return int.from_bytes(struct.pack("<e", value), "little")
        case "float":
            return int.from_bytes(struct.pack("<f", value), "little")
        case "double":
            return int.from_bytes(struct.pack("<d", value), "little")
        case _:
            wide = int.from_bytes(struct.pack("<f", value), "little")
            return (wide + 0x7FFF + ((wide >> 16) & 1)) >> 16


def _widen(bits: int) -> int:
    """An f32's bits as those of the f64 of equal value, which is how LLVM writes an f32; NaNs stay whole."""
    if (bits >> 23) & 0xFF == 0xFF:
        return (bits >> 31 << 63) | (0x7FF << 52) | ((bits & 0x7FFFFF) << 29)
    value: float = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
    return int.from_bytes(struct.pack("<d", value), "little")
