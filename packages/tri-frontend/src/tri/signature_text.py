"""Signatures as command lines have them: ``*fp32:16, n=i32, 1024``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tri_core.errors import OptionError

if TYPE_CHECKING:
    from tri.kernel import Kernel

__all__ = ["literal", "parse_signature"]


def parse_signature(
    kernel: Kernel, text: str
) -> tuple[dict[str, str], dict[str, Any], dict[Any, Sequence[Sequence[Any]]]]:
    """The signature, constexprs and attributes of ``*fp32:16, n=i32, 1024``; OptionError for what is wrong."""
    entries = [e.strip() for e in text.split(",") if e.strip()]
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    attributes: dict[Any, Sequence[Sequence[Any]]] = {}
    for position, entry in enumerate(entries):
        name, value = _split(kernel, position, entry)
        type_, _, hint = value.partition(":")
        constant = literal(type_)
        if constant is not None or hint == "1":
            signature[name] = "constexpr"
            constants[name] = constant[0] if constant is not None else 1
            continue
        signature[name] = type_
        if hint:
            attributes[name] = [["tt.divisibility", _integer(hint, entry)]]
    defaults = {p.name: p.default for p in kernel.params if p.has_default and p.name not in signature}
    missing = [n for n in kernel.arg_names if n not in signature and n not in defaults]
    if missing:
        raise OptionError(
            f"the signature of {kernel.__name__} lacks {', '.join(missing)}",
            remedy=f"give --signature for all of {kernel.signature_text}, e.g. '*fp32:16, i32, 1024'",
        )
    return signature, {**defaults, **constants}, attributes


def _split(kernel: Kernel, position: int, entry: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    if equals:
        return name.strip(), value.strip()
    if position >= len(kernel.params):
        raise OptionError(f"the signature has more entries than {kernel.__name__}{kernel.signature_text}")
    return kernel.arg_names[position], entry


def literal(text: str) -> tuple[Any] | None:
    """A literal in a tuple; None for a type."""
    try:
        return (ast.literal_eval(text),)
    except (ValueError, SyntaxError):
        return None


def _integer(text: str, entry: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"{entry!r}: {text!r} is not a divisor", remedy="write *fp32:16") from None
