"""Functions, calls, programs and what they end with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tri_core.dialects.tt.constraints.vocabulary import Constraint, View, boolean, integer, kind, scalar
from tri_core.mlir import ir

__all__ = ["CONSTRAINTS"]

_VISIBILITIES = ("public", "private", "nested")


def _function(view: View) -> str | None:
    type_ = ir.TypeAttr(view.op.attributes["function_type"]).value
    if not isinstance(type_, ir.FunctionType):
        return f"expects attribute function_type to be a function type; got {type_}"
    blocks = list(view.op.regions[0].blocks)
    if not blocks:
        return None  # a declaration
    arguments = [argument.type for argument in blocks[0].arguments]
    if arguments != type_.inputs:
        return f"expects a body with arguments {_list(type_.inputs)}; got {_list(arguments)}"
    return None


def _function_attributes(view: View) -> str | None:
    attributes = view.op.attributes
    type_ = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
    for name, values in (("arg_attrs", type_.inputs), ("res_attrs", type_.results)):
        if name in attributes and len(ir.ArrayAttr(attributes[name])) != len(values):
            count = len(ir.ArrayAttr(attributes[name]))
            return f"expects attribute {name} to have {len(values)} dictionaries; got {count}"
    if "sym_visibility" in attributes:
        visibility = ir.StringAttr(attributes["sym_visibility"]).value
        if visibility not in _VISIBILITIES:
            return f"expects attribute sym_visibility to be one of {', '.join(_VISIBILITIES)}; got {visibility!r}"
    return None


def _return(view: View) -> str | None:
    parent = view.op.parent
    if parent is None or parent.operation.name != "tt.func":
        return f"expects to end a tt.func; it is in {_name(parent)}"
    type_ = ir.FunctionType(ir.TypeAttr(parent.attributes["function_type"]).value)
    given = view.types("srcs")
    if given != type_.results:
        return f"expects operands {_list(type_.results)}, the results of its function; got {_list(given)}"
    return None


def _call(view: View) -> str | None:
    attribute = view.op.attributes["callee"]
    if not isinstance(attribute, ir.FlatSymbolRefAttr):
        return f"expects attribute callee to be a symbol; got {attribute}"
    function = _find(view.op, attribute.value)
    if function is None:
        return f"expects {attribute} to be a tt.func of the module; there is none"
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    for what, expected, given in (
        ("operands", type_.inputs, view.types("operands_")),
        ("results", type_.results, view.types("results_")),
    ):
        if expected != given:
            return f"expects {what} {_list(expected)}, as {attribute} has; got {_list(given)}"
    return None


def _find(op: ir.Operation, name: str) -> ir.Operation | None:
    """The function ``name`` of the module that ``op`` is in."""
    root = op
    while root.name != "builtin.module":
        if root.parent is None:
            return None
        root = root.parent.operation
    for other in root.regions[0].blocks[0].operations:
        if other.operation.name == "tt.func" and ir.StringAttr(other.attributes["sym_name"]).value == name:
            return other.operation
    return None


def _list(types: Iterable[ir.Type]) -> str:
    return f"({', '.join(map(str, types))})"


def _name(op: ir.OpView | ir.Operation | None) -> str:
    return "nothing" if op is None else op.operation.name


_PROGRAM: Sequence[Constraint] = (integer("axis", least=0, most=2), kind("i32", "result"), scalar("result"))

CONSTRAINTS: Mapping[str, Sequence[Constraint]] = {
    "tt.func": (_function, _function_attributes, boolean("noinline")),
    "tt.return": (_return,),
    "tt.call": (_call,),
    "tt.get_program_id": _PROGRAM,
    "tt.get_num_programs": _PROGRAM,
}
