"""Kernels written op by op, for tests of single machine ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from tri_core import mlir
from tri_core.mlir import ir
from tri_core.plugins import manager
from tri_core.target_selection import resolve
from tri_gpu_dialect.lowering import Access, Builder, EmitMachineOps
from tri_runtime.simulator import simulate

from tri_backend_toy.primitives import ToyPrimitives, make_primitives

__all__ = ["emitted", "simulated"]

#: what one thread computes, as an i32
Body = Callable[[Builder, ToyPrimitives], ir.Value]


def simulated(body: Body, *, warps: int = 2, grid: tuple[int, int, int] = (1, 1, 1)) -> npt.NDArray[np.int32]:
    """Result of each of ``32 * warps`` threads, in the simulator."""
    out = np.full(32 * warps, -1, np.int32)
    with mlir.session(), ir.Location.unknown():
        module = _kernel(body, warps)
        simulate(module, "kernel", grid, [out], num_threads=out.size, threads_per_warp=32)
    return out


def emitted(body: Body) -> str:
    """The ``llvm`` dialect that the machine ops of ``body`` become."""
    with mlir.session(), ir.Location.unknown():
        module = _kernel(body, 1)
        EmitMachineOps().apply(module)
        return str(module)


def _kernel(body: Body, warps: int) -> ir.Module:
    """A kernel that stores what each thread computes, at the thread's place."""
    target = resolve("toy:t1")
    manager().register_ir(mlir.registry, target)
    words = make_primitives(target, target.options_type(num_warps=warps), 32, warps)
    module = ir.Module.create()
    attributes = {
        "sym_name": ir.StringAttr.get("kernel"),
        "function_type": ir.Attribute.parse("!llvm.func<void (ptr<1>)>"),
    }
    ip = ir.InsertionPoint(module.body)
    function = ir.Operation.create("llvm.func", regions=1, attributes=attributes, ip=ip)
    block: Any = function.regions[0].blocks.append(ir.Type.parse("!llvm.ptr<1>"))
    with ir.InsertionPoint(block):
        b = Builder(module, block)
        place = b.gep(block.arguments[0], words.thread_id(b), b.i32)
        words.store_global(b, place, body(b, words), None, Access(4))
        ir.Operation.create("llvm.return")
    return module
