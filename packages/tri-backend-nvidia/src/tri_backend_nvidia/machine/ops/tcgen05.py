"""Machine ops of tensor cores with a memory of their own: ``tcgen05``.

PTX ISA 9.0, section 9.7.16, "TensorCore 5th Generation Family Instructions".  Tensor memory has 512 columns and 128
lanes of 32 bits in each CTA; an address has the lane in bits 16 to 31, the column in bits 0 to 15 ("Tensor Memory
Addressing").  One thread starts dots, which run on their own until a barrier in memory says that they are done; a
warp moves data between registers and its quarter of the lanes.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_backend_nvidia.machine.base import NVM, Array, In, steps_of, text
from tri_backend_nvidia.machine.descriptors import descriptor, descriptor_registers
from tri_backend_nvidia.machine.ops.mbarrier import guarded
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = [
    "COLUMNS",
    "LANES",
    "InstructionDescriptor",
    "TensorCommitOp",
    "TensorFenceOp",
    "TensorMemoryAllocOp",
    "TensorMemoryDeallocOp",
    "TensorMemoryLoadOp",
    "TensorMemoryStoreOp",
    "TensorMemoryWaitOp",
    "TensorMultiplyOp",
    "TensorMultiplyTensorOp",
]

_Ins = Sequence[ext.Operand[Any]]
_Outs = Sequence[ext.Result[Any]]

#: columns and lanes of a CTA's tensor memory; columns are allocated by powers of two from this many on
COLUMNS, LANES, LEAST_COLUMNS = 512, 128, 32
#: columns that one load or store moves: ``.x1`` to ``.x128``
_WIDEST = 128

#: kind -> (number of the accumulator's type, PTX type -> number of an operand's type), PTX ISA table "Instruction descriptor
#: format for .kind::tf32, .kind::f16, .kind::f8f6f4 and .kind::i8"
KINDS: dict[str, tuple[int, dict[str, int]]] = {
    "f16": (1, {"f16": 0, "bf16": 1}),
    "tf32": (1, {"tf32": 2}),
    "f8f6f4": (1, {"e4m3": 0, "e5m2": 1}),
    "i8": (2, {"u8": 0, "s8": 1}),
}


@dataclass(frozen=True)
class InstructionDescriptor:
    """Shape and types of one ``tcgen05.mma``: ``m x n`` of PTX types ``a`` and ``b``, 32 bytes along k.

    ``a_rows``, ``b_rows``: whether rows of memory run along k (K-major), else along m or n.
    """

    kind: str
    m: int
    n: int
    a: str
    b: str
    a_rows: bool = True
    b_rows: bool = True

    @property
    def word(self) -> int:
        """The descriptor: the accumulator's type at bit 4, the operands' at 7 and 10, transpositions at 15 and 16, n / 8 at 17,
        m / 16 at 24 (PTX ISA 9.7.16.4.2, "Instruction descriptor")."""
        total, types = KINDS[self.kind]
        return (
            total << 4
            | types[self.a] << 7
            | types[self.b] << 10
            | int(not self.a_rows) << 15
            | int(not self.b_rows) << 16
            | self.n >> 3 << 17
            | self.m >> 4 << 24
        )

    @classmethod
    def parse(cls, kind: str, word: int) -> "InstructionDescriptor":
        """Undo :attr:`word`; ValueError for fields that are not what this kind has."""
        total, types = KINDS[kind]
        names = {number: name for name, number in types.items()}
        fields = [word >> at & 7 for at in (7, 10)]
        if word >> 4 & 3 != total or any(f not in names for f in fields) or word & 0xE080604F:
            raise ValueError(f"{word:#010x} is no instruction descriptor of kind::{kind}")
        transposed = word >> 15 & 1, word >> 16 & 1
        n, m = (word >> 17 & 63) << 3, (word >> 24 & 31) << 4
        return cls(kind, m, n, names[fields[0]], names[fields[1]], not transposed[0], not transposed[1])


# --- allocation -------------------------------------------------------------------------------------------


class TensorMemoryAllocOp(MachineOp, dialect=NVM, name="tcgen05_alloc"):
    """``tcgen05.alloc`` by the warp whose lanes have ``predicate``: the address of ``columns`` goes to ``address``.

    ``address``: 4 bytes of shared memory.  Waits until there are as many; after it, the CTA allocates no more
    (``relinquish_alloc_permit``), so that others may.
    """

    collective = True

    address: In
    predicate: In
    columns: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        columns = ir.IntegerAttr(self.columns).value
        body = (
            "{ .reg .b32 at; cvt.u32.u64 at, $0;"
            f" @$1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], {columns};"
            " @$1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; }"
        )
        address = b.ptr_to_int(self.address)
        b.inline_asm(body, "l,b,~{memory}", [address, self.predicate], convergent=True)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Columns of the CTA's tensor memory."""
        from tri_backend_nvidia.machine.simulation import tcgen05 as tcgen05_simulation

        address, predicate = operands
        tcgen05_simulation.alloc(cta, address, predicate, ir.IntegerAttr(self.columns).value)
        return []


