"""Machine ops of atomics that LLVM's SPIR-V backend has no instructions for."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_intel.dialect.builtins import call_builtin, mangled
from tri_backend_intel.dialect.ttig import TTIG
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA
from tri_runtime.races import Semantics
from tri_runtime.simulator import CTA

__all__ = ["AtomicLoadOp"]

Array = npt.NDArray[Any]

_GLOBAL = 1
#: SPIR-V's scopes, and memory semantics of global memory
_SCOPES = {"sys": 0, "gpu": 1, "cta": 2}
_ORDERS = {"relaxed": 0x200, "acquire": 0x202}


class AtomicLoadOp(MachineOp, dialect=TTIG, name="atomic_load"):
    """``OpAtomicLoad`` of an integer in global memory; ``order``: ``relaxed`` or ``acquire``; ``scope``: ``sys``, ``gpu`` or ``cta``.

    LLVM's atomic loads become ``OpLoad``, which others may move or merge.
    """

    pointer: ext.Operand[Any]
    order: ir.StringAttr
    scope: ir.StringAttr
    result: ext.Result[Any]

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A call of the builtin."""
        words = [b.int_(_SCOPES[self.scope.value]), b.int_(_ORDERS[self.order.value])]
        type_ = self.result.type
        letters = mangled("", [type_, b.i32, b.i32]).removeprefix("_Z0")
        symbol = f"_Z18__spirv_AtomicLoadPU3AS1{letters}"
        return call_builtin(b, symbol, [self.pointer, *words], [type_], pure=False)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A load that those who look for data races know as an atomic."""
        (pointer,), dtype = operands, np.dtype(f"i{self.result.type.width // 8}")
        threads = np.flatnonzero(cta.active)
        semantics = Semantics.named(self.order.value, self.scope.value)
        with _atomic(cta, pointer[threads], threads, dtype.itemsize, semantics):
            return [cta.memory(_GLOBAL).load(pointer, dtype, cta.active)]


def _atomic(
    cta: object, addresses: Array, threads: Array, nbytes: int, semantics: Semantics
) -> AbstractContextManager[None]:
    """Tells a simulator that looks for races that an atomic is done inside."""
    memory = cta.memory(_GLOBAL) if isinstance(cta, CTA) else None
    return memory.atomic(addresses, threads, nbytes, semantics) if memory else nullcontext()
