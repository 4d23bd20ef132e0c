"""Ops of other packages' dialects: evaluated by what they declare to stand for (:class:`tri_core.ir.traits.Decomposable`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tri.compiler.builder import ir_type
from tri.interpreter.arrays import Array
from tri.interpreter.calls import Call
from tri.language import types as t
from tri.language.tensor import tensor
from tri_core import mlir
from tri_core.errors import Unsupported
from tri_core.ir.traits import Decomposable, decompose
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.plugins import manager

__all__ = ["evaluate"]

#: scalars of the language by their type in the IR, where an operand does not say which one it is
_SCALARS = (t.int1, t.int8, t.int16, t.int32, t.int64, t.float16, t.bfloat16, t.float32, t.float64)


@dataclass(frozen=True)
class _Step:
    """One op of a decomposition; operands are numbers of values: the op's operands, then results of earlier steps."""

    name: str
    operands: tuple[int, ...]
    results: tuple[t.dtype, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class _Decomposition:
    steps: tuple[_Step, ...]
    results: tuple[int, ...]


def evaluate(call: Call) -> list[Array]:
    """The results of ``call``, an op that no rule evaluates; Unsupported where it does not decompose."""
    with mlir.session():
        manager().register_ir(mlir.registry, call.machine.target)
        if not Decomposable.declared_by(call.name):
            raise Unsupported(
                f"the interpreter cannot run {call.name}",
                remedy="run the kernel compiled, or have the op's dialect declare it Decomposable",
            )
        found = _decomposition(
            call.name, tuple(call.types), tuple(call.results), tuple(sorted(call.attributes.items()))
        )
    values = [tensor(handle, type_) for handle, type_ in zip(call.operands, call.types, strict=True)]
    for step in found.steps:
        operands = [values[i] for i in step.operands]
        if step.name == "arith.constant":
            values.append(call.machine.constant(step.attributes["value"], step.results[0]))
        else:
            values.extend(call.machine.several(step.name, step.results, operands, step.attributes))
    return [values[i].handle for i in found.results]


@lru_cache(maxsize=256)
def _decomposition(
    name: str,
    types: Sequence[t.dtype],
    results: Sequence[t.dtype],
    attributes: Sequence[tuple[str, Any]],
) -> _Decomposition:
    known = {ir_type(type_): type_ for type_ in (*results, *types)}
    module = ir.Module.create()
    function = ir.Operation.create(
        "tt.func",
        attributes={"sym_name": ir.StringAttr.get("op"), "function_type": _function_type(types)},
        regions=1,
        ip=ir.InsertionPoint(module.body),
    )
    block = function.regions[0].blocks.append(*map(ir_type, types))
    op = ir.Operation.create(
        name,
        results=[ir_type(type_) for type_ in results],
        operands=list(block.arguments),
        attributes={key: _attribute(value) for key, value in attributes},
        ip=ir.InsertionPoint(block),
    )
    made, values = decompose(op)
    numbers = {value: i for i, value in enumerate([*block.arguments, *(r for o in made for r in o.results)])}
    return _Decomposition(tuple(_steps(made, numbers, known)), tuple(numbers[value] for value in values))


def _function_type(types: Sequence[t.dtype]) -> ir.Attribute:
    return ir.TypeAttr.get(ir.FunctionType.get([ir_type(type_) for type_ in types], []))


def _steps(
    ops: Sequence[ir.Operation], numbers: Mapping[ir.Value, int], known: Mapping[ir.Type, t.dtype]
) -> Iterator[_Step]:
    for op in ops:
        operands = tuple(numbers[value] for value in op.operands)
        results = tuple(_language_type(result.type, known) for result in op.results)
        yield _Step(op.name, operands, results, {k: _python(op.attributes[k]) for k in op.attributes})


def _language_type(type_: ir.Type, known: Mapping[ir.Type, t.dtype]) -> t.dtype:
    if type_ in known:
        return known[type_]
    if isinstance(type_, ir.RankedTensorType):
        return t.block_type(_language_type(type_.element_type, known), list(type_.shape))
    for scalar in _SCALARS:
        if ir_type(scalar) == type_:
            return scalar
    raise Unsupported(f"the interpreter has no values of type {type_}", remedy="run the kernel compiled")


def _attribute(value: Any) -> ir.Attribute:
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    return ir.DenseI32ArrayAttr.get(list(value))


def _python(attribute: ir.Attribute) -> Any:
    """An attribute as rules of the interpreter take it: enumerations are their numbers, flags of fast math count for nothing."""
    if isinstance(attribute, ir.DenseElementsAttr):
        return _python(attribute.get_splat_value())
    value = getattr(attribute, "value", None)
    return value if isinstance(value, bool | int | float | str) else None
