"""Dots of Blackwell with block scales, and the copies that bring the scales to tensor memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.compiler.builder import ir_type
from tri.language import builtin
from tri.language import types as t
from tri.language.dot import precision_attribute
from tri_backend_nvidia.language.gluon.blackwell.dots import (
    barriers_of,
    check_accumulator,
    check_operand,
    check_shapes,
    start_where,
)
from tri_backend_nvidia.language.gluon.blackwell.layouts import TensorMemoryScalesLayout
from tri_backend_nvidia.language.gluon.blackwell.tensor_memory import tensor_memory_descriptor
from tri_backend_nvidia.language.gluon.checks import buffer_of, for_target, truth_value
from tri_backend_nvidia.tcgen05.scaled_table import row_for
from tri_backend_nvidia.tcgen05.scales import BLOCK_ROWS, LEAST_ROWS, WORD, are_copied_as
from tri_core.dialects.tt.enums import ScaleDotElemType
from tri_core.errors import CompilationError, Unsupported
from tri_gpu_dialect.layouts import layout_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tri.compiler.builder import Builder
    from tri_backend_nvidia.mma.scaled_table import ScaledRow

__all__ = ["tcgen05_copy", "tcgen05_mma_scaled"]

_NAME = "tcgen05_mma_scaled"
_E2M1 = ScaleDotElemType.E2M1
#: formats by their names, with the type that a buffer of theirs may have instead of bytes
_FORMATS = {
    "e2m1": (_E2M1, None),
    "e4m3": (ScaleDotElemType.E4M3, t.float8e4nv),
    "e5m2": (ScaleDotElemType.E5M2, t.float8e5),
}
_BYTES = (t.uint8, t.int8)


@builtin
def tcgen05_copy(src: Any, dst: Any, *, _semantic: Builder) -> None:
    """Start the copy of scales from ``src`` in shared memory to ``dst`` in tensor memory, of one dtype and shape.

    Dots that start later see them.  ``src`` may be written again when a ``tcgen05_commit`` behind the copy has arrived; no dot that
    reads ``dst`` may be under way.  ``src`` has blocks of 128 rows with four scales, 512 bytes: scale ``j`` of row ``i`` at byte
    ``16 (i % 32) + 4 (i / 32) + j``.
    """
    own = for_target(_semantic, "blackwell.tcgen05_copy", "tcgen05")
    buffer_of(src, "src of tcgen05_copy")
    if not isinstance(dst, tensor_memory_descriptor):
        raise CompilationError(
            f"tcgen05_copy's dst is {dst!r}; a buffer of tensor memory is expected",
            remedy="allocate it with allocate_tensor_memory and a TensorMemoryScalesLayout",
        )
    if not isinstance(dst.layout, TensorMemoryScalesLayout):
        raise Unsupported(
            f"tcgen05_copy to {dst!r}, which has no TensorMemoryScalesLayout",
            remedy="load the buffer of shared memory, and store it with the descriptor's store",
        )
    source, target = src.type, dst.type
    if len(target.shape) != 2 or source.shape != target.shape or source.element_ty is not target.element_ty:
        raise CompilationError(
            f"tcgen05_copy from {src!r} to {dst!r}",
            remedy="use one dtype, and one shape of rows and scales; index and reshape the buffers",
        )
    places = layout_for(source.layout.encoding(), source.alloc_shape[-2:])
    if not are_copied_as(places, source.shape):
        raise CompilationError(
            f"tcgen05_copy from {src!r}: it takes blocks of {BLOCK_ROWS} rows with {WORD} scales, in the order of lanes",
            remedy=f"allocate [rows / {BLOCK_ROWS}, scales / {WORD}, 32, 4, 4] without a swizzle, permute it by (0, 3, 2, 1, 4), "
            "and reshape it to rows and scales; or store the scales from registers with the descriptor's store",
        )
    own.create("ttng.tmem_copy", operands=[src.handle, dst.handle])


@builtin
def tcgen05_mma_scaled(
    a: Any,
    b: Any,
    acc: Any,
    a_scale: Any,
    b_scale: Any,
    a_type: Any,
    b_type: Any,
    *,
    use_acc: Any = True,
    pred: Any = True,
    multicast: bool = False,
    mbarriers: Any = None,
    mbarrier_preds: Any = None,
    _semantic: Builder,
) -> None:
    """Start ``acc += (a * a_scale) @ (b * b_scale)`` (without ``acc +`` where ``use_acc`` is false), where ``pred``, in tensor memory.

    ``a`` (M x K), ``b`` (K x N): buffers of bytes in an NVMMASharedLayout, of format ``a_type`` and ``b_type``: "e4m3", "e5m2", or
    "e2m1" with two numbers in a byte along k (beside another format: in a layout with ``fp4_padded``).  ``a_scale`` (M x groups),
    ``b_scale`` (N x groups): in tensor memory, a TensorMemoryScalesLayout, of uint8 (e8m0) for 32 numbers each; of e2m1 alone
    also of uint8 or float8e4nv for 16.  Barriers as of :func:`tcgen05_mma`.
    """
    own = for_target(_semantic, f"blackwell.{_NAME}", "tcgen05")
    if multicast:
        raise Unsupported(f"{_NAME} with multicast", remedy="leave it out: dots are of one CTA")
    left, right = _format(a_type, "a_type"), _format(b_type, "b_type")
    check_accumulator(acc, _NAME)
    a_rows, b_rows = _check_bytes(a, "a", 1, a_type), _check_bytes(b, "b", 0, b_type)
    check_shapes(a, b, acc, _NAME, (_per_byte(left), _per_byte(right)))
    _check_scales(a_scale, b_scale, acc)
    row = _row((left, right), a.type.shape[1] * _per_byte(left), (a_scale, b_scale))
    _check_four_bits(a, "a", row, is_packed=left == _E2M1, along_k=a_rows)
    _check_four_bits(b, "b", row, is_packed=right == _E2M1, along_k=b_rows)
    attributes = {
        "inputPrecision": precision_attribute(own, None),
        "a_elem_type": own.i32(int(left)),
        "b_elem_type": own.i32(int(right)),
    }
    operands = [a.handle, b.handle, acc.handle, truth_value(own, use_acc), a_scale.handle, b_scale.handle]

    def start() -> None:
        own.value("ttg.warp_group_dot", acc.type, *operands, attributes=attributes)

    start_where(own, pred, start, barriers_of(mbarriers, mbarrier_preds))


def _format(name: Any, argument: str) -> ScaleDotElemType:
    if name not in _FORMATS:
        raise CompilationError(
            f"{argument} of {_NAME} is {name!r}", remedy=f"use one of {', '.join(map(repr, _FORMATS))}"
        )
    return _FORMATS[name][0]


def _per_byte(format_: ScaleDotElemType) -> int:
    return 2 if format_ == _E2M1 else 1


def _check_bytes(value: Any, name: str, along_k: int, format_: str) -> bool:
    """True if the rows of operand ``name`` run along k; CompilationError for a buffer that is not read as ``format_``."""
    if isinstance(value, tensor_memory_descriptor):
        raise Unsupported(f"{_NAME} of {value!r}", remedy=f"keep operand {name} in shared memory")
    found = check_operand(value, name, along_k, _NAME)
    if value.dtype not in (*_BYTES, _FORMATS[format_][1]):
        raise CompilationError(
            f"{_NAME}'s operand {name} of format {format_} is {value!r}",
            remedy="use elements of uint8, or of the float8 that the format is",
        )
    return found


def _check_scales(a_scale: Any, b_scale: Any, acc: Any) -> None:
    """CompilationError where scales are not in tensor memory, or not of each row of A and each column of B."""
    for scale, name in ((a_scale, "a_scale"), (b_scale, "b_scale")):
        is_held = isinstance(scale, tensor_memory_descriptor)
        if not is_held or not isinstance(scale.layout, TensorMemoryScalesLayout):
            raise CompilationError(
                f"{_NAME}'s {name} is {scale!r}; scales in tensor memory are expected",
                remedy="allocate_tensor_memory(gl.uint8, [rows, k // 32], TensorMemoryScalesLayout()), and tcgen05_copy to it",
            )
    shapes, sizes = [tuple(s.type.shape) for s in (a_scale, b_scale)], acc.type.shape
    groups = shapes[0][-1]
    if shapes != [(size, groups) for size in sizes]:
        raise CompilationError(
            f"{_NAME} onto {list(sizes)} with scales {list(shapes[0])} of a and {list(shapes[1])} of b",
            remedy="use scales of as many rows as the result has rows and columns, and as many of each row",
        )
    if acc.dtype is not t.float32 or acc.layout.block[1] < LEAST_ROWS:
        raise CompilationError(
            f"{_NAME} onto {acc!r}",
            remedy=f"use an accumulator of float32, in blocks of {LEAST_ROWS} columns or more",
        )


def _row(formats: tuple[ScaleDotElemType, ...], depth: int, scales: Sequence[Any]) -> ScaledRow:
    """The instruction for ``depth`` numbers along k; CompilationError where there is none."""
    groups, types = scales[0].type.shape[1], {str(ir_type(s.dtype)) for s in scales}
    row = row_for(formats, types.pop(), depth // groups) if len(types) == 1 and not depth % groups else None
    if row is None:
        said = [
            f"{f.name.lower()} with {groups} scales of {s.dtype}"
            for f, s in zip(formats, scales, strict=True)
        ]
        raise CompilationError(
            f"no tcgen05.mma of {depth} numbers along k of {' and '.join(said)}",
            remedy="use a uint8 (e8m0) for 32 numbers; of e2m1 alone also a uint8 or a float8e4nv for 16",
        )
    return row


def _check_four_bits(value: Any, name: str, row: ScaledRow, *, is_packed: bool, along_k: bool) -> None:
    """CompilationError where an operand lies as another instruction reads e2m1."""
    padded = is_packed and row.kind == "mxf8f6f4"
    if bool(value.layout.fp4_padded) != padded:
        raise CompilationError(
            f"{_NAME} of kind::{row.kind} with operand {name} {value!r}",
            remedy=f"allocate it in an NVMMASharedLayout with fp4_padded={padded}",
        )
    if is_packed and not along_k:
        raise CompilationError(
            f"{_NAME}'s operand {name} has rows of e2m1 across k",
            remedy="allocate it the other way round, and permute the buffer",
        )
