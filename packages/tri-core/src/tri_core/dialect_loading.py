"""The loading of dialects that are written in Python into the MLIR context, whole or what was defined since.

A dialect's definitions are in several modules, and one of these may be imported after the dialect was loaded; the
bindings load a dialect once, and what is defined later would be unknown to the context.
"""

from __future__ import annotations

import sys
from typing import Any

from tri_core.bindings import ROOT, ext, ir
from tri_core.ir.walking import walk

__all__ = ["LoadedDialects"]


class LoadedDialects:
    """The dialects that a context has, and how many of their definitions.

    Whoever calls holds the lock on IR; the context is the current one, and so is a location.
    """

    def __init__(self) -> None:
        self._sizes: dict[type[ext.Dialect], tuple[int, int, int]] = {}

    def load(self, dialect: type[ext.Dialect], context: ir.Context) -> None:
        """Load ``dialect`` with all that is defined of it so far."""
        # the bindings look for a module of each dialect they meet, again for every op while they find none (8 us)
        module = f"{ROOT}.dialects.{dialect.DIALECT_NAMESPACE}"
        sys.modules.setdefault(module, sys.modules[dialect.__module__])
        if dialect in self._sizes:
            return  # registered again: `extend` loads what the context lacks
        self._sizes[dialect] = _size(dialect)
        if not context.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
            dialect.load()

    def grown(self) -> list[type[ext.Dialect]]:
        """Those with definitions that the context lacks."""
        return [dialect for dialect, size in self._sizes.items() if _size(dialect) != size]

    def extend(self, dialect: type[ext.Dialect]) -> None:
        """Load what was defined of ``dialect`` since; ValueError for a second definition of a name.

        As for a dialect, a failure is told once.
        """
        types, attributes, operations = self._sizes[dialect]
        self._sizes[dialect] = _size(dialect)
        _check_names(dialect.types, types)
        _check_names(dialect.attributes, attributes)
        _check_names(dialect.operations, operations)
        _extend(
            dialect, dialect.types[types:], dialect.attributes[attributes:], dialect.operations[operations:]
        )


def _size(dialect: type[ext.Dialect]) -> tuple[int, int, int]:
    return len(dialect.types), len(dialect.attributes), len(dialect.operations)


def _full_name(definition: Any) -> str:
    """As in MLIR's generic text, with the mark of a type or an attribute."""
    if issubclass(definition, ext.Type):
        return f"!{definition.type_name}"
    return f"#{definition.attr_name}" if issubclass(definition, ext.Attribute) else definition.OPERATION_NAME


def _check_names(definitions: list[Any], known: int) -> None:
    """MLIR ends the process when a name is defined twice."""
    names = {_full_name(each) for each in definitions[:known]}
    for each in definitions[known:]:
        name = _full_name(each)
        if name in names:
            raise ValueError(f"{name!r} is defined twice, the last time in {each.__module__}")
        names.add(name)


def _extend(
    dialect: type[ext.Dialect], types: list[Any], attributes: list[Any], operations: list[Any]
) -> None:
    """As ``ext.Dialect.load``, for some of the definitions of a dialect that is loaded."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        body = ext.irdl.dialect(dialect.DIALECT_NAMESPACE).body
    with ir.InsertionPoint(body):
        for each in types:
            each._emit_type()
        for each in attributes:
            each._emit_attr()
        for each in operations:
            each._emit_operation()
    _name_loaded(module, dialect, {each._name for each in (*types, *attributes)})
    module.operation.verify()
    ext.irdl.load_dialects(module)
    for each in operations:
        each._attach_traits()
        ext._cext.register_operation(dialect, replace=True)(each)
        ext._cext.register_op_adaptor(each, replace=True)(each.Adaptor)
    for each in types:
        ext._cext.register_type_caster(ir.DynamicType.lookup_typeid(each.type_name), replace=True)(each)
    for each in attributes:
        ext._cext.register_type_caster(ir.DynamicAttr.lookup_typeid(each.attr_name), replace=True)(each)


def _name_loaded(module: ir.Module, dialect: type[ext.Dialect], emitted: set[str]) -> None:
    """Have constraints say by name what the context has already: a symbol of it is not in ``module``."""
    names = {each._name: _full_name(each) for each in (*dialect.types, *dialect.attributes)}

    def visit(op: ir.Operation) -> ir.WalkResult:
        for key in ("base_ref", "base_type"):
            if key not in op.attributes or (name := op.attributes[key].value[-1]) in emitted:
                continue
            if key == "base_type":  # IRDL has no such constraint by name
                raise ValueError(
                    f"a definition that was made after {dialect.DIALECT_NAMESPACE!r} was loaded asks for parameters of {names[name]}"
                )
            del op.attributes[key]
            op.attributes["base_name"] = ir.StringAttr.get(names[name])
        return ir.WalkResult.ADVANCE

    walk(module.operation, visit)
