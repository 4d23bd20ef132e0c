"""Faults that are planted in passes: a pass does its work, and then a mistake in its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from tri.launch.dispatcher import forget
from tri_backend_nvidia import ptx
from tri_core import compiler, knobs, mlir
from tri_core.compiler.optimize import known_passes
from tri_core.ir.regions import loops_in
from tri_core.ir.walking import collect
from tri_core.mlir import ir

__all__ = ["FAULTS", "Fault", "fresh"]

Mistake = Callable[[ir.Module], None]


def _renamed(was: str, stands: str) -> Mistake:
    """Every op ``was`` is one called ``stands``."""

    def plant(module: ir.Module) -> None:
        for op in [op for op in collect(module.operation) if op.name == was]:
            with ir.InsertionPoint(op), op.location:
                made = ir.Operation.create(
                    stands, results=[r.type for r in op.results], operands=list(op.operands)
                )
            op.results[0].replace_all_uses_with(made.results[0])
            op.erase()

    return plant


def _swapped(name: str, first: int = 0) -> Mistake:
    """Two operands of every op ``name`` change places."""

    def plant(module: ir.Module) -> None:
        for op in collect(module.operation):
            if op.name == name:
                left, right = op.operands[first], op.operands[first + 1]
                op.operands[first], op.operands[first + 1] = right, left

    return plant


def _one_less(module: ir.Module) -> None:
    """Loops begin with the second iteration."""
    for loop in loops_in(module.operation):
        with ir.InsertionPoint(loop), loop.location:
            lower, step = loop.operands[0], loop.operands[2]
            made = ir.Operation.create("arith.addi", results=[lower.type], operands=[lower, step])
        loop.operands[0] = made.results[0]


@contextmanager
def fresh() -> Iterator[None]:
    """Nothing that was compiled before is known inside, and nothing of what is compiled inside afterwards."""
    with TemporaryDirectory(prefix="tri-faults-") as folder, knobs.scope(CACHE_DIR=Path(folder)):
        forget()
        compiler.forget()
        try:
            yield
        finally:
            forget()
            compiler.forget()


@dataclass(frozen=True)
class Fault:
    """``mistake`` behind pass ``step`` of layer ``layer``, or ``stands`` for ``was`` in the text; ``kernel`` shows it."""

    name: str
    layer: str
    kernel: str
    step: str = ""
    mistake: Mistake | None = None
    was: str = ""
    stands: str = ""

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The compiler with the fault, and with a cache of its own."""
        with fresh(), self._patched():
            yield

    def _patched(self) -> Any:
        if self.mistake is None:
            return mock.patch.object(ptx, "every", return_value=_Text(self.was, self.stands))
        known_passes()
        owner: Any = mlir.registry.passes[self.step]
        right, mistake = owner.apply, self.mistake

        def wrong(step: Any, module: ir.Module, context: Any) -> None:
            right(step, module, context)
            mistake(module)

        return mock.patch.object(owner, "apply", wrong)


@dataclass(frozen=True)
class _Text:
    was: str
    stands: str

    def apply(self, text: str) -> tuple[str, tuple[str, ...]]:
        return re.sub(self.was, self.stands, text), ()


def _in(layer: str, step: str, kernel: str, name: str, mistake: Mistake) -> Fault:
    return Fault(name, layer, kernel, step, mistake)


def _below(kernel: str, name: str, was: str, stands: str) -> Fault:
    return Fault(name, "text", kernel, was=was, stands=stands)


FAULTS = (
    _in("ttir", "combine", "add", "a sum is a difference", _renamed("arith.addf", "arith.subf")),
    _in("ttir", "canonicalize", "softmax", "operands of a quotient are swapped", _swapped("arith.divf")),
    _in("ttir", "canonicalize", "integers", "operands of a select are swapped", _swapped("arith.select", 1)),
    _in("ttir", "reorder-broadcast", "integers", "xor is or", _renamed("arith.xori", "arith.ori")),
    _in("ttir", "licm", "matmul", "a loop begins late", _one_less),
    _in("ttir", "reorder-broadcast", "softmax", "exp is exp2", _renamed("math.exp", "math.exp2")),
    _in("ttir", "licm", "attention", "a maximum is a minimum", _renamed("arith.maxnumf", "arith.minnumf")),
    _in("ttgir", "coalesce", "add", "a sum is a difference", _renamed("arith.addf", "arith.subf")),
    _in("ttgir", "coalesce", "largest", "operands of a difference are swapped", _swapped("arith.subf")),
    _in("ttgir", "accelerate-matmul", "matmul", "a loop begins late", _one_less),
    _in("ttgir", "remove-layout-conversions", "integers", "operands of a quotient are swapped", _swapped("arith.divsi")),
    _in("ttgir", "remove-layout-conversions", "gather", "a comparison is the other way", _swapped("arith.cmpi")),
    _in("ttgir", "sink-conversions", "softmax", "exp is exp2", _renamed("math.exp", "math.exp2")),
    _in("ttgir", "reorder-instructions", "attention", "a product is a sum", _renamed("arith.mulf", "arith.addf")),
    _below("add", "a sum is a difference", r"\badd((?:\.rn)?\.f32)\b", r"sub\1"),
    _below("largest", "a maximum is a minimum", r"\bmax\.f32\b", "min.f32"),
    _below("softmax", "lanes are exchanged at half of the distance", r"(shfl\.sync\.bfly\S* .*), 16,", r"\1, 8,"),
    _below("gather", "less is at most", r"\bsetp\.lt\.s32\b", "setp.le.s32"),
    _below("transposed", "a barrier is lost", r"\bbar(?:rier)?\.sync[^;]*;", ""),
    _below("matmul", "copies are not waited for", r"cp\.async\.wait_group[^;]*;", ""),
)  # fmt: skip
