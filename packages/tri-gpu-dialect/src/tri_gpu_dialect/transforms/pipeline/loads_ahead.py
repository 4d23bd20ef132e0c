"""Common part of all strategies that issue loads ahead: their addresses once more, on iter_args of their own."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping

from tri_core.ir.regions import For
from tri_core.ir.rewriting import clone_mapped
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pipelined_loads import PipelinedLoads
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.transforms.pipeline.copy_buffers import CopyBuffer
from tri_gpu_dialect.transforms.pipeline.schedule import Carried
from tri_gpu_dialect.types import tensor_info

__all__ = ["Known", "run_ahead", "stage_type"]

Known = MutableMapping[ir.Value, ir.Value]


def run_ahead(
    loop: ir.Operation, loads: PipelinedLoads, copy: Callable[[ir.Operation, Known], bool]
) -> list[Carried]:
    """Copy ``loads`` of ``loop``, and what their addresses are computed from, here; gives what the copies carry.

    ``copy`` makes what is wanted of each of the loads, of what is known of the copies, and says whether they need a copy of it as it is.
    """
    view = For(loop)
    ends, carried = view.yielded, view.carried
    arguments = [view.body.add_argument(view.inits[i].type, loop.location) for i in loads.carried]
    known: Known = {carried[i]: argument for i, argument in zip(loads.carried, arguments, strict=True)}
    for op in loads.ops:
        if op not in loads.loads or copy(op, known):
            clone_mapped(op, known)
    return [
        Carried(argument, view.inits[i], known.get(ends[i], ends[i]))
        for i, argument in zip(loads.carried, arguments, strict=True)
    ]


def stage_type(load: ir.Operation, buffer: CopyBuffer, depth: int | None = None) -> ir.Type:
    """The type of a stage of ``load``, or of ``depth`` of them."""
    info = tensor_info(load.results[0].type)
    assert info is not None
    shape = info.shape if depth is None else (depth, *info.shape)
    return MemDescType.of(shape, info.element_type, buffer.encoding.to_attr(), mutable=True)
