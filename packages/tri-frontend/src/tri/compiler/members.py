"""Rules of attributes: of values, modules and Python objects."""

from __future__ import annotations

import ast
import inspect
import types as python_types
from typing import TYPE_CHECKING, Any

from tri.compiler.rules import rule
from tri.compiler.scope import is_usable_global, near
from tri.kernel import Kernel
from tri.language.builtin import is_builtin
from tri.language.constexpr import constexpr, tuple_type, unwrap
from tri.language.later import LATER_METHODS
from tri.language.python_values import BoundMethod, wrap
from tri.language.structure import Structure
from tri.language.tensor import tensor
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from tri.compiler.generator import Generator

__all__ = ["attribute_of", "member_of"]


@rule(ast.Attribute)
def attribute(g: Generator, node: ast.Attribute) -> Any:
    """``x.name``, of values, modules and Python objects."""
    owner = g.visit(node.value)
    return attribute_of(g, owner, node.attr)


def attribute_of(g: Generator, owner: Any, attr: str) -> Any:
    """``owner.attr`` of any value of the language."""
    if isinstance(owner, tensor):
        return _tensor_attribute(g, owner, attr)
    if isinstance(owner, constexpr) and attr == "value":
        return owner
    if isinstance(owner, Structure):
        method = member_of(owner, attr)
        if method is not None:
            return method
    if isinstance(owner, (constexpr, tuple)) and attr == "type" and not hasattr(unwrap(owner), attr):
        return wrap(owner.type if isinstance(owner, constexpr) else tuple_type.of(owner))
    holder = owner.value if isinstance(owner, constexpr) else owner
    try:
        value = getattr(holder, attr)
    except AttributeError:
        raise _no_attribute(holder, attr) from None
    if isinstance(holder, python_types.ModuleType):
        return _module_attribute(holder, attr, value)
    return wrap(value)


def _tensor_attribute(g: Generator, owner: tensor, attr: str) -> Any:
    if attr == "T":
        attr = "trans"
        return getattr(tensor, attr)(owner, _semantic=g.b)
    member = getattr(tensor, attr, None)
    if isinstance(member, Kernel) or is_builtin(member):
        return BoundMethod(owner, member)
    if attr in ("dtype", "type", "shape", "numel"):
        return wrap(getattr(owner, attr))
    if attr in LATER_METHODS:
        raise Unsupported(f"tensor.{attr} is not built in this version", remedy=LATER_METHODS[attr])
    known = [n for n in dir(tensor) if not n.startswith("_")]
    raise CompilationError(f"a tensor has no attribute {attr!r}", remedy=near(attr, known))


def _module_attribute(module: python_types.ModuleType, attr: str, value: Any) -> Any:
    if is_usable_global(value) or callable(value):
        return value
    return wrap(value)


def _no_attribute(holder: Any, attr: str) -> CompilationError | Unsupported:
    name = getattr(holder, "__name__", type(holder).__name__)
    later = getattr(holder, "__later__", {})
    if attr in later:
        return Unsupported(f"{name}.{attr} is not built in this version", remedy=later[attr])
    remedy = near(attr, [n for n in dir(holder) if not n.startswith("_")])
    fields = getattr(holder, "_fields", None) or getattr(holder, "__tri_fields__", None)
    if remedy is None and fields:
        remedy = f"its fields are {', '.join(fields)}"
    return CompilationError(f"{name} has no attribute {attr!r}", remedy=remedy)


def member_of(owner: Any, name: str) -> BoundMethod | None:
    """A method that the class of the structure ``owner`` defines, bound to it; None when there is none."""
    found = inspect.getattr_static(type(owner), name, None)
    if isinstance(found, Kernel) or is_builtin(found) or inspect.isfunction(found):
        return BoundMethod(owner, found)
    return None
