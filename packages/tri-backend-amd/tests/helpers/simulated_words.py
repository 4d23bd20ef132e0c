"""What a few words emit, carried out op by op: machine ops by their simulation, arithmetic of LLVM by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import amd_support
from tri_backend_amd.lowering import AmdPrimitives, make_primitives
from tri_backend_amd.options import AmdOptions
from tri_core.mlir import ir, session
from tri_gpu_dialect.lowering import Builder

__all__ = ["interpret"]

Array = npt.NDArray[Any]
Body = Callable[[Builder, AmdPrimitives, ir.Value], Sequence[ir.Value]]

_EQUAL = 0
_ARITHMETIC: dict[str, Callable[..., Array]] = {
    "llvm.and": np.bitwise_and,
    "llvm.or": np.bitwise_or,
    "llvm.xor": np.bitwise_xor,
    "llvm.shl": np.left_shift,
    "llvm.select": np.where,
}


@dataclass
class _Cta:
    """As much of a simulated CTA as movement between lanes asks for."""

    num_threads: int
    threads_per_warp: int
    active: Array = field(init=False)

    def __post_init__(self) -> None:
        self.active = np.ones(self.num_threads, bool)


def interpret(arch: str, body: Body, values: Array) -> list[Array]:
    """The results of what ``body`` emits for ``arch``, given an i32 of each thread of a CTA."""
    target = amd_support.target_of(arch)
    lanes = target.spec.threads_per_warp[0]
    cta: Any = _Cta(len(values), lanes)
    with session():
        module = ir.Module.create()
        function = ir.Operation.create(
            "llvm.func", regions=1, attributes={}, ip=ir.InsertionPoint(module.body)
        )
        entry = function.regions[0].blocks.append()
        with ir.InsertionPoint(entry):
            b = Builder(module, entry)
            argument = entry.add_argument(b.i32, ir.Location.unknown())
            words = make_primitives(target, AmdOptions(), lanes, len(values) // lanes)
            results = body(b, words, argument)
        known: dict[Any, Array] = {argument: values}
        for op in entry.operations:
            made = _carried_out(op.operation, cta, [known[operand] for operand in op.operands])
            known |= zip(op.results, made, strict=True)
        return [known[result] for result in results]


def _carried_out(op: ir.Operation, cta: Any, operands: Sequence[Array]) -> Sequence[Array]:
    if op.name == "llvm.mlir.constant":
        return [np.full(cta.num_threads, ir.IntegerAttr(op.attributes["value"]).value, np.int32)]
    if op.name == "llvm.icmp":
        assert ir.IntegerAttr(op.attributes["predicate"]).value == _EQUAL
        return [operands[0] == operands[1]]
    if op.name in _ARITHMETIC:
        return [_ARITHMETIC[op.name](*operands)]
    view: Any = op.opview
    return list(view.simulate(cta, operands))