class TensorMemoryDeallocOp(MachineOp, dialect=NVM, name="tcgen05_dealloc"):
    """``tcgen05.dealloc`` of ``columns`` at tensor memory ``address`` by the warp whose lanes have ``predicate``."""

    collective = True

    address: In
    predicate: In
    columns: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        columns = ir.IntegerAttr(self.columns).value
        body = f"@$1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 $0, {columns};"
        b.inline_asm(body, "r,b,~{memory}", [self.address, self.predicate], convergent=True)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The columns are free."""
        from tri_backend_nvidia.machine.simulation import tcgen05 as tcgen05_simulation

        address, predicate = operands
        tcgen05_simulation.dealloc(cta, address, predicate, ir.IntegerAttr(self.columns).value)
        return []


# --- registers ---------------------------------------------------------------------------------------------


class TensorMemoryLoadOp(MachineOp, dialect=NVM, name="tcgen05_ld"):
    """``tcgen05.ld.32x32b``: as many columns as there are results, from ``address`` on, of each lane of the warp.

    ``address`` has the first lane of the warp's quarter.  The results are undefined until a :class:`TensorMemoryWaitOp`.
    """

    collective = True

    outputs: _Outs
    address: In

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        results = [r.type for r in self.operation.results]
        count = len(results)
        registers = "{" + ", ".join(f"${i}" for i in range(count)) + "}"
        body = f"tcgen05.ld.sync.aligned.32x32b.x{count}.b32 {registers}, [${count}];"
        constraints = ",".join(["=r"] * count + ["r", "~{memory}"])
        return b.inline_asm(body, constraints, [self.address], results, convergent=True)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Read now; given at the wait."""
        from tri_backend_nvidia.machine.simulation import tcgen05 as tcgen05_simulation

        return tcgen05_simulation.load(cta, operands[0], len(self.operation.results))


class TensorMemoryStoreOp(MachineOp, dialect=NVM, name="tcgen05_st"):
    """``tcgen05.st.32x32b``: ``values`` to as many columns from ``address`` on, in each lane of the warp."""

    collective = True

    address: In
    values: _Ins

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        operands = list(self.operation.operands)
        count = len(operands) - 1
        registers = "{" + ", ".join(f"${i + 1}" for i in range(count)) + "}"
        body = f"tcgen05.st.sync.aligned.32x32b.x{count}.b32 [$0], {registers};"
        b.inline_asm(body, ",".join(["r"] * (count + 1) + ["~{memory}"]), operands, convergent=True)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Undefined until the wait."""
        from tri_backend_nvidia.machine.simulation import tcgen05 as tcgen05_simulation

        tcgen05_simulation.store(cta, operands[0], operands[1:])
        return []


class TensorMemoryWaitOp(MachineOp, dialect=NVM, name="tcgen05_wait"):
    """``tcgen05.wait::KIND``, ``ld`` or ``st``: until this thread's loads or stores are done; gives ``values``."""

    collective = True

    outputs: _Outs
    values: _Ins
    kind: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly, tied to the registers that it releases."""
        operands, results = list(self.operation.operands), [r.type for r in self.operation.results]
        constraints = ["=r"] * len(results) + [str(i) for i in range(len(results))] + ["~{memory}"]
        body = f"tcgen05.wait::{text(self.kind)}.sync.aligned;"
        return b.inline_asm(body, ",".join(constraints), operands, results, convergent=True)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Values that were read, in place of undefined ones."""
        from tri_backend_nvidia.machine.simulation import tcgen05 as tcgen05_simulation

        return tcgen05_simulation.wait(cta, text(self.kind), operands)


# --- dots --------------------------------------------------------------------------------------------------


