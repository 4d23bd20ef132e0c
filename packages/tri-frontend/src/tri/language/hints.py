"""Hints that plugins declare: modifiers of loads and stores, scopes of ``with`` statements; functions under ``tl.extra``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from tri.interpreting import current
from tri.language.builtin import builtin
from tri.language.tensor import tensor
from tri_core.errors import CompilationError, Unsupported
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.hint_records import AccessModifier, Scope
    from tri_core.mlir import ir
    from tri_core.plugin_records import LanguageExtension

__all__ = [
    "ModifierHint",
    "ScopeHint",
    "attribute_of",
    "check_target",
    "expect_scope",
    "modifier",
    "modifier_attributes",
    "scope",
]

#: the backend of what an interpreted kernel's types are compared for
_NEUTRAL = "interpreter"
#: the value of a scope that takes none
_NOTHING = object()


@dataclass(frozen=True)
class ModifierHint:
    """Modifier ``name`` (``acme.cache``) with a legal value, for ``accesses``: what ``modifiers=`` takes."""

    name: str
    value: str | int
    accesses: tuple[str, ...]


@dataclass(frozen=True)
class ScopeHint:
    """Scope ``name`` (``acme.priority``): operations called ``ops`` that are made in it carry ``value``; None: that they are in it."""

    name: str
    value: str | int | None
    ops: tuple[str, ...]
    interpreted: Callable[..., AbstractContextManager[Any]] | None = None

    def entered(self) -> AbstractContextManager[Any]:
        """Context of the statements inside where a kernel is interpreted."""
        if self.interpreted is None:
            return nullcontext()
        return self.interpreted(*(() if self.value is None else (self.value,)))


# --- functions of a namespace -----------------------------------------------------------------------------


def modifier(extension: LanguageExtension, name: str, record: AccessModifier) -> Callable[..., Any]:
    """The function ``tl.extra.acme.name``, which makes a modifier of its value."""

    def make(value: Any, *, _semantic: Builder) -> ModifierHint:
        what = f"tl.extra.{extension.namespace}.{name}"
        check_target(extension, what, _semantic)
        return ModifierHint(
            f"{extension.namespace}.{name}", _legal(what, value, record.values), record.accesses
        )

    return _named(make, extension, name)


def scope(extension: LanguageExtension, name: str, record: Scope) -> Callable[..., Any]:
    """The function ``tl.extra.acme.name``, which makes what ``with`` takes."""

    def make(value: Any = _NOTHING, *, _semantic: Builder) -> ScopeHint:
        what = f"tl.extra.{extension.namespace}.{name}"
        check_target(extension, what, _semantic)
        full = f"{extension.namespace}.{name}"
        if not record.values and value is _NOTHING:
            return ScopeHint(full, None, record.ops, record.interpreted)
        if value is _NOTHING:
            raise CompilationError(f"{what} takes a value", remedy=_choices(record.values))
        if not record.values:
            raise CompilationError(f"{what} takes no value", remedy=f"write {what}()")
        return ScopeHint(full, _legal(what, value, record.values), record.ops, record.interpreted)

    return _named(make, extension, name)


def _named(make: Callable[..., Any], extension: LanguageExtension, name: str) -> Callable[..., Any]:
    make.__name__ = make.__qualname__ = f"extra.{extension.namespace}.{name}"
    return builtin(make)


def _legal(what: str, value: Any, values: Sequence[str | int]) -> str | int:
    """``value``, which is one of ``values`` and of their type; CompilationError otherwise."""
    if isinstance(value, tensor):
        raise CompilationError(f"{what} takes a constexpr, got {value.type}", remedy=_choices(values))
    for known in values:
        if type(value) is type(known) and value == known:
            return known
    raise CompilationError(f"{what} has no value {value!r}", remedy=_choices(values))


def _choices(values: Sequence[str | int]) -> str:
    return f"use one of {', '.join(map(repr, values))}"


def check_target(extension: LanguageExtension, what: str, b: Builder) -> None:
    """Unsupported where the kernel is compiled for a backend that ``extension`` is not of; an interpreted one takes everything."""
    backend = b.target.key.backend
    if current() is None and extension.targets and backend not in (*extension.targets, _NEUTRAL):
        raise Unsupported(
            f"{what} on {b.target.key}",
            remedy=f"it is for {', '.join(extension.targets)}: use it under a condition on tl.target_info.current_target().backend",
        )


def expect_scope(value: Any) -> ScopeHint:
    """``value``, which is a scope of a plugin: what ``with`` takes in a kernel; CompilationError otherwise."""
    if isinstance(value, ScopeHint):
        return value
    raise CompilationError(
        "with takes a scope that a plugin declares, nothing else", remedy="write its body without it"
    )


# --- what operations carry --------------------------------------------------------------------------------


def modifier_attributes(b: Builder, given: Any, access: str) -> Mapping[str, ir.Attribute]:
    """The attributes for ``modifiers=given`` of a load or store (``access``), one modifier or a tuple of them.

    CompilationError for anything else, for a modifier that is not for such accesses, and for one that is given twice.
    """
    found: dict[str, ir.Attribute] = {}
    for hint in given if isinstance(given, (tuple, list)) else (given,):
        if not isinstance(hint, ModifierHint):
            raise CompilationError(
                f"modifiers of a {access} are {given!r}",
                remedy="give what a plugin's modifiers make, e.g. tl.extra.acme.cache(...), or a tuple of these",
            )
        if access not in hint.accesses:
            raise CompilationError(
                f"the modifier {hint.name} is not for a {access}",
                remedy=f"use it for {', '.join(hint.accesses)}",
            )
        if hint.name in found:
            raise CompilationError(f"the modifier {hint.name} is given twice", remedy="give it once")
        found[hint.name] = attribute_of(b, hint.value)
    return found


def attribute_of(b: Builder, value: str | int | None) -> ir.Attribute:
    """The attribute of a hint's value."""
    if value is None:
        return b.unit()
    if isinstance(value, bool):
        return b.boolean(value)
    return b.string(value) if isinstance(value, str) else b.i32(value)
