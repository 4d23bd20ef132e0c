"""The binder: one generated function per kernel that reads its arguments and makes the specialization key.

For ``kernel(x_ptr, n, BLOCK: tl.constexpr = 64)`` it is::

    def bind(x_ptr, n, BLOCK=BLOCK_default, **options):
        v0, f0 = readers0[type(x_ptr)](x_ptr)
        v1, f1 = readers1[type(n)](n)
        f2 = BLOCK if type(BLOCK) is int else static_fact(BLOCK)
        return (f0, f1, f2), (v0, v1), options

A name of the binder's own that a parameter has as well gets underscores behind it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tri.jit import JITFunction, KernelParameter
from tri.language.types import ALL_DTYPES
from tri.launch.readers import Rules, readers, static_fact
from tri_core.errors import LaunchError

__all__ = ["Binder", "make_binder", "rules_of"]

#: arguments to (facts of all parameters, values of those that are not constexpr, options)
Binder = Callable[..., tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]]

#: annotations that fix a parameter's type, in all spellings
_ANNOTATED: dict[str, str] = {
    **{t.codegen_name(): t.mangle() for t in ALL_DTYPES},
    **{t.mangle(): t.mangle() for t in ALL_DTYPES},
    "int": "i32",
    "float": "fp32",
    "bool": "u1",
}


def _annotated_type(text: str) -> str:
    """The type that an annotation says as a signature writes it (``i64``, ``*fp32``); empty for none."""
    text = text.strip().removeprefix("tl.").removeprefix("const ").strip()
    if text.startswith("*") or text.endswith("*"):
        inner = text.strip("* ").removeprefix("k") if text.startswith("*k") else text.strip("* ")
        element = _annotated_type(inner)
        return f"*{element}" if element else ""
    return _ANNOTATED.get(text.rsplit(".", 1)[-1].removesuffix("_t"), "")


def make_binder(function: JITFunction, divisibility: int, equal_to_one: bool) -> Binder:
    """The binder of ``function`` for targets that specialize by ``divisibility`` and ``equal_to_one``."""
    _refuse_keywords(function)
    own = _Names(frozenset(p.name for p in function.params))
    names: dict[str, Any] = {own("static_fact"): static_fact, own("type"): type, own("int"): int}
    body: list[str] = []
    for parameter in function.params:
        i, name = parameter.num, parameter.name
        value, fact, reader = own(f"v{i}"), own(f"f{i}"), own(f"readers{i}")
        if parameter.is_constexpr:
            static = f"{name} if {own('type')}({name}) is {own('int')} else {own('static_fact')}({name})"
            body.append(f"{fact} = {static}")
            continue
        names[reader] = readers(rules_of(parameter, divisibility, equal_to_one))
        body.append(f"{value}, {fact} = {reader}[{own('type')}({name})]({name})")
    facts = _tuple([own(f"f{p.num}") for p in function.params])
    values = _tuple([own(f"v{p.num}") for p in function.params if not p.is_constexpr])
    body.append(f"return {facts}, {values}, {own('options')}")
    bind = own("bind")
    text = f"def {bind}({_parameters(function.params, names, own)}):\n    " + "\n    ".join(body)
    exec(compile(text, f"<binder of {function.__name__}>", "exec"), names)
    binder: Binder = names[bind]
    return binder


@dataclass(frozen=True)
class _Names:
    """Names for the binder's own variables, none of which a parameter has."""

    taken: frozenset[str]

    def __call__(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        return name


def _refuse_keywords(function: JITFunction) -> None:
    for parameter in function.params:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            raise LaunchError(
                f"{function.__name__} takes **{parameter.name}; kernels have no variable keywords",
                remedy="name the parameters, or pass a named tuple",
            )


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _parameters(params: Sequence[KernelParameter], names: dict[str, Any], own: _Names) -> str:
    """The parameter list; defaults are put into ``names``."""
    shown = []
    keyword_only = False
    for parameter in params:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            keyword_only = True
            shown.append(f"*{parameter.name}")
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            shown.append("*")
        text = parameter.name
        if parameter.has_default:
            default = own(f"default{parameter.num}")
            names[default] = parameter.default
            text += f"={default}"
        shown.append(text)
    return ", ".join([*shown, f"**{own('options')}"])


def rules_of(parameter: KernelParameter, divisibility: int = 16, equal_to_one: bool = True) -> Rules:
    """How arguments of ``parameter`` are read; the rules of usual targets unless told otherwise."""
    type_ = _annotated_type(parameter.annotation)
    return Rules(
        divisibility=divisibility,
        equal_to_one=equal_to_one,
        alignment=not parameter.do_not_specialize_on_alignment,
        values=not parameter.do_not_specialize,
        type=type_,
    )
