"""Values of one type as several of others, through functions, loops and branches.

:func:`expand` replaces every value that ``expands`` names: ops that make one or use one are given to
``rules``, and control flow carries the parts in its place, in the same position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from tri_core.dialects.tt import FuncOp
from tri_core.errors import Unsupported
from tri_core.ir.markers import KEPT
from tri_core.ir.regions import ends_region, is_control
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import builtin, ir

__all__ = ["Expansion", "Parts", "expand"]

#: the values that stand for one
Parts = Sequence[ir.Value]
#: the types of the parts of a value of this type; None for a type that stays
PartTypes = Callable[[ir.Type], "Sequence[ir.Type] | None"]


@dataclass
class Expansion:
    """The state of one :func:`expand`: ``parts`` of every value that was replaced so far."""

    types: PartTypes
    rules: Mapping[str, Callable[[ir.Operation, Expansion], None]]
    parts: dict[ir.Value, Parts] = field(default_factory=dict)
    #: replaced ops, users before what they use
    dead: list[ir.Operation] = field(default_factory=list)

    def flat(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """``values`` with the parts of those that were replaced."""
        return [part for value in values for part in self.parts.get(value, (value,))]

    def concerns(self, op: ir.Operation) -> bool:
        """True if ``op`` uses, defines or carries a value to be replaced."""
        if any(self.types(v.type) is not None for v in (*op.operands, *op.results)):
            return True
        blocks = (block for region in op.regions for block in region.blocks)
        return any(self.types(a.type) is not None for block in blocks for a in block.arguments)


def expand(
    module: ir.Module,
    types: PartTypes,
    rules: Mapping[str, Callable[[ir.Operation, Expansion], None]],
    kept: Sequence[ir.Operation] = (),
) -> None:
    """Replace every value that has part types; a rule gets the op and enters the parts of its result, if any.

    Ops of ``kept`` stay; a value that one of them makes must be used by others of them only.
    """
    for op in kept:
        op.attributes[KEPT] = ir.UnitAttr.get()
    state = Expansion(types, rules)
    for operation in module.body.operations:
        op = operation.operation
        if isa(op, FuncOp):
            _function(op, state)
            for block in op.regions[0].blocks:
                _block(block, state)
    for op in reversed(state.dead):
        op.erase()
    for op in kept:
        del op.attributes[KEPT]


def _function(op: ir.Operation, state: Expansion) -> None:
    """The parameters of a function, whose facts stay with those that stay."""
    function_type = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    if all(state.types(t) is None for t in (*function_type.inputs, *function_type.results)):
        return
    inputs: list[ir.Type] = []
    facts: list[ir.Attribute] = []
    given = list(ir.ArrayAttr(op.attributes["arg_attrs"])) if "arg_attrs" in op.attributes else []
    for i, type_ in enumerate(function_type.inputs):
        parts = state.types(type_)
        inputs.extend(parts or [type_])
        kept = given[i] if given and parts is None else ir.DictAttr.get({})
        facts.extend([kept] * len(parts or [type_]))
    op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, function_type.results))
    if given:
        op.attributes["arg_attrs"] = ir.ArrayAttr.get(facts)
    for block in op.regions[0].blocks:
        _arguments(block, state)


def _arguments(block: ir.Block, state: Expansion) -> None:
    """New arguments of ``block`` in the order of the old, which go."""
    old = list(block.arguments)
    if all(state.types(a.type) is None for a in old):
        return
    for argument in old:
        types = state.types(argument.type)
        new = [block.add_argument(t, argument.location) for t in types or [argument.type]]
        if types is None:
            argument.replace_all_uses_with(new[0])
        else:
            # uses of the old argument are rewritten by rules, which look it up by what stands for it
            replacement = _replacement(block, argument)
            argument.replace_all_uses_with(replacement.result)
            state.parts[replacement.result] = new
            state.dead.append(replacement)
    for _ in old:
        block.erase_argument(0)


def _replacement(block: ir.Block, argument: ir.Value) -> ir.Operation:
    """An op whose result has the type of ``argument``, until all uses of it are rewritten."""
    return ir.Operation.create(
        "builtin.unrealized_conversion_cast",
        results=[argument.type],
        loc=argument.location,
        ip=ir.InsertionPoint.at_block_begin(block),
    )


def _block(block: ir.Block, state: Expansion) -> None:
    for operation in list(block.operations):
        op = operation.operation
        rule = state.rules.get(op.name)
        if rule is not None:
            if KEPT not in op.attributes:
                rule(op, state)
                state.dead.append(op)
        elif isa(op, builtin.UnrealizedConversionCastOp):
            continue
        elif KEPT not in op.attributes and state.concerns(op):
            _rebuild(op, state)
        else:
            for region in op.regions:
                for inner in region.blocks:
                    _block(inner, state)


def _rebuild(op: ir.Operation, state: Expansion) -> None:
    """Control flow with the parts in place of the values; anything else cannot take a replaced value."""
    if not (is_control(op) or ends_region(op)):
        raise Unsupported(
            f"{op.name} of {next(v.type for v in (*op.operands, *op.results) if state.types(v.type) is not None)}",
            remedy="use the value in loads, stores and control flow only",
            location=source_location(op.location),
        )
    results = [part for r in op.results for part in state.types(r.type) or (r.type,)]
    new = ir.Operation.create(
        op.name,
        results=results,
        operands=state.flat(list(op.operands)),
        attributes={name: op.attributes[name] for name in op.attributes},
        regions=len(op.regions),
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    for old_region, region in zip(op.regions, new.regions, strict=True):
        for block in list(old_region.blocks):
            block.append_to(region)
            _arguments(block, state)
            _block(block, state)
    made = iter(new.results)
    for result in op.results:
        types = state.types(result.type)
        if types is None:
            result.replace_all_uses_with(next(made))
        else:
            state.parts[result] = [next(made) for _ in types]
    if ends_region(op):
        op.erase()  # a block has one terminator
    else:
        state.dead.append(op)
