"""The text of each stub: what a module of the language holds, name by name."""

from __future__ import annotations

import importlib
import inspect
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import tri.language as tl
from integration.stubs.signatures import annotation, is_language_function, overloads
from tri.language.block_pointers import block_pointer
from tri.language.descriptors import tensor_descriptor, tensor_descriptor_base
from tri.language.libdevice import FUNCTIONS
from tri.language.libdevice.table import SIGNATURES
from tri.language.target_info import _triton_questions

__all__ = ["MODULES", "stub"]

_NOTE = "# Made by `python -m integration.stubs` from the language's own functions: do not edit.\n"
#: modules of the language with functions that kernels call; each has its stub beside it
MODULES = (
    "tri.language",
    "tri.language.core",
    "tri.language.extra.libdevice",
    "tri.language.math",
    "tri.language.random",
    "tri.language.standard",
    "tri.language.target_info",
)
_IMPORTS = """\
import builtins as _builtins
import os
from collections.abc import Callable as _Callable
from collections.abc import Iterator as _Iterator
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import Literal as _Literal
from typing import TypeAlias as _TypeAlias
from typing import overload as _overload
"""
#: a name that is any type where it annotates and a class where it is called: what is known while compiling may be
#: any value of Python.  mypy, which takes MYPY for true, reads the alias; pyright, which knows os.name, the class, whose
#: decorator it heeds
_CONSTEXPR = '''\
def _known_while_compiling(cls: _Any) -> _Any: ...

MYPY: bool
if MYPY:
    if os.name == "none":
        constexpr: _TypeAlias = _Any
else:
    @_known_while_compiling
    class constexpr:
        """{doc}"""
        value: _Any
        def __init__(self, value: _Any) -> None: ...
'''


def stub(name: str) -> str:
    """The text of the stub of module ``name``."""
    if name == "tri.language":
        return _NOTE + "\n".join(_language())
    if name == "tri.language.core":
        return f"{_NOTE}from typing import Any as _Any\n\nfrom tri.language import *\n\ndef __getattr__(name: str) -> _Any: ...\n"
    if name == "tri.language.target_info":
        return _NOTE + _target_info()
    if name == "tri.language.extra.libdevice":
        return _NOTE + _libdevice()
    return _NOTE + "\n".join(_functions_of(importlib.import_module(name)))


# --- the language itself ----------------------------------------------------------------------------------


def _language() -> Iterator[str]:
    yield _IMPORTS
    modules = [n for n in tl.__all__ if isinstance(getattr(tl, n), ModuleType)]
    for name in modules:
        yield f"from tri.language import {name} as {name}"
    yield from _imported()
    yield ""
    yield f"__all__ = [{', '.join(map(repr, tl.__all__))}]\n"
    yield "from builtins import slice as slice\nfrom builtins import tuple as tuple"
    yield _CONSTEXPR.format(doc=inspect.getdoc(tl.constexpr))
    yield _class(tl.tensor, {"T": "tensor", "type": "_dtype"})
    yield _class(
        tensor_descriptor_base, {"shape": _TENSORS, "strides": _TENSORS, "type": "_tensor_descriptor_type"}
    )
    yield f'class tensor_descriptor(tensor_descriptor_base):\n    """{inspect.getdoc(tensor_descriptor)}"""\n'
    parts = dict.fromkeys(("shape", "strides", "offsets"), _TENSORS)
    yield _class(block_pointer, {"base": "tensor", **parts, "block_shape": "constexpr", "order": "constexpr"})
    for name in ("range", "static_range", "condition"):
        yield _loop(name)
    for name in tl.__all__:
        value = getattr(tl, name)
        if is_language_function(value):
            yield _function(name, value)
        elif isinstance(value, tl.dtype):
            yield f"{name}: {type(value).__name__}"
        elif isinstance(value, int):
            yield f"{name}: int"


_TENSORS = "_builtins.tuple[tensor, ...]"


def _imported() -> Iterator[str]:
    """Names that look to callers as they are: types, decorators, plain functions."""
    made = {"constexpr", "tensor", "tensor_descriptor", "block_pointer", "range", "static_range", "condition"}
    for name in sorted({*tl.__all__, "tensor_descriptor_type"} - made - {"tuple", "slice"}):
        value = (
            getattr(tl, name, None) or importlib.import_module("tri.language.types").tensor_descriptor_type
        )
        if is_language_function(value) or isinstance(value, (ModuleType, tl.dtype, int)):
            continue
        yield f"from {value.__module__} import {value.__name__} as {name}"
    for name in ("block_type", "dtype", "pointer_type", "tensor_descriptor_type"):
        yield f"from tri.language.types import {name} as _{name}"