class TensorMultiplyOp(MachineOp, dialect=NVM, name="tcgen05_mma"):
    """``tcgen05.mma`` of operands in shared memory, started by the one thread that has ``predicate``.

    ``total``: the accumulator's address in tensor memory; ``a``, ``b``: low words of the matrix descriptors, whose high words are
    ``a_high`` and ``b_high``.  ``steps`` has three numbers per instruction, added to these three; the first
    step of each accumulator adds to what is there where ``add``.
    """

    computes_floats = True

    collective = True

    total: In
    a: In
    b: In
    add: In
    predicate: In
    kind: ir.StringAttr
    descriptor: ir.IntegerAttr
    a_high: ir.IntegerAttr
    b_high: ir.IntegerAttr
    steps: Any

    def plan(self) -> list[tuple[int, int, int]]:
        """(column of the accumulator, offset of A, offset of B) of each instruction."""
        return steps_of(self.operation)

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """One inline assembly."""
        word, highs = ir.IntegerAttr(self.descriptor).value, (self.a_high, self.b_high)
        plan = self.plan()
        lines = [
            *descriptor_registers("ab", len(plan)),
            f".reg .b32 idesc, sum<{len(plan)}>;",
            ".reg .pred yes;",
            "setp.eq.u32 yes, 0, 0;",
            f"mov.b32 idesc, {word};",
        ]
        seen: set[int] = set()
        for step, (column, *offsets) in enumerate(plan):
            lines.append(f"add.u32 sum{step}, $0, {column};")
            for name, operand, offset, high in zip("ab", (1, 2), offsets, highs, strict=True):
                lines.append(descriptor(name, step, operand, offset, ir.IntegerAttr(high).value))
            adds = "yes" if column in seen else "$3"
            given = f"[sum{step}], da{step}, db{step}, idesc, {adds}"
            lines.append(f"@$4 tcgen05.mma.cta_group::1.kind::{text(self.kind)} {given};")
            seen.add(column)
        operands = list(self.operation.operands)
        b.inline_asm("{ " + " ".join(lines) + " }", "r,r,r,b,b,~{memory}", operands)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Operands are read now, and once more when somebody waits; until then the accumulator is not to be touched."""
        from tri_backend_nvidia.machine.simulation import tcgen05 as tcgen05_simulation

        word = ir.IntegerAttr(self.descriptor).value
        highs = (ir.IntegerAttr(self.a_high).value, ir.IntegerAttr(self.b_high).value)
        descriptor = InstructionDescriptor.parse(text(self.kind), word)
        tcgen05_simulation.multiply(cta, descriptor, self.plan(), highs, operands)
        return []


class TensorMultiplyTensorOp(MachineOp, dialect=NVM, name="tcgen05_mma_ts"):
    """``tcgen05.mma`` whose A is in tensor memory, started by the one thread that has ``predicate``.

    As ``tcgen05_mma``, but for ``a``, an address in tensor memory: row ``i`` is in lane ``i``, 32 bytes along k of an instruction in
    8 columns.  ``steps`` has three numbers per instruction, added to ``total``, ``a`` and ``b``.
    """

    computes_floats = True

    collective = True

    total: In
    a: In
    b: In
    add: In
    predicate: In
    kind: ir.StringAttr
    descriptor: ir.IntegerAttr
    b_high: ir.IntegerAttr
    steps: Any

    def plan(self) -> list[tuple[int, int, int]]:
        """(column of the accumulator, column of A, offset of B) of each instruction."""
        return steps_of(self.operation)

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """One inline assembly."""
        word, high = ir.IntegerAttr(self.descriptor).value, ir.IntegerAttr(self.b_high).value
        name = f"tcgen05.mma.cta_group::1.kind::{text(self.kind)}"
        plan = self.plan()
        lines = [
            *descriptor_registers("b", len(plan)),
            f".reg .b32 idesc, sum<{len(plan)}>, left<{len(plan)}>;",
            ".reg .pred yes;",
            "setp.eq.u32 yes, 0, 0;",
            f"mov.b32 idesc, {word};",
        ]
        seen: set[int] = set()
        for step, (column, left, offset) in enumerate(plan):
            lines += [f"add.u32 sum{step}, $0, {column};", f"add.u32 left{step}, $1, {left};"]
            lines.append(descriptor("b", step, 2, offset, high))
            adds = "yes" if column in seen else "$3"
            lines.append(f"@$4 {name} [sum{step}], [left{step}], db{step}, idesc, {adds};")
            seen.add(column)
        b.inline_asm("{ " + " ".join(lines) + " }", "r,r,r,b,b,~{memory}", list(self.operation.operands))
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """As ``tcgen05_mma``; what A's columns hold must stay until somebody waits."""
        from tri_backend_nvidia.machine.simulation import tcgen05 as tcgen05_simulation

        word = ir.IntegerAttr(self.descriptor).value
        highs = (None, ir.IntegerAttr(self.b_high).value)
        descriptor = InstructionDescriptor.parse(text(self.kind), word)
        tcgen05_simulation.multiply(cta, descriptor, self.plan(), highs, operands)
        return []


class TensorCommitOp(MachineOp, dialect=NVM, name="tcgen05_commit"):
    """``tcgen05.commit``: one arrival at the barrier in memory ``address`` when all dots are done that the one
    thread with ``predicate`` has started."""

    collective = True

    address: In
    predicate: In

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        body = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [$0];"
        guarded(b, body, "l", [self.address], self.predicate)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The dots land with the barrier's phase."""
        from tri_backend_nvidia.machine.simulation import tcgen05 as tcgen05_simulation

        tcgen05_simulation.commit(cta, *operands)
        return []


class TensorFenceOp(MachineOp, dialect=NVM, name="tcgen05_fence"):
    """``tcgen05.fence::KIND``: ``before_thread_sync`` or ``after_thread_sync``.

    Asynchronous ``tcgen05`` instructions are ordered with what orders threads by these alone (PTX ISA 9.7.16.6.3).
    """

    collective = True

    kind: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        b.inline_asm(f"tcgen05.fence::{text(self.kind)};", "~{memory}", [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The active threads' later or earlier accesses are ordered."""
        from tri_backend_nvidia.machine.simulation import tcgen05 as tcgen05_simulation

        tcgen05_simulation.fence(cta, text(self.kind))
        return []
