"""Machine ops of warp groups' dots: ``wgmma``, which four warps start together, and its wait."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_backend_nvidia.machine.base import NVM, Array, In, steps_of, text
from tri_backend_nvidia.machine.descriptors import descriptor, descriptor_registers
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["GROUP_WARPS", "WgmmaOp", "WgmmaShape", "WgmmaWaitOp"]

_Ins = Sequence[ext.Operand[Any]]
_Outs = Sequence[ext.Result[Any]]

#: warps of a group: consecutive, the first one's number a multiple of this
GROUP_WARPS = 4
#: registers per thread of an operand A of one instruction, whatever its type
A_REGISTERS = 4

_REGISTER = {"i32": "r", "f32": "f"}
#: element types that may be read transposed from shared memory
_SIXTEEN_BITS = ("f16", "bf16")


@dataclass(frozen=True)
class WgmmaShape:
    """Shape and types of one ``wgmma``: ``m64nNkK`` of PTX types ``a``, ``b`` and ``accumulator``.

    ``a_rows``, ``b_rows``: whether rows of memory run along k (K-major), else along m or n.
    """

    n: int
    k: int
    a: str
    b: str
    accumulator: str
    a_rows: bool = True
    b_rows: bool = True

    def __str__(self) -> str:
        majors = "".join("k" if rows else "m" for rows in (self.a_rows, self.b_rows))
        return f"{self.n} {self.k} {self.a} {self.b} {self.accumulator} {majors}"

    @classmethod
    def parse(cls, given: str) -> "WgmmaShape":
        """Undo ``str``."""
        n, k, a, b, total, majors = given.split()
        return cls(int(n), int(k), a, b, total, majors[0] == "k", majors[1] == "k")

    @property
    def registers(self) -> int:
        """Registers per thread of an accumulator: 64 x n over 128 threads; two sums in f16 share one."""
        return self.n // (4 if self.accumulator == "f16" else 2)

    @property
    def name(self) -> str:
        """The instruction."""
        return f"wgmma.mma_async.sync.aligned.m64n{self.n}k{self.k}.{self.accumulator}.{self.a}.{self.b}"

    def immediates(self, *, a_in_memory: bool) -> str:
        """Immediates after the predicate: signs, and transpositions where the types allow them."""
        if self.accumulator == "s32":
            return ""
        if self.a not in _SIXTEEN_BITS:
            return ", 1, 1"
        transposed = [int(not self.a_rows)] if a_in_memory else []
        return ", 1, 1, " + ", ".join(map(str, [*transposed, int(not self.b_rows)]))


class WgmmaOp(MachineOp, dialect=NVM, name="wgmma"):
    """All steps of a warp group's dot, as one group: a fence, a ``wgmma`` per tile of the accumulator and step of k, a commit.

    ``total`` has the registers of all tiles, tile by tile; the first step of a tile adds to them where ``add``.
    ``a``: registers of A, four for each row of tiles and step, or the low word of its matrix descriptor; ``b``: the low
    word of B's.  ``a_high`` and ``b_high`` are the high words.  ``steps`` has three numbers per instruction: its tile, and what is
    added to A's and to B's low word (with A in registers: where its registers start).
    The results are undefined until a :class:`WgmmaWaitOp`.
    """

    computes_floats = True

    collective = True

    outputs: _Outs
    total: _Ins
    a: _Ins
    b: In
    add: In
    shape: ir.StringAttr
    a_high: ir.IntegerAttr
    b_high: ir.IntegerAttr
    steps: Any

    def counts(self) -> tuple[int, int]:
        """Number of registers of the accumulator and A."""
        total, a, _, _ = ir.DenseI32ArrayAttr(self.operation.attributes["operandSegmentSizes"])
        return total, a

    def plan(self) -> list[tuple[int, int, int]]:
        """(tile, offset of A, offset of B) of each instruction."""
        return steps_of(self.operation)

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """One inline assembly: nothing can come between its instructions.

        No register is written twice: ptxas from 13.3 on drops a ``wgmma`` whose descriptors have the names of the one before it.
        """
        shape = WgmmaShape.parse(text(self.shape))
        total, a = self.counts()
        plan = self.plan()
        lines = [
            *descriptor_registers("ab" if a == 1 else "b", len(plan)),
            ".reg .pred yes;",
            "setp.eq.u32 yes, 0, 0;",
            "wgmma.fence.sync.aligned;",
        ]
        seen: set[int] = set()
        for step, (tile, a_offset, b_offset) in enumerate(plan):
            first = tile * shape.registers
            sum_ = _group(first, shape.registers)
            if a == 1:
                left = f"da{step}"
                lines.append(descriptor("a", step, 2 * total, a_offset, ir.IntegerAttr(self.a_high).value))
            else:
                left = _group(2 * total + a_offset, A_REGISTERS)
            lines.append(descriptor("b", step, 2 * total + a, b_offset, ir.IntegerAttr(self.b_high).value))
            predicate = "yes" if tile in seen else f"${2 * total + a + 1}"
            lines.append(
                f"{shape.name} {sum_}, {left}, db{step}, {predicate}{shape.immediates(a_in_memory=a == 1)};"
            )
            seen.add(tile)
        lines.append("wgmma.commit_group.sync.aligned;")
        operands = list(self.operation.operands)
        results = [r.type for r in self.operation.results]
        register = _REGISTER[str(results[0])]
        constraints = [f"={register}"] * total + [str(i) for i in range(total)] + ["r"] * (a + 1) + ["b"]
        return b.inline_asm(
            "{ " + " ".join(lines) + " }",
            ",".join([*constraints, "~{memory}"]),
            operands,
            results,
            convergent=True,
        )

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Operands are read now, and once more at the wait; the results come then."""
        return self._started(cta, operands, exact=False)

    def simulate_exactly(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The same, of integers modulo a power of two."""
        return self._started(cta, operands, exact=True)

    def _started(self, cta: SimulatedCTA, operands: Sequence[Array], *, exact: bool) -> Sequence[Array]:
        from tri_backend_nvidia.machine.simulation import wgmma as wgmma_simulation

        total, a = self.counts()
        highs = (ir.IntegerAttr(self.a_high).value, ir.IntegerAttr(self.b_high).value)
        shape = WgmmaShape.parse(text(self.shape))
        return wgmma_simulation.start(cta, shape, self.plan(), (total, a), highs, operands, exact=exact)


def _group(first: int, count: int) -> str:
    return "{" + ", ".join(f"${i}" for i in range(first, first + count)) + "}"


class WgmmaWaitOp(MachineOp, dialect=NVM, name="wgmma_wait"):
    """``wgmma.wait_group``: until at most ``pendings`` groups of this warp group are under way; gives ``values``."""

    collective = True

    outputs: _Outs
    values: _Ins
    pendings: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly, tied to the registers that it releases."""
        operands, results = list(self.operation.operands), [r.type for r in self.operation.results]
        kinds = [_REGISTER[str(t)] for t in results]
        constraints = [f"={kind}" for kind in kinds] + [str(i) for i in range(len(kinds))] + ["~{memory}"]
        body = f"wgmma.wait_group.sync.aligned {ir.IntegerAttr(self.pendings).value};"
        return b.inline_asm(body, ",".join(constraints), operands, results, convergent=True)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The accumulators of dots that are done, in place of undefined values."""
        from tri_backend_nvidia.machine.simulation import wgmma as wgmma_simulation

        return wgmma_simulation.wait(cta, ir.IntegerAttr(self.pendings).value, operands)
