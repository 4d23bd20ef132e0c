"""Textual syntax of dialects: formats of ops, types and attributes, and their providers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Protocol

from tri_core.forks import cached_property
from tri_core.lazy_dataclasses import dataclass
from tri_core.text.notation import Functional, Operand, Part, Type, parse_format, walk

__all__ = ["DialectSyntax", "Fold", "Kind", "OpSyntax", "TypeSyntax", "add_syntax", "kinds", "op", "syntaxes"]

Attributes = dict[str, str]


class Kind(Protocol):
    """Format of an attribute's value, to and from the generic form's text."""

    def write(self, value: str) -> str:
        """The text of generic ``value``; ValueError when the syntax has none."""
        ...

    def read(self, text: str) -> str:
        """The generic value of ``text``; ValueError, saying what is expected, when it is none."""
        ...

    @property
    def token(self) -> str:
        """``word``, ``words`` (separated by ``|``), ``integer``, ``integers``, ``string`` or ``symbol``."""
        ...


@dataclass(frozen=True)
class Fold:
    """Attributes that are one here and several there: each side makes new attributes from the other's."""

    write: Callable[[Attributes], Attributes]
    read: Callable[[Attributes], Attributes]


@dataclass(frozen=True)
class OpSyntax:
    """One op.  ``format`` as in :mod:`.notation`, or None for MLIR's generic form with ``inline`` attributes.

    ``infer``: rules for types that the format leaves out, ``name=i32`` or ``name=rule(other)`` (see
    :mod:`.inference`).  ``order``: operands as the generic form has them, when not as the format has.
    ``defaults``: attributes in generic form that are left out when equal.  ``segments``: whether the generic
    form gives the sizes of groups of operands; None: when there is an optional operand or several variadic.
    ``name``: the op's name here; the key in the table is its name in the text.
    """

    format: str | None
    infer: str = ""
    order: str = ""
    defaults: Mapping[str, str] = field(default_factory=dict)
    segments: bool | None = None
    inline: tuple[str, ...] = ()
    fold: Fold | None = None
    partitions: Partitions | None = None

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the format."""
        return parse_format(self.format or "")

    @cached_property
    def operands(self) -> tuple[tuple[str, str], ...]:
        """(name, ``""``, ``"?"`` or ``"*"``) of each operand, as the generic form has them."""
        kinds = {
            p.name: "*" if p.many else "?" if optional else ""
            for p, optional in walk(self.parts)
            if isinstance(p, Operand)
        }
        return tuple((name, kinds[name]) for name in (self.order.split() or kinds))

    @cached_property
    def rules(self) -> tuple[tuple[str, str, str], ...]:
        """(name, rule or type, name it is made from or nothing)."""
        made = []
        for rule in self.infer.split():
            name, _, right = rule.partition("=")
            head, _, source = right.removesuffix(")").partition("(")
            known = {n for n, _ in self.operands} | set(self._typed)
            made.append((name, "same", right) if right in known else (name, head, source))
        return tuple(made)

    @cached_property
    def _typed(self) -> dict[str, bool]:
        """Names whose types the format gives, and whether there may be several."""
        return {p.name: p.many for p, _ in walk(self.parts) if isinstance(p, Type)}

    @cached_property
    def results(self) -> tuple[tuple[str, bool], ...]:
        """(name, several) of each result; empty also when the format gives them by ``^^``."""
        known = {n for n, _ in self.operands}
        inferred = dict.fromkeys((n for n, _, _ in self.rules), False)
        return tuple((n, many) for n, many in (self._typed | inferred).items() if n not in known)

    @cached_property
    def is_functional(self) -> bool:
        """True if the format has ``^^``."""
        return any(isinstance(p, Functional) for p, _ in walk(self.parts))

    @cached_property
    def has_segments(self) -> bool:
        """True if the generic form has ``operandSegmentSizes``."""
        if self.segments is not None:
            return self.segments
        some = [kind for _, kind in self.operands if kind]
        return "?" in some or len(some) > 1


op = OpSyntax


@dataclass(frozen=True)
class Partitions:
    """Generic form of an op whose regions run on different warps.

    ``holder``: the op that has the partitions' blocks; ``counts``: the attribute with their numbers of warps.
    """

    holder: str
    counts: str


@dataclass(frozen=True)
class TypeSyntax:
    """A type or attribute with parameters: what is in its angle brackets (or nothing), both ways.

    ``name`` is its name in the text (with ``!`` or ``#``), ``generic`` its name in generic form.  An attribute
    with an ``alias`` is written once, at the top, as ``#alias``.  Functions raise ValueError for what they refuse.
    """

    name: str
    generic: str = ""
    alias: str = ""
    write: Callable[[str], str] = lambda body: body
    read: Callable[[str], str] = lambda body: body


@dataclass(frozen=True)
class DialectSyntax:
    """The text of a dialect.

    ``names``: names of ops here whose name in the text is another one; both are read.  ``elsewhere``: ops here that the text
    has in another dialect, before layouts are given: that dialect's name and format.
    """

    namespace: str
    ops: Mapping[str, OpSyntax]
    types: tuple[TypeSyntax, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    elsewhere: Mapping[str, tuple[str, OpSyntax]] = field(default_factory=dict)


_syntaxes: dict[str, DialectSyntax] = {}


def add_syntax(syntax: DialectSyntax) -> None:
    """Register a dialect's text; ValueError when its namespace has another one already."""
    if _syntaxes.setdefault(syntax.namespace, syntax) is not syntax:
        raise ValueError(f"the text of dialect {syntax.namespace!r} is registered twice")


def syntaxes() -> Mapping[str, DialectSyntax]:
    """The registered dialects by namespace."""
    from tri_core.mlir import registry

    for namespace, module in list(registry.texts.items()):
        if namespace not in _syntaxes:
            importlib.import_module(module)
    return _syntaxes


def kinds() -> Mapping[str, Kind]:
    """The kinds of attributes of all dialects by name."""
    return {name: kind for syntax in list(syntaxes().values()) for name, kind in syntax.kinds.items()}
