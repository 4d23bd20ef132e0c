"""Ops of a loop that read what a load gave, made to read it from where a strategy has put it."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.ir.traits import source_of
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import LocalDeallocOp
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.transforms.pipeline.building import build
from tri_gpu_dialect.transforms.pipeline.copy_buffers import readers, transposed

__all__ = ["StageReads"]


class StageReads:
    """Reads of the stages of loads, each right before what needs it; ``replaced`` is what stood there before."""

    def __init__(self) -> None:
        #: what readers gave -> the view that is to be read in its place
        self.pending: dict[ir.Value, ir.Value] = {}
        self.dropped: list[ir.Operation] = []

    def read(self, load: ir.Operation, view: ir.Value) -> None:
        """Have the readers of ``load`` read ``view`` when they are needed, and others in the place of ``load``."""
        found = readers(load)
        through: dict[ir.Operation, None] = {}
        for reader in found:
            trans = transposed(reader)
            self.pending[reader.results[0]] = view if trans is None else _permuted(view, trans)
            if trans is not None:
                through[trans] = None
        straight = {r.results[0] for r in found if transposed(r) is None}
        users = [use.owner.operation for use in load.results[0].uses]
        if all((u.results and u.results[0] in straight) or self._is_only_read(u, through) for u in users):
            self.pending.update((trans.results[0], view) for trans in through)
        else:
            with ir.InsertionPoint(load):
                whole = build("ttg.local_load", [view], [load.results[0].type])
            load.results[0].replace_all_uses_with(whole)
        self.dropped.append(load)

    def take(self, load: ir.Operation, value: ir.Value) -> None:
        """Have all that ``load`` gave be ``value``, in registers."""
        load.results[0].replace_all_uses_with(value)
        self.dropped.append(load)

    def _is_only_read(self, user: ir.Operation, through: dict[ir.Operation, None]) -> bool:
        """True if ``user`` is a transpose whose only users are pending readers."""
        if user not in through:
            return False
        users = [use.owner.operation for use in user.results[0].uses]
        return all(u.results and u.results[0] in self.pending for u in users)

    def reach(self, op: ir.Operation) -> None:
        """``op`` is next in the body: it goes, or what it and all inside of it need is read before it."""
        if (isa(op, LocalDeallocOp) and source_of(op) in self.pending) or (
            op.results and op.results[0] in self.pending
        ):
            self.dropped.append(op)
            return
        for inner in all_ops(op):
            for value in list(inner.operands):
                if (view := self.pending.get(value)) is not None:
                    self._fetch(value, view, op)

    def _fetch(self, value: ir.Value, view: ir.Value, before: ir.Operation) -> None:
        if isinstance(value.type, MemDescType):
            made = view
        else:
            with ir.InsertionPoint(before):
                made = build("ttg.local_load", [view], [value.type])
        users = {use.owner.operation: None for use in value.uses}
        for user in users:
            if not isa(user, LocalDeallocOp):
                for number, operand in enumerate(user.operands):
                    if operand == value:
                        user.operands[number] = made

    def replaced(self, ops: Sequence[ir.Operation]) -> list[ir.Operation]:
        """Ops of ``ops``, all of the body, to erase: loads that were read, and their readers; last ones
        first.
        """
        gone = set(self.dropped)
        return [op for op in reversed(ops) if op in gone]


def _permuted(view: ir.Value, trans: ir.Operation) -> ir.Value:
    """``view`` with its dimensions in the order of a ``tt.trans``."""
    order = list(ir.DenseI32ArrayAttr(trans.attributes["order"]))
    old = view.type
    swapped = SharedEncoding.from_attr(old.encoding).permuted(tuple(order))
    shape = [old.shape[d] for d in order]
    type_ = MemDescType.of(shape, old.element_type, swapped.to_attr(), mutable=True)
    return build("ttg.memdesc_trans", [view], [type_], {"order": ir.DenseI32ArrayAttr.get(order)})
