"""Build unit: a kernel under a C name, from a signature as on the command line."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tri.aot.grids import names_in
from tri.aot.manifest import CParameter
from tri.aot.names import checked_name, is_plain
from tri.signature_text import parse_signature
from tri_core.errors import OptionError, Unsupported
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.jit import JITFunction

__all__ = ["CTYPES", "AotSource", "check_grid", "parse"]

#: C's types of scalars; a Boolean is 0 or 1
CTYPES: dict[str, str] = {
    "i1": "uint8_t",
    "u1": "uint8_t",
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    "fp32": "float",
    "fp64": "double",
}
#: names of the C function's own
_TAKEN = frozenset(("stream", "grid_x", "grid_y", "grid_z"))


@dataclass(frozen=True)
class AotSource:
    """A kernel to build: its C function's name, the source, all run-time parameters, and the constants."""

    function: str
    source: ASTSource
    parameters: tuple[CParameter, ...]
    constants: Mapping[str, Any]


def parse(
    kernel: JITFunction,
    signature: str,
    *,
    pointer: str,
    name: str | None = None,
    salt: str = "",
    suffix: str = "",
) -> AotSource:
    """``kernel`` for ``"*fp32:16, i32, 1024"``: types with hints, values of constexprs.

    The C name is ``name`` (the kernel's own if None) with a hash of types, hints, constants and ``salt``, so
    that several versions go into one program; the kernel's own symbol has ``suffix`` as well.  ``pointer``:
    the C type of a pointer.
    """
    from tri.compiler.source import ASTSource

    _check_names(kernel)
    types, constants, attributes = parse_signature(kernel, signature)
    folded = _folded(kernel, signature)
    parameters = []
    for parameter in kernel.params:
        if parameter.name in folded:
            type_ = folded[parameter.name]
            parameters.append(CParameter(parameter.name, type_, _ctype(parameter.name, type_, pointer), 1, 1))
        elif parameter.name not in constants:
            type_ = types[parameter.name]
            hint = next((int(v) for n, v in attributes.get(parameter.name, ()) if n == "tt.divisibility"), 1)
            parameters.append(CParameter(parameter.name, type_, _ctype(parameter.name, type_, pointer), hint))
    source = ASTSource(kernel, types, constants, attributes)
    facts = (
        sorted(types.items()),
        sorted(constants.items(), key=str),
        sorted(attributes.items(), key=str),
        salt,
    )
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:8]
    # the symbol of the kernel: two versions of it must be able to meet in one program
    function = f"{checked_name(kernel.__name__ if name is None else name)}_{digest}"
    source.name = function + suffix
    shown = {n: v for n, v in constants.items() if n not in folded}
    return AotSource(function, source, tuple(parameters), shown)


def _check_names(kernel: JITFunction) -> None:
    for parameter in kernel.params:
        name = parameter.name
        if name in _TAKEN or not is_plain(name) or name.lower().startswith(("tri_", "_")):
            raise OptionError(
                f"{kernel.__name__}: no parameter of a C function can be called {name!r}",
                remedy="give the kernel's parameter another name",
            )


def _folded(kernel: JITFunction, signature: str) -> dict[str, str]:
    """The type of every parameter that the signature says is 1 (``i32:1``)."""
    found: dict[str, str] = {}
    for position, entry in enumerate(e.strip() for e in signature.split(",") if e.strip()):
        name, equals, value = entry.partition("=")
        name, value = (name.strip(), value.strip()) if equals else (kernel.arg_names[position], entry)
        type_, _, hint = value.partition(":")
        if hint == "1" and type_ in CTYPES:
            found[name] = type_
    return found


def _ctype(name: str, type_: str, pointer: str) -> str:
    if type_.startswith("*"):
        return pointer
    found = CTYPES.get(type_)
    if found is None:
        raise Unsupported(
            f"parameter {name!r} is a {type_} by value, which C has no type for",
            remedy=f"pass a pointer to it, or one of {', '.join(CTYPES)}",
        )
    return found


def check_grid(text: str, source: AotSource) -> tuple[tuple[str, str, str], dict[str, int]]:
    """Three C expressions from ``"(n + 1023) / 1024, 1, 1"``, and the constants that they use.

    OptionError for more than three, for what is no arithmetic, and for names that are no parameters.
    """
    parts = [part.strip() for part in text.split(",")]
    if not 1 <= len(parts) <= 3 or not all(parts):
        raise OptionError(f"the grid {text!r} has not 1 to 3 parts", remedy="e.g. '(n + 1023) / 1024, 1, 1'")
    known = {p.name for p in source.parameters if not p.is_pointer}
    integers = {n: v for n, v in source.constants.items() if isinstance(v, int)}
    used: dict[str, int] = {}
    for part in parts:
        for name in names_in(part):
            if name in integers and abs(integers[name]) < 1 << 31:
                used[name] = int(integers[name])
            elif name in integers:
                raise OptionError(
                    f"{name} = {integers[name]} in the grid is beyond 31 bits", remedy="pass a smaller one"
                )
            elif name not in known:
                choices = ", ".join(sorted({*known, *integers}))
                raise OptionError(f"the grid names {name!r}", remedy=f"it may name {choices or 'nothing'}")
    x, y, z = [*parts, "1", "1"][:3]
    return (x, y, z), used