def _loop(name: str) -> str:
    class_ = getattr(tl, name)
    parameters = ", ".join(
        f"{p.name}: {'_Any' if p.annotation == 'Any' else p.annotation}"
        + ("" if p.default is p.empty else f" = {p.default!r}")
        for p in inspect.signature(class_).parameters.values()
    )
    lines = [
        f"class {name}:",
        f'    """{inspect.getdoc(class_)}"""',
        f"    def __init__(self, {parameters}) -> None: ...",
    ]
    if name == "condition":
        lines.append("    def __bool__(self) -> bool: ...")
    else:
        lines.append(
            f"    def __iter__(self) -> _Iterator[{'tensor' if name == 'range' else 'constexpr'}]: ..."
        )
    return "\n".join(lines) + "\n"


def _class(class_: type, attributes: dict[str, str]) -> str:
    """A class of the language: its methods as kernels call them."""
    lines = [f"class {class_.__name__}:", f'    """{inspect.getdoc(class_)}"""']
    lines += [f"    {name}: {type_}" for name, type_ in attributes.items()]
    for name in dir(class_):
        value = inspect.getattr_static(class_, name)
        if name in attributes or name == "__not__" or (name.startswith("_") and not name.startswith("__")):
            continue
        if is_language_function(value):
            lines.append(_function(name, value, indent="    "))
        elif isinstance(value, property):
            lines.append(f"    @property\n    def {name}(self) -> {_property(value)}: ...")
        elif name in ("__bool__", "__int__", "__float__", "__index__") and name in vars(class_):
            lines.append(f"    def {name}(self) -> {_CONVERSIONS[name]}: ...")
    if "__eq__" in vars(class_):
        lines.append("    def __hash__(self) -> int: ...")
    return "\n".join(lines) + "\n"


_CONVERSIONS = {"__bool__": "bool", "__int__": "int", "__float__": "float", "__index__": "int"}


def _property(value: property) -> str:
    assert value.fget is not None
    return annotation(inspect.signature(value.fget).return_annotation)


def _function(name: str, value: Any, indent: str = "") -> str:
    found = list(overloads(name, value, method=bool(indent)))
    doc = inspect.getdoc(value) or ""
    doc = textwrap.indent(doc, "    ").strip() if "\n" in doc else doc
    return "\n".join(
        each.text(name, doc, indent, overload=len(found) > 1, last=i == len(found) - 1)
        for i, each in enumerate(found)
    )


# --- its modules ------------------------------------------------------------------------------------------


def _functions_of(module: ModuleType) -> Iterator[str]:
    yield f"{_IMPORTS}\nfrom tri.language import constexpr, tensor\nfrom tri.language.types import dtype as _dtype"
    names = [n for n in module.__all__ if is_language_function(getattr(module, n))]
    shared = [n for n in names if getattr(tl, n, None) is getattr(module, n)]
    for name in shared:
        yield f"from tri.language import {name} as {name}"
    yield f"\n__all__ = [{', '.join(map(repr, names))}]\n"
    for name in names:
        if name not in shared:
            yield _function(name, getattr(module, name))


def _libdevice() -> str:
    lines = ["from typing import Any as _Any\n", "from tri.language import tensor\n"]
    lines.append(f"__all__ = [{', '.join(map(repr, sorted(FUNCTIONS)))}]\n")
    for name, function in sorted(FUNCTIONS.items()):
        parameters = ", ".join(f"arg{i}: _Any" for i in range(len(SIGNATURES[name][0][0])))
        lines.append(f'def {name}({parameters}, /) -> tensor:\n    """{inspect.getdoc(function)}"""')
    return "\n".join(lines) + "\n"


def _target_info() -> str:
    lines = ["from typing import Any as _Any\n", "from tri_core.target import TargetKey\n"]
    lines.append(
        'def current_target() -> TargetKey:\n    """The target: its ``backend``, ``arch`` and ``features``."""'
    )
    lines += [f"def {name}(*args: _Any) -> bool: ..." for name in sorted(_triton_questions())]
    return "\n".join([*lines, "def __getattr__(name: str) -> _Any: ...\n"])
