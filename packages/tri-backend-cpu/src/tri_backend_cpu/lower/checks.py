"""Checked kernels: every access is compared with the ranges that it may reach.

The launch says for every parameter which addresses belong to its array.  An address outside is shown to the task's
checker, a function of the host: it either widens the range, or notes what went wrong, and the access is left out.
"""

from __future__ import annotations

from typing import Any

from tri_backend_cpu import launch_abi as abi
from tri_backend_cpu.analysis.aliasing import root_pointer
from tri_backend_cpu.analysis.plan import changes_memory
from tri_backend_cpu.builder import I1, I8, I32, I64, POINTER, Builder
from tri_backend_cpu.lower.frame import Frame
from tri_backend_cpu.lower.place import Address, Lanes
from tri_backend_cpu.lower.records import frames_of
from tri_core.forks import cached_property
from tri_core.mlir import ir
from tri_core.ttir import Op, Value

__all__ = ["Checks"]

#: bytes of a range, and where in it the end is
_RANGE, _END = 16, 8
_RELAXED = 2  # LLVM's code of the ordering


class Checks:
    """Ranges and checker of one kernel, and its ``accesses`` as JSON-able records.

    Every thread has a copy of the ranges, since the checker widens them.
    """

    def __init__(self, b: Builder, task: ir.Value, parameters: list[Value], start: ir.Operation) -> None:
        self.b = b
        self.task = task
        self.parameters = parameters
        self.start = start
        self.program: list[ir.Value] = []
        self.accesses: list[dict[str, Any]] = []
        self._numbers: dict[Op, int] = {}

    @cached_property
    def _checker(self) -> ir.Value:
        with self.b.at(ir.InsertionPoint(self.start)):
            return self.b.load(self.b.offset(self.task, self._offset, I8), POINTER)

    @cached_property
    def _ranges(self) -> ir.Value:
        """The thread's ranges, on its stack."""
        b = self.b
        with b.at(ir.InsertionPoint(self.start)):
            count = 2 * abi.range_index(len(self.parameters) + 1, writes=False)
            own, given = b.stack(I64, count), b.offset(self.task, self._offset + 8, I8)
            for i in range(count):
                b.store(b.offset(own, i, I64), b.load(b.offset(given, i, I64), I64), I64)
        return own

    @property
    def _offset(self) -> int:
        return abi.checks_offset([p.dtype.nbytes for p in self.parameters])

    def stopped(self) -> ir.Value:
        """Condition (i1) that an access or an assertion of the launch has failed."""
        b = self.b
        attributes = {"alignment": ir.IntegerAttr.get(b.i64_type, 4)}
        attributes["ordering"] = ir.IntegerAttr.get(b.i64_type, _RELAXED)
        failed = b.op("llvm.load", b.type(I32), b.offset(self.task, abi.FAILED, I8), **attributes)
        return b.cmp("ne", failed, b.i32(0))

    def unless_stopped(self, condition: ir.Value) -> ir.Value:
        """``condition``, false once something has failed: a loop may wait for what then does not happen."""
        runs = self.b.same("arith.xori", self.stopped(), self.b.constant(1, I1))
        return self.b.same("arith.andi", condition, runs)

    # --- accesses ----------------------------------------------------------------------------------------

    def mask(self, frame: Frame, op: Op, where: Address, mask: Lanes | None, level: int) -> Lanes:
        """``mask`` of access ``op`` (None: all lanes) without the lanes that may not be accessed, at ``level``."""
        b, pointer = frame.b, op.operand("ptr")
        dtype = pointer.dtype.element
        b.location = op.location
        with frame.at(level):
            if not (where.contiguous or where.pointer.wide):
                return self._one(frame, op, where.pointer.value, mask, level)
            address = where.pointer.value
            if where.contiguous:
                address = b.offset(address, b.iota(I64, frame.width), dtype)
            wide = frame.widen(mask) if mask is not None else b.constant(1, I1, frame.width)
            addresses = b.op("llvm.ptrtoint", b.type(I64, frame.width), address)
            allowed = self._lanes(op, addresses, wide, frame.width)
            return Lanes(b.same("arith.andi", wide, allowed), level, wide=True)

    def _one(self, frame: Frame, op: Op, pointer: ir.Value, mask: Lanes | None, level: int) -> Lanes:
        """One address for all lanes."""
        b = self.b
        address = b.op("llvm.ptrtoint", b.type(I64), pointer)
        outside = self._outside(op, address)
        if mask is not None:
            wanted = b.op("llvm.intr.vector.reduce.or", b.type(I1), mask.value) if mask.wide else mask.value
            outside = b.same("arith.andi", outside, wanted)
        branch, yes, no = b.branch(outside, [b.type(I1)])
        with b.inside(yes):
            b.yield_(self._query_checker(op, address))
        with b.inside(no):
            b.yield_(b.constant(1, I1))
        if mask is None:
            return Lanes(branch.result, level, wide=False)
        allowed = b.splat(branch.result, frame.width) if mask.wide else branch.result
        return Lanes(b.same("arith.andi", mask.value, allowed), level, mask.wide)

    def _lanes(self, op: Op, addresses: ir.Value, mask: ir.Value, width: int) -> ir.Value:
        """Mask of ``addresses`` that may be accessed; the checker sees those outside of the range, lane by
        lane.
        """
        b = self.b
        outside = b.same("arith.andi", self._outside(op, addresses, width), mask)
        found = b.op("llvm.intr.vector.reduce.or", b.type(I1), outside)
        every = b.constant(1, I1, width)
        branch, yes, no = b.branch(found, [every.type])
        with b.inside(no):
            b.yield_(every)
        with b.inside(yes):
            loop, block = b.loop(b.i64(0), b.i64(width), b.i64(1), [every])
            with b.inside(block):
                lane, allowed = block.arguments
                chosen = b.op("llvm.extractelement", b.type(I1), outside, lane)
                answer, query, skip = b.branch(chosen, [b.type(I1)])
                with b.inside(query):
                    b.yield_(
                        self._query_checker(op, b.op("llvm.extractelement", b.type(I64), addresses, lane))
                    )
                with b.inside(skip):
                    b.yield_(b.constant(1, I1))
                b.yield_(b.op("llvm.insertelement", every.type, allowed, answer.result, lane))
            b.yield_(loop.result)
        return branch.result

    def _outside(self, op: Op, address: ir.Value, width: int = 0) -> ir.Value:
        """Condition (i1) that an element at ``address`` is not within the range; addresses of a process are
        not negative.
        """
        b = self.b
        row = self._row(op)
        low, end = (b.load(b.offset(row, at, I8), I64) for at in (0, _END))
        last = b.same("arith.subi", end, b.i64(op.operand("ptr").dtype.element.nbytes))
        if width:
            low, last = b.splat(low, width), b.splat(last, width)
        return b.same("arith.ori", b.cmp("slt", address, low), b.cmp("sgt", address, last))

    def _row(self, op: Op) -> ir.Value:
        """The address of the range for ``op``."""
        return self.b.offset(self._ranges, _RANGE * self._range_of(op), I8)

    def _range_of(self, op: Op) -> int:
        parameter = self._parameter(op)
        return abi.range_index(
            len(self.parameters) if parameter is None else parameter, writes=changes_memory(op)
        )

    def _parameter(self, op: Op) -> int | None:
        root = root_pointer(op.operand("ptr"))
        return self.parameters.index(root) if root in self.parameters else None

    def _query_checker(self, op: Op, address: ir.Value) -> ir.Value:
        """The checker's answer: whether ``address`` may be accessed after all."""
        b = self.b
        site = b.i64(self._number(op))
        operands = [self._checker, self.task, site, *self.program, address, self._row(op)]
        answer = b.op(
            "llvm.call",
            b.type(I32),
            *operands,
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(operands), 0]),
            op_bundle_sizes=ir.DenseI32ArrayAttr.get([]),
        )
        return b.cmp("ne", answer, b.i32(0))

    def _number(self, op: Op) -> int:
        """The number of the record of ``op``."""
        if op not in self._numbers:
            self._numbers[op] = len(self.accesses)
            self.accesses.append(
                {
                    "verb": op.name.removeprefix("tt."),
                    "writes": changes_memory(op),
                    "parameter": self._parameter(op),
                    "size": op.operand("ptr").dtype.element.nbytes,
                    "place": frames_of(op),
                }
            )
        return self._numbers[op]
