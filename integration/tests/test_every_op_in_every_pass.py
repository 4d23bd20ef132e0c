"""Every op that the dialects declare is given to every pass over TTGIR: it leaves valid IR, or refuses with an error of ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tri_gpu_dialect.text  # noqa: F401  registers ttg and its text
from tri_core import mlir, text
from tri_core.api import CommonOptions, Pass, StageContext, Target, TargetKey, TargetSpec
from tri_core.dialects.tt import TT
from tri_core.errors import TriError
from tri_core.ir.rewriting import clone_mapped
from tri_core.ir.walking import walk
from tri_core.mlir import ir
from tri_gpu_dialect import passes
from tri_gpu_dialect.dialect import TTG, MemDescType
from tri_gpu_dialect.passes import (
    AllocateSharedMemory,
    ConvertTritonToTritonGPU,
    InsertBarriers,
    MakePersistent,
)
from tri_gpu_dialect.policies.gpu import DefaultPolicy, Specialization
from tri_gpu_dialect.testing.block_copies import BLOCK_COPY_POLICY
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY

_PACKAGES = Path(__file__).resolve().parents[2] / "packages"
_FILES = (
    _PACKAGES / "tri-core/tests/dialects/tt_samples.mlir",
    _PACKAGES / "tri-gpu-dialect/tests/text/ttg_samples.mlir",
)
_TARGET = Target(
    key=TargetKey("made-up", "m1"), spec=TargetSpec(threads_per_warp=(32,), limits={"shared": 65536})
)
_CONTEXT = StageContext(target=_TARGET, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]
_SHAPE = {"ttg.num-ctas": 1, "ttg.num-warps": 4, "ttg.threads-per-warp": 32}
_UNITS = replace(
    BLOCK_COPY_POLICY.async_units,
    producer=Specialization(reserved=4),
    specialize=True,
    persistent=True,
    pipeline_chained_dots=True,
)
_POLICIES = (MATRIX_POLICY, DefaultPolicy(async_units=_UNITS))
_CONVERT = ConvertTritonToTritonGPU(target="made-up:m1", num_warps=4, threads_per_warp=32)
#: what a kernel is made of anyway
_ONLY_INSIDE = {"tt.func", "tt.return"}
#: without a sample: made by passes alone, and given to those after them in the tests of these
_MADE = {"tt.barrier", "ttg.local_dot", "ttg.warp_group_dot", "ttg.warp_group_dot_wait"}


def _passes() -> list[Pass]:
    found: list[Pass] = [_CONVERT]
    for name in passes.__all__:
        kind: Any = getattr(passes, name)
        if kind is not ConvertTritonToTritonGPU:
            takes = any(f.name == "policy" for f in fields(kind))
            found += [kind(policy=policy) for policy in _POLICIES] if takes else [kind()]
    return found


@cache
def _samples() -> list[str]:
    return [sample for file in _FILES for sample in file.read_text().split("// -----\n")]


def _parsed(sample: str) -> ir.Module:
    return text.parse_module(sample) if "ttg." in sample else mlir.parse(sample)


def _bodies(module: ir.Module) -> Iterator[ir.Operation]:
    for function in module.body.operations:
        for region in function.operation.regions:
            for block in region.blocks:
                yield from (op.operation for op in block.operations)


def _names(op: ir.Operation) -> set[str]:
    found: set[str] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        found.add(inner.name)
        return ir.WalkResult.ADVANCE

    walk(op, visit)
    return found


def _outside(op: ir.Operation) -> list[ir.Value]:
    """Values from outside that ``op`` and its regions use."""
    used: list[ir.Value] = []
    own: set[ir.Value] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        used.extend(inner.operands)
        own.update(inner.results)
        own.update(a for region in inner.regions for block in region.blocks for a in block.arguments)
        return ir.WalkResult.ADVANCE

    walk(op, visit)
    return [v for v in dict.fromkeys(used) if v not in own]


def _argument(type_: ir.Type) -> ir.Type:
    """Argument type of a kernel from which a value of ``type_`` can be made."""
    if isinstance(type_, ir.RankedTensorType):
        return type_.element_type
    return ir.IntegerType.get_signless(32) if str(type_).startswith("!ttg.") else type_


def _value(argument: ir.Value, type_: ir.Type) -> ir.Value:
    """A value of ``type_`` here."""
    if isinstance(type_, ir.RankedTensorType):
        return ir.Operation.create("tt.splat", results=[type_], operands=[argument]).results[0]
    if not isinstance(type_, MemDescType):
        token = str(type_) == "!ttg.async_token"
        return (
            ir.Operation.create("ttg.async_commit_group", results=[type_]).results[0] if token else argument
        )
    whole = MemDescType.of(type_.shape, type_.element_type, type_.encoding, mutable=True)
    made = ir.Operation.create("ttg.local_alloc", results=[whole]).results[0]
    return made if made.type == type_ else _reinterpreted(made, type_)


def _reinterpreted(value: ir.Value, type_: ir.Type) -> ir.Value:
    return ir.Operation.create("ttg.memdesc_reinterpret", results=[type_], operands=[value]).results[0]


def _alone(op: ir.Operation, printed: bool) -> str:
    """A kernel of ``op`` and of what makes its operands; with ``printed``, its tensors and scalars are printed."""
    values = _outside(op)
    module = ir.Module.create(ir.Location.unknown())
    i32 = ir.IntegerType.get_signless(32)
    for name, number in _SHAPE.items():
        module.operation.attributes[name] = ir.IntegerAttr.get(i32, number)
    types = [_argument(v.type) for v in values]
    with ir.Location.unknown(), ir.InsertionPoint(module.body):
        attributes = {
            "sym_name": ir.StringAttr.get("f"),
            "sym_visibility": ir.StringAttr.get("public"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
        }
        function = ir.Operation.create("tt.func", regions=1, attributes=attributes)
        block = function.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            known = {v: _value(a, v.type) for v, a in zip(values, block.arguments, strict=True)}
            made = clone_mapped(op, known)
            for result in made.results:
                if printed and isinstance(result.type, ir.RankedTensorType | ir.IntegerType | ir.FloatType):
                    _print(result)
            ir.Operation.create("tt.return")
        if "callee" in op.attributes:
            _callee(op).clone()
    return str(module.operation.get_asm(print_generic_op_form=True, assume_verified=True))


def _callee(call: ir.Operation) -> ir.Operation:
    name = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
    functions = call.parent.parent.regions[0].blocks[0].operations
    (found,) = [f for f in functions if ir.StringAttr(f.attributes["sym_name"]).value == name]
    return found.operation


def _print(value: ir.Value) -> None:
    bit = ir.IntegerType.get_signless(1)
    attributes = {
        "prefix": ir.StringAttr.get("x"),
        "hex": ir.IntegerAttr.get(bit, 0),
        "isSigned": ir.DenseI32ArrayAttr.get([1]),
    }
    ir.Operation.create("tt.print", operands=[value], attributes=attributes)


def _refused(module: ir.Module, step: Pass) -> bool:
    """True if ``step`` refuses ``module`` with an error of ours; otherwise its result is verified."""
    try:
        step.apply(module, _CONTEXT)
    except TriError:
        return True
    mlir.verify(module)
    return False


def _faults(op: ir.Operation) -> Iterator[str]:
    """The passes that ``op`` breaks."""
    used, unused = _alone(op, printed=True), _alone(op, printed=False)
    for step in _passes():
        # persistent kernels do not print
        module = mlir.parse(unused if isinstance(step, MakePersistent) else used)
        before: list[Pass] = [_CONVERT] if op.name.startswith("tt.") and step is not _CONVERT else []
        before += [AllocateSharedMemory()] if isinstance(step, InsertBarriers) else []
        if any(_refused(module, first) for first in before):
            continue
        try:
            _refused(module, step)
        except Exception as error:  # all that is no error of ours
            yield f"{op.name} in {step.name}: {type(error).__name__}: {error}"


@pytest.mark.parametrize("number", range(len(_samples())))
def test_ops_of_sample(number: int) -> None:
    with mlir.session():
        sample = _parsed(_samples()[number])
        found = [f for op in _bodies(sample) if op.name not in _ONLY_INSIDE for f in _faults(op)]
    assert found == []


def test_every_op_has_a_sample() -> None:
    with mlir.session():
        modules = [_parsed(sample) for sample in _samples()]
        used = {name for module in modules for op in _bodies(module) for name in _names(op)}
    declared = {op.OPERATION_NAME for dialect in (TT, TTG) for op in dialect.operations}
    assert declared - used - _ONLY_INSIDE == _MADE
