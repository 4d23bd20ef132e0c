"""Kernels of the language in the simulator: lowered for a target, executed without its device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

import tri
from tri_core import mlir
from tri_core.api import Pipeline, StageContext
from tri_core.codegen import service
from tri_core.plugins import manager
from tri_core.targets import resolve
from tri_gpu_dialect.lowering import LoweredModule, PrimitivesFactory, generic_table, lower
from tri_runtime.simulator import simulate

__all__ = ["lowered", "run"]


def lowered(
    source: tri.ASTSource, target: str, primitives: PrimitivesFactory, **options: object
) -> LoweredModule:
    """``source`` for ``target``, down to the ``llvm`` dialect and machine ops."""
    made_for = resolve(target)
    given = made_for.options_type.parse(options)
    manager().register_ir(mlir.registry, made_for)
    pipeline: Pipeline = manager().compose(made_for, given).pipeline
    context = StageContext(target=made_for, options=given, kernel_name=source.name, codegen=service())
    with mlir.session():
        module: Any = source.build(made_for, given)
        for name in ("ttir", "ttgir"):
            module = pipeline[name].run(module, context).artifact
        threads = mlir.ir.IntegerAttr(module.operation.attributes["ttg.threads-per-warp"]).value
        words = primitives(made_for, given, threads, given.num_warps)
        table = manager().lowering(generic_table(), made_for, given)
        return lower(module, made_for, given, words, table)


def run(
    made: LoweredModule,
    grid: tuple[int, int, int],
    arguments: Sequence[npt.NDArray[Any] | float],
    *,
    spaces: tuple[int, int] = (1, 3),
    externals: Mapping[str, Any] | None = None,
) -> None:
    """Run ``made`` on every CTA of ``grid``; arrays are written in place.  Races and strays are errors.

    ``spaces`` are the address spaces of global and of shared memory; ``externals`` what functions that
    a driver brings do.
    """
    with mlir.session():
        simulate(
            made.module,
            made.name,
            grid,
            arguments,
            num_threads=made.num_warps * made.threads_per_warp,
            threads_per_warp=made.threads_per_warp,
            shared_bytes=made.shared_bytes,
            global_space=spaces[0],
            shared_space=spaces[1],
            externals=externals,
        )
