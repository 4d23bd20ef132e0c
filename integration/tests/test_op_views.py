"""Queries of passes on each declared op: its view, its access and its dot are as the op's class has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tri_gpu_dialect.text  # noqa: F401  registers ttg and its text
from tri_core import mlir, text
from tri_core.dialects.tt import TT
from tri_core.ir.access import MemoryAccess, access_of
from tri_core.ir.dots import Dot, is_dot
from tri_core.ir.effects import READ_DESCRIBED, READ_GLOBAL, WRITE_DESCRIBED, WRITE_GLOBAL, Effects
from tri_core.ir.views import cast
from tri_core.ir.walking import collect
from tri_core.mlir import ext, ir
from tri_gpu_dialect.dialect import TTG

_PACKAGES = Path(__file__).resolve().parents[2] / "packages"
_SAMPLES = [
    sample
    for file in (
        "tri-core/tests/dialects/tt_samples.mlir",
        "tri-gpu-dialect/tests/text/ttg_samples.mlir",
    )
    for sample in (_PACKAGES / file).read_text().split("// -----\n")
]

_SIZES = "operandSegmentSizes"
_OUTSIDE = {READ_GLOBAL, WRITE_GLOBAL, READ_DESCRIBED, WRITE_DESCRIBED}
#: ops that reach memory which is not the kernel's: the launch's counter, and where a descriptor is made
_OF_THEIR_OWN = {"ttg.fetch_tile", "ttg.tensormap_create"}


def _ops(sample: str) -> Iterator[ir.Operation]:
    module = text.parse_module(sample) if "ttg." in sample else mlir.parse(sample)
    for op in collect(module.operation):
        if op.name.startswith(("tt.", "ttg.")):
            yield op


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in kind._fields if isinstance(field, ext.OperandDef)]


def _sizes(op: ir.Operation, kind: type[Any]) -> list[int]:
    """Number of operands of each name, where at most one may have any number."""
    fixed = [
        field.variadicity.name == "single" for field in kind._fields if isinstance(field, ext.OperandDef)
    ]
    assert fixed.count(False) == 1
    return [1 if each else len(op.operands) - fixed.count(True) for each in fixed]


def _read(value: Any) -> Any:
    return value if value is None or isinstance(value, ir.Value) else list(value)


@pytest.mark.parametrize("sample", _SAMPLES)
def test_views_give_what_the_bindings_give(sample: str) -> None:
    with mlir.session():
        for op in _ops(sample):
            own = op.opview
            light = cast(op, type(own))
            # the bindings need the attribute of ops of one variadic operand, too, which the verifier does not ask for
            if own._ODS_OPERAND_SEGMENTS is not None and _SIZES not in op.attributes:
                op.attributes[_SIZES] = ir.DenseI32ArrayAttr.get(_sizes(op, type(own)))
            for name in _names(type(own)):
                assert _read(getattr(light, name)) == _read(getattr(own, name)), f"{op.name}: {name}"


@pytest.mark.parametrize("sample", _SAMPLES)
def test_accesses_are_of_the_ops_operands(sample: str) -> None:
    with mlir.session():
        for op in _ops(sample):
            access = access_of(op)
            if access is not None:
                assert access.address in list(op.operands)
                assert all(value in list(op.operands) for value in access.offsets)
                assert access.value in [*op.operands, *op.results]
            if is_dot(op):
                own = op.opview
                assert [Dot(op).a, Dot(op).b, Dot(op).c] == [own.a, own.b, own.c]


@pytest.mark.parametrize("kind", [*TT.operations, *TTG.operations], ids=lambda kind: kind.OPERATION_NAME)
def test_what_reaches_memory_from_outside_says_how(kind: type[ext.Operation]) -> None:
    """All that reads or writes through pointers or descriptors is an access, of operands that the op has."""
    with mlir.session():
        name = kind.OPERATION_NAME
        declared, effects = MemoryAccess.of(name), Effects.declared_by(name) or frozenset()
    if name not in _OF_THEIR_OWN:
        assert (declared is not None) == bool(effects & _OUTSIDE)
    if declared is not None:
        parts = (
            declared.address,
            *declared.offsets,
            declared.stored,
            declared.mask,
            declared.other,
            declared.into,
        )
        assert {part for part in parts if part is not None} <= set(_names(kind))
