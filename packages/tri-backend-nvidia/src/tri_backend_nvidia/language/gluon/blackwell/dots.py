"""Dots of Blackwell: ``tcgen05.mma`` onto tensor memory, and what tells that they are done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.compiler.builder import ir_type
from tri.experimental.gluon.shared_memory import shared_memory_descriptor
from tri.language import builtin, constexpr_function
from tri.language.builtin import of_builtin
from tri.language.dot import precision_attribute
from tri_backend_nvidia.language.gluon.barriers import allocate_mbarrier, init, invalidate, wait
from tri_backend_nvidia.language.gluon.blackwell.layouts import TensorMemoryLayout
from tri_backend_nvidia.language.gluon.blackwell.tensor_memory import tensor_memory_descriptor
from tri_backend_nvidia.language.gluon.checks import barrier_of, for_target, truth_value, where
from tri_backend_nvidia.language.gluon.layouts import NVMMASharedLayout
from tri_backend_nvidia.tcgen05.encoding import NARROWEST
from tri_backend_nvidia.tcgen05.table import instructions
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tri.compiler.builder import Builder
    from tri.experimental.gluon.builder import GluonBuilder

__all__ = [
    "barriers_of",
    "check_accumulator",
    "check_operand",
    "check_shapes",
    "start_where",
    "tcgen05_commit",
    "tcgen05_mma",
    "tcgen05_mma_barrier_count",
]

Buffer = shared_memory_descriptor | tensor_memory_descriptor


@builtin
def tcgen05_mma(
    a: Any,
    b: Any,
    acc: Any,
    *,
    use_acc: Any = True,
    pred: Any = True,
    multicast: bool = False,
    mbarriers: Any = None,
    mbarrier_preds: Any = None,
    _semantic: Builder,
) -> None:
    """Start ``acc += a @ b`` (``acc = a @ b`` where ``use_acc`` is false), where ``pred``, in tensor memory.

    ``a``: a buffer in an NVMMASharedLayout, or in tensor memory; ``b``: one in shared memory.  Each of ``mbarriers``, where its
    predicate is true, has one arrival when this dot and those before it are done; without any, the call waits.
    """
    own = for_target(_semantic, "blackwell.tcgen05_mma", "tcgen05")
    if multicast:
        raise Unsupported("tcgen05_mma with multicast", remedy="leave it out: dots are of one CTA")
    _check_dot(own, a, b, acc)
    attributes = {"inputPrecision": precision_attribute(own, None)}
    operands = [a.handle, b.handle, acc.handle, truth_value(own, use_acc)]

    def start() -> None:
        own.value("ttg.warp_group_dot", acc.type, *operands, attributes=attributes)

    start_where(own, pred, start, barriers_of(mbarriers, mbarrier_preds))


@builtin
def tcgen05_commit(barrier: Any, pred: Any = True, descs: Any = (), *, _semantic: Builder) -> None:
    """Have ``barrier`` arrived at once, where ``pred``, when all dots are done that were started so far.

    ``descs``: buffers that several CTAs share; none has one here.
    """
    own = for_target(_semantic, "blackwell.tcgen05_commit", "tcgen05")
    if descs:
        raise Unsupported("tcgen05_commit with descs", remedy="leave them out: dots are of one CTA")
    _commit(own, barrier_of(barrier, "barrier"), pred)


@constexpr_function
def tcgen05_mma_barrier_count(smems: Any, multicast: bool, two_ctas: bool) -> int:
    """The arrivals of one dot of ``smems`` at its barrier: 1, as dots are of one CTA."""
    if len(smems) > 4:
        raise CompilationError(f"{len(smems)} buffers of a dot", remedy="pass its operands, and their scales")
    if two_ctas or (multicast and any(each.layout.cga_layout for each in smems)):
        raise Unsupported("a dot of several CTAs", remedy="leave multicast and two_ctas out")
    return 1


def start_where(
    b: GluonBuilder,
    pred: Any,
    start: Callable[[], object],
    barriers: Sequence[tuple[shared_memory_descriptor, Any]],
) -> None:
    """Have ``start`` make a dot where ``pred``, and tell ``barriers`` where their conditions hold; without any, wait for it."""

    def emit() -> None:
        start()
        for barrier, condition in barriers:
            _commit(b, barrier, condition)
        if not barriers:
            _wait(b)

    where(b, pred, emit)


def barriers_of(mbarriers: Any, preds: Any) -> list[tuple[shared_memory_descriptor, Any]]:
    """The barriers of a dot with their conditions."""
    found = [barrier_of(each, "a barrier of a dot") for each in mbarriers or ()]
    conditions: Sequence[Any] = [True] * len(found) if preds is None else list(preds)
    if len(conditions) != len(found):
        raise CompilationError(
            f"a dot with {len(found)} mbarriers and {len(conditions)} mbarrier_preds",
            remedy="pass one predicate for each mbarrier, or none",
        )
    return list(zip(found, conditions, strict=True))


def _commit(b: GluonBuilder, barrier: shared_memory_descriptor, pred: Any) -> None:
    def emit() -> None:
        b.create("ttng.tc_gen5_commit", operands=[barrier.handle])

    where(b, pred, emit)


def _wait(b: GluonBuilder) -> None:
    """Wait for all dots, at a barrier of their own."""
    bar = of_builtin(allocate_mbarrier)(_semantic=b)
    of_builtin(init)(bar, 1, _semantic=b)
    _commit(b, bar, True)
    of_builtin(wait)(bar, 0, _semantic=b)
    of_builtin(invalidate)(bar, _semantic=b)


def _check_dot(b: GluonBuilder, left: Any, right: Any, acc: Any) -> None:
    """CompilationError where no instruction does the dot."""
    check_accumulator(acc, "tcgen05_mma")
    operands: tuple[tuple[Any, str, int], ...] = ((left, "a", 1), (right, "b", 0))
    for value, name, along_k in operands:
        if isinstance(value, tensor_memory_descriptor) and name == "a":
            continue
        check_operand(value, name, along_k, "tcgen05_mma")
    check_shapes(left, right, acc, "tcgen05_mma")
    kinds = tuple(str(ir_type(each.dtype)) for each in (left, right, acc))
    rows = instructions(b.target)
    row = next((r for r in rows if (r.a, r.b, r.accumulator) == kinds), None)
    if row is None:
        raise CompilationError(
            f"no tcgen05.mma of {left.dtype} and {right.dtype} onto {acc.dtype} on {b.target}",
            remedy="use f16, bf16, f32 or 8-bit floats onto float32",
        )
    depth = row.shape[2]
    columns = acc.layout.block[1]
    if left.type.shape[1] % depth or columns < NARROWEST:
        raise CompilationError(
            f"tcgen05_mma along k of {left.type.shape[1]} in blocks of {columns} columns",
            remedy=f"use multiples of {depth} along k, and blocks of {NARROWEST} columns or more",
        )


def check_accumulator(acc: Any, op: str) -> None:
    """CompilationError where ``acc`` is no accumulator in tensor memory."""
    if not isinstance(acc, tensor_memory_descriptor) or not isinstance(acc.layout, TensorMemoryLayout):
        raise CompilationError(
            f"{op}'s acc is {acc!r}; a buffer of tensor memory is expected",
            remedy="allocate it with allocate_tensor_memory and a TensorMemoryLayout",
        )


def check_operand(value: Any, name: str, along_k: int, op: str) -> bool:
    """True if rows of ``value``, operand ``name`` in shared memory, run along k, its dimension ``along_k``; CompilationError where
    its layout is none that ``op`` reads."""
    layout = value.layout if isinstance(value, shared_memory_descriptor) else None
    if not isinstance(layout, NVMMASharedLayout) or not layout.swizzle_byte_width:
        raise CompilationError(
            f"{op}'s operand {name} is {value!r}",
            remedy="allocate it in a swizzled NVMMASharedLayout, e.g. NVMMASharedLayout.get_default_for(shape, dtype)",
        )
    rows = 0 if layout.transposed else 1
    if layout.element_bitwidth == 32 and rows != along_k:
        raise CompilationError(
            f"{op}'s operand {name} has rows of 32-bit elements across k",
            remedy="allocate it the other way round, and permute the buffer",
        )
    return rows == along_k


def check_shapes(
    left: Buffer, right: Buffer, acc: tensor_memory_descriptor, op: str, packs: tuple[int, int] = (1, 1)
) -> None:
    """CompilationError where the shapes are those of no dot; ``packs``: numbers along k in an element of each operand."""
    shapes = [tuple(each.type.shape) for each in (left, right, acc)]
    if any(len(shape) != 2 for shape in shapes):
        raise CompilationError(
            f"{op} of buffers of shapes {[list(s) for s in shapes]}",
            remedy="index each for one of rank 2",
        )
    (m, k), (inner, n), total = shapes
    if k * packs[0] != inner * packs[1] or total != (m, n):
        packed = "" if packs == (1, 1) else ", with two numbers in a byte of e2m1,"
        raise CompilationError(
            f"{op} of {[m, k]} and {[inner, n]}{packed} onto {list(total)}",
            remedy="use MxK, KxN and MxN; permute a buffer that holds its transpose",
        )
