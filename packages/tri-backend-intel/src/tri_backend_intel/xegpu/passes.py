"""Upstream's passes from XeGPU to XeVM, level by level, and what each must not leave.

The order is that of MLIR's ``gpu-lower-to-xevm-pipeline``, without the side of the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tri_backend_intel.xegpu.lane_ops import deal_lane_ops
from tri_backend_intel.xegpu.layouts import LANES, REMEDY
from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir, run_passes, verify

__all__ = ["LEVELS", "Level", "lower_to_xevm"]

#: elements of one instruction's largest operand: 32 rows of 64 bytes in bytes
_PIECE = 32 * 64
_LANE = 256


@dataclass(frozen=True)
class Level:
    """Some passes; ``left`` says why an op may not be there after them, None where it may.

    Where they deal vectors to lanes, ops of lanes are dealt after them (``deals``).
    """

    name: str
    passes: tuple[str, ...]
    left: Callable[[ir.Operation], str | None]
    deals: bool = False


def _vectors(op: ir.Operation) -> Iterator[ir.Type]:
    for value in (*op.operands, *op.results):
        if isinstance(value.type, ir.VectorType):
            yield value.type


def _size(type_: ir.Type) -> int:
    count = 1
    for extent in type_.shape:
        count *= extent
    return count


def _larger_than(most: int) -> Callable[[ir.Operation], str | None]:
    def left(op: ir.Operation) -> str | None:
        for type_ in _vectors(op):
            if _size(type_) > most:
                return f"{type_} is still as large as before"
        return None

    return left


def _not_lowered(op: ir.Operation) -> str | None:
    if op.name.startswith(("xegpu.", "vector.", "gpu.", "math.", "arith.", "scf.")) and op.name not in (
        "gpu.module",
        "gpu.module_end",
    ):
        return f"no pass makes LLVM of {op.name}"
    if op.name == "builtin.unrealized_conversion_cast":
        return f"{op.results[0].type} is not dealt to lanes everywhere"
    return _larger_than(_LANE)(op)


LEVELS = (
    Level(
        "instructions",
        # no canonicalize before lanes: it would take the layouts of reductions, which say nothing new to it
        ("gpu.module(xegpu-optimize-peephole,cse)",),
        _larger_than(_PIECE),
    ),
    Level(
        "lanes",
        ("gpu.module(xegpu-sg-to-lane-distribute)",),
        _larger_than(_PIECE // LANES),
        deals=True,
    ),
    Level(
        "xevm",
        (
            "gpu.module(canonicalize,cse,loop-invariant-code-motion,cse,xegpu-vector-linearize,canonicalize,cse)",
            "gpu.module(convert-math-to-xevm,convert-xegpu-to-xevm,convert-gpu-to-llvm-spv{use-64bit-index=true})",
            "gpu.module(cse,reconcile-unrealized-casts)",
            "convert-vector-to-scf,convert-scf-to-cf,expand-strided-metadata,lower-affine",
            "convert-vector-to-llvm,convert-to-llvm,reconcile-unrealized-casts",
            "gpu.module(canonicalize,cse)",
        ),
        _not_lowered,
    ),
)


def lower_to_xevm(module: ir.Module) -> None:
    """Rewrite ``module`` in place; Unsupported, located, for what a pass refuses or leaves as it was."""
    for level in LEVELS:
        for passes in level.passes:
            try:
                run_passes(module, passes)
                if level.deals:
                    deal_lane_ops(module)
                verify(module)
            except ir.MLIRError as error:
                raise _refused(level, error) from error
        for op in _ops(module.operation):
            why = level.left(op)
            if why is not None:
                raise Unsupported(
                    f"the SIMD path stops at {op.name}, on the level of {level.name}: {why}",
                    location=source_location(op.location),
                    remedy=REMEDY,
                )


def _ops(top: ir.Operation) -> Iterator[ir.Operation]:
    for region in top.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _ops(view.operation)


def _refused(level: Level, error: ir.MLIRError) -> Unsupported:
    said = list(error.error_diagnostics)
    first = said[0] if said else None
    return Unsupported(
        f"the SIMD path stops on the level of {level.name}: {first.message if first else error}",
        location=source_location(first.location) if first else None,
        remedy=REMEDY,
    )
