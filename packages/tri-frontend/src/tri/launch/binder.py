"""The binder: one generated function per kernel that reads its arguments and makes the specialization key.

For ``kernel(x_ptr, n, BLOCK: tl.constexpr = 64)`` it is::

    def _bind(x_ptr, n, BLOCK=_default2, **_options):
        _v0, _f0 = _readers0[_type(x_ptr)](x_ptr)
        _v1, _f1 = _readers1[_type(n)](n)
        _f2 = BLOCK if _type(BLOCK) is _int else _fact(BLOCK)
        return (_f0, _f1, _f2), (_v0, _v1), _options

All names but the kernel's begin with underscores, more of them than any parameter does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tri.kernel import Kernel, KernelParameter
from tri.language.types import ALL_DTYPES
from tri.launch.readers import Rules, readers, static_fact
from tri_core.errors import LaunchError

__all__ = ["Binder", "make_binder", "refuse_keywords", "rules_of"]

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


def make_binder(function: Kernel, divisibility: int, equal_to_one: bool, small_array: int = 0) -> Binder:
    """The binder of ``function`` for targets that specialize so; see :class:`tri_core.abi.KernelABI`."""
    refuse_keywords(function)
    own = _prefix([p.name for p in function.params])
    names: dict[str, Any] = {f"{own}type": type, f"{own}int": int, f"{own}fact": static_fact}
    body: list[str] = []
    values: list[str] = []
    for parameter in function.params:
        i, name = parameter.num, parameter.name
        if parameter.is_constexpr:
            body.append(f"{own}f{i} = {name} if {own}type({name}) is {own}int else {own}fact({name})")
            continue
        names[f"{own}readers{i}"] = readers(rules_of(parameter, divisibility, equal_to_one, small_array))
        body.append(f"{own}v{i}, {own}f{i} = {own}readers{i}[{own}type({name})]({name})")
        values.append(f"{own}v{i}")
    facts = _tuple([f"{own}f{p.num}" for p in function.params])
    body.append(f"return {facts}, {_tuple(values)}, {own}options")
    text = f"def {own}bind({_parameters(function.params, names, own)}):\n    " + "\n    ".join(body)
    exec(compile(text, f"<binder of {function.__name__}>", "exec"), names)
    binder: Binder = names[f"{own}bind"]
    return binder


def _prefix(taken: Sequence[str]) -> str:
    """Prefix of the binder's own names that none of the ``taken`` names has."""
    prefix = "_"
    while any(name.startswith(prefix) for name in taken):
        prefix += "_"
    return prefix


def refuse_keywords(function: Kernel) -> None:
    """LaunchError for a function that takes keywords of any name."""
    for parameter in function.params:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            raise LaunchError(
                f"{function.__name__} takes **{parameter.name}; kernels have no variable keywords",
                remedy="name the parameters, or pass a named tuple",
            )


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _parameters(params: Sequence[KernelParameter], names: dict[str, Any], own: str) -> str:
    """The parameter list; defaults are put into ``names``, which begin with ``own``."""
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
            names[f"{own}default{parameter.num}"] = parameter.default
            text += f"={own}default{parameter.num}"
        shown.append(text)
    return ", ".join([*shown, f"**{own}options"])


def rules_of(
    parameter: KernelParameter, divisibility: int = 16, equal_to_one: bool = True, small_array: int = 0
) -> Rules:
    """Rules by which arguments of ``parameter`` are read; those of usual targets by default."""
    type_ = _annotated_type(parameter.annotation)
    return Rules(
        divisibility=divisibility,
        equal_to_one=equal_to_one,
        small_array=small_array,
        alignment=not parameter.do_not_specialize_on_alignment,
        values=not parameter.do_not_specialize,
        type=type_,
    )
