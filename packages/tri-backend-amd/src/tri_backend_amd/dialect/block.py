"""The ops of ``amdg`` on whole tensors; names, operands, attributes and text are Triton's.

Accesses of global memory by a scalar pointer and a tensor of 32-bit offsets decompose to ``tt``'s, marked so that the
lowering makes buffer instructions of them without a proof: the op says that all of it is in the buffer.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_backend_amd.dialect import verify
from tri_backend_amd.dialect.amdg import AMDG
from tri_core.ir.access import MemoryAccess
from tri_core.ir.access_hints import plugin_hints
from tri_core.ir.effects import ASYNC, READ_GLOBAL, SYNCHRONIZE_CTA, WRITE_GLOBAL, WRITE_SHARED, Effects
from tri_core.ir.markers import marker
from tri_core.ir.traits import DataMovement, Decomposable, Pure
from tri_core.mlir import ext, ir
from tri_gpu_dialect.analysis.owned_loads import LoadsByOwner
from tri_gpu_dialect.dialect.markers import OWNED
from tri_gpu_dialect.plans.scratch import NeedsScratch, atomic_scratch_bytes

__all__ = [
    "BUFFER",
    "UNIFORM",
    "BufferAtomicCasOp",
    "BufferAtomicRmwOp",
    "BufferLoadBlockOp",
    "BufferLoadToLocalOp",
    "BufferStoreBlockOp",
    "ConcatOp",
    "CondBarrierOp",
    "ExtractSliceOp",
    "InThreadTransposeOp",
]

_In = ext.Operand[Any]
_Out = ext.Result[Any]
_Opt = ext.Operand[Any] | None
_Ins = Sequence[ext.Operand[Any]]

BUFFER = marker(
    "amdg.buffer", "accesses whose pointers are a scalar one plus offsets that a buffer descriptor reaches",
    written=("lowering",), read=("lowering",),
)  # fmt: skip
UNIFORM = marker(
    "amdg.uniform", "what adds an offset to others that is a splat, not negative wherever something is accessed",
    written=("amdg-uniform-offsets", "amdg-convert-to-buffer-ops"), read=("lowering", "amdg-convert-to-buffer-ops"),
)  # fmt: skip
#: attributes of an access beside the declared ones
_ACCESS = ("cache", "evict", "isVolatile", "allocation.offset", OWNED)


def _pointers(op: Any) -> ir.Value:
    """The pointers that ``op`` accesses, created here."""
    offsets, pointer = op.offsets, op.ptr
    type_ = ir.RankedTensorType(offsets.type)
    of_pointers = ir.RankedTensorType.get(type_.shape, pointer.type, type_.encoding)
    made = ir.Operation.create("tt.splat", results=[of_pointers], operands=[pointer]).result
    for term, attributes in _terms(offsets):
        made = ir.Operation.create(
            "tt.addptr", results=[of_pointers], operands=[made, term], attributes=attributes
        ).result
    return made


def _terms(offsets: ir.Value) -> list[tuple[ir.Value, dict[str, ir.Attribute]]]:
    """Summands of ``offsets``, a uniform one last."""
    owner = offsets.owner
    if not isinstance(owner, ir.Block) and owner.name == "arith.addi" and UNIFORM in owner.attributes:
        lanes, same = owner.operands
        return [(lanes, {}), (same, {UNIFORM: ir.UnitAttr.get()})]
    return [(offsets, {})]


def _access(
    op: Any, name: str, operands: Sequence[ir.Value], sizes: Sequence[int], more: Sequence[str] = ()
) -> Any:
    """Access ``name`` of ``tt`` for ``op``."""
    given = op.operation.attributes
    attributes = {each: given[each] for each in (*_ACCESS, *more) if each in given}
    attributes |= plugin_hints(op.operation)
    attributes[BUFFER] = ir.UnitAttr.get()
    if sizes:
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(list(sizes))
    return ir.Operation.create(
        name, results=[r.type for r in op.operation.results], operands=list(operands), attributes=attributes
    )


class BufferLoadBlockOp(
    AMDG.Operation,
    name="buffer_load",
    traits=[
        Effects(READ_GLOBAL),
        MemoryAccess("ptr", offsets=("offsets",), mask="mask", other="other"),
        LoadsByOwner,
        Decomposable,
    ],
):
    """Reads ``ptr[offsets]`` where ``mask``, elsewhere ``other`` or zero; ``stride`` (bytes between rows) is a hint."""

    result: _Out
    ptr: _In
    offsets: _In
    stride: _Opt = None
    mask: _Opt = None
    other: _Opt = None
    verify_invariants = verify.rule(verify.offsets, verify.pointee("result"), verify.masked)

    def decompose(self) -> Sequence[ir.Value]:
        """A load."""
        given = [v for v in (self.mask, self.other) if v is not None]
        if self.other is not None and self.mask is None:
            given = []  # it is never asked for
        sizes = (1, int(bool(given)), int(len(given) == 2))
        return [_access(self, "tt.load", [_pointers(self), *given], sizes).result]


class BufferLoadToLocalOp(
    AMDG.Operation,
    name="buffer_load_to_local",
    traits=[
        Effects(READ_GLOBAL, WRITE_SHARED.on("dest"), ASYNC),
        MemoryAccess("ptr", offsets=("offsets",), mask="mask", other="other", into="dest"),
        Decomposable,
    ],
):
    """Starts a copy of ``ptr[offsets]`` to buffer ``dest``, zeros where ``mask`` is false, without registers between.

    ``other``, if given, is a splat of zero.  A commit puts it into a group, and ``ttg.async_wait`` waits for groups.
    """

    token: _Out
    dest: _In
    ptr: _In
    offsets: _In
    mask: _Opt = None
    other: _Opt = None
    stride: _Opt = None
    verify_invariants = verify.rule(verify.offsets, verify.copies_to_local, verify.masked)

    def decompose(self) -> Sequence[ir.Value]:
        """An asynchronous copy."""
        given = [v for v in (self.mask, self.other) if v is not None]
        sizes = (1, 1, int(self.mask is not None), int(self.other is not None))
        return [
            _access(
                self, "ttg.async_copy_global_to_local", [_pointers(self), self.dest, *given], sizes
            ).result
        ]


class BufferStoreBlockOp(
    AMDG.Operation,
    name="buffer_store",
    traits=[
        Effects(WRITE_GLOBAL),
        MemoryAccess("ptr", offsets=("offsets",), stored="value", mask="mask"),
        Decomposable,
    ],
):
    """Writes ``value`` to ``ptr[offsets]`` where ``mask``."""

    value: _In
    ptr: _In
    offsets: _In
    stride: _Opt = None
    mask: _Opt = None
    verify_invariants = verify.rule(verify.offsets, verify.pointee("value"), verify.masked)

    def decompose(self) -> Sequence[ir.Value]:
        """A store."""
        masks = [] if self.mask is None else [self.mask]
        _access(self, "tt.store", [_pointers(self), self.value, *masks], (1, 1, len(masks)))
        return []


class BufferAtomicRmwOp(
    AMDG.Operation,
    name="buffer_atomic_rmw",
    traits=[
        Effects(READ_GLOBAL, WRITE_GLOBAL),
        MemoryAccess("ptr", offsets=("offsets",), stored="value", mask="mask"),
        NeedsScratch,
        Decomposable,
    ],
):
    """Atomic read-modify-write of ``ptr[offsets]`` where ``mask``; yields the old values."""

    result: _Out
    atomic_rmw_op: ir.IntegerAttr
    sem: ir.IntegerAttr
    scope: ir.IntegerAttr
    ptr: _In
    offsets: _In
    value: _In
    stride: _Opt = None
    mask: _Opt = None
    verify_invariants = verify.rule(verify.offsets, verify.pointee("value"), verify.masked)

    def decompose(self) -> Sequence[ir.Value]:
        """An atomic operation on pointers."""
        masks = [] if self.mask is None else [self.mask]
        operands = [_pointers(self), self.value, *masks]
        sizes = (1, 1, len(masks))
        return [_access(self, "tt.atomic_rmw", operands, sizes, ("atomic_rmw_op", "sem", "scope")).result]

    def scratch_bytes(self) -> int:
        """As of an atomic operation on pointers."""
        return atomic_scratch_bytes(self.operation)


class BufferAtomicCasOp(
    AMDG.Operation,
    name="buffer_atomic_cas",
    traits=[
        Effects(READ_GLOBAL, WRITE_GLOBAL),
        MemoryAccess("ptr", offsets=("offsets",), stored="val"),
        NeedsScratch,
        Decomposable,
    ],
):
    """Atomic compare-and-swap of ``ptr[offsets]``: ``val`` goes where memory holds ``cmp``; yields the old values."""

    result: _Out
    sem: ir.IntegerAttr
    scope: ir.IntegerAttr
    ptr: _In
    offsets: _In
    cmp: _In
    val: _In
    stride: _Opt = None
    verify_invariants = verify.rule(verify.offsets, verify.pointee("val"))

    def decompose(self) -> Sequence[ir.Value]:
        """An atomic operation on pointers."""
        operands = [_pointers(self), self.cmp, self.val]
        return [_access(self, "tt.atomic_cas", operands, (), ("sem", "scope")).result]

    def scratch_bytes(self) -> int:
        """As of an atomic operation on pointers."""
        return atomic_scratch_bytes(self.operation)


class InThreadTransposeOp(
    AMDG.Operation, name="in_thread_transpose", traits=[Pure, DataMovement, Decomposable]
):
    """The same tensor, each thread's registers in the other order of the last two dimensions."""

    src: _In
    result: _Out
    verify_invariants = verify.rule(verify.transposes_in_thread)

    def decompose(self) -> Sequence[ir.Value]:
        """A conversion within each thread."""
        return [
            ir.Operation.create("ttg.convert_layout", results=[self.result.type], operands=[self.src]).result
        ]


class ConcatOp(AMDG.Operation, name="concat", traits=[Pure]):
    """Tensors of one shape and layout side by side, the last dimension filled first; no thread gives anything away."""

    result: _Out
    sources: _Ins
    verify_invariants = verify.rule(verify.concatenates)


class ExtractSliceOp(AMDG.Operation, name="extract_slice", traits=[Pure]):
    """The part of ``source`` that begins at ``static_offsets`` and has the result's shape, in the threads that have it."""

    source: _In
    static_offsets: Any
    result: _Out
    verify_invariants = verify.rule(verify.slices)


class CondBarrierOp(AMDG.Operation, name="cond_barrier", traits=[Effects(SYNCHRONIZE_CTA)]):
    """Threads with ``pred`` wait at a barrier; the others must come to one of their own.  Orders no memory."""

    pred: _In
