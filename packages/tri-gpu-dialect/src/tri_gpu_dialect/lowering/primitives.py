"""The hardware's words: what a vendor must say before the generic lowering can speak for it.

Every method emits ops at the ambient insertion point and works on scalars (and small vectors, where it
says so), never on tensors.  The abstract ones are the handful that no two vendors share; the others have
defaults made of plain LLVM, which a vendor replaces where its hardware does better.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import ClassVar

from tri_core.dialects.tt.enums import AtomicOp, CacheModifier, EvictionPolicy, MemSemantic, MemSyncScope
from tri_core.errors import Unsupported
from tri_core.fault_records import ASSERTIONS
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.options import CommonOptions
from tri_core.target import Target
from tri_gpu_dialect.encodings.matrix import MatrixEncoding
from tri_gpu_dialect.lowering.builder import Builder

__all__ = ["Access", "AtomicAccess", "LaneMove", "LaneReduction", "LaneSwap", "Primitives"]

_ORDERINGS = {
    MemSemantic.RELAXED: 2,  # monotonic
    MemSemantic.ACQUIRE: 4,
    MemSemantic.RELEASE: 5,
    MemSemantic.ACQUIRE_RELEASE: 6,
}

#: LLVM's atomicrmw kinds (``llvm::AtomicRMWInst::BinOp`` as the llvm dialect numbers them)
_RMW = {
    AtomicOp.XCHG: 0,
    AtomicOp.ADD: 1,
    AtomicOp.AND: 3,
    AtomicOp.OR: 5,
    AtomicOp.XOR: 6,
    AtomicOp.MAX: 7,
    AtomicOp.MIN: 8,
    AtomicOp.UMAX: 9,
    AtomicOp.UMIN: 10,
    AtomicOp.FADD: 11,
}

#: float types that LLVM has beside f32 and f64, by Triton's names, as targets list them
_DTYPES = {"f16": "fp16", "bf16": "bf16"}


@dataclass(frozen=True)
class Access:
    """Properties of a global-memory access: alignment in bytes, cache modifier, eviction policy, volatility.

    ``hints``: what modifiers and scopes of plugins say, by their full names (``acme.cache``).
    """

    align: int
    cache: CacheModifier = CacheModifier.NONE
    evict: EvictionPolicy = EvictionPolicy.NORMAL
    volatile: bool = False
    hints: Mapping[str, ir.Attribute] = field(default_factory=dict)


@dataclass(frozen=True)
class AtomicAccess:
    """Memory order and scope of an atomic operation."""

    sem: MemSemantic = MemSemantic.ACQUIRE_RELEASE
    scope: MemSyncScope = MemSyncScope.GPU


#: an i32 of another lane: emits the movement of one that every lane has
LaneMove = Callable[[Builder, ir.Value], ir.Value]


@dataclass(frozen=True)
class LaneSwap:
    """``exchange`` emits two i32 of one that every lane has: both of a pair of lanes get the same two, their own values in some order."""

    exchange: Callable[[Builder, ir.Value], tuple[ir.Value, ir.Value]]


@dataclass(frozen=True)
class LaneReduction:
    """Reduction across lanes by ``moves``, one after the other: each combines with a moved value, or with the
    result of a swap; ``spread`` then broadcasts the result.

    Without ``spread`` every lane has the total.  What a lane has that gets no total may be anything.
    """

    moves: tuple[LaneMove | LaneSwap, ...]
    spread: LaneMove | None = None


class Primitives(abc.ABC):
    """One vendor's words for one compile; ``threads_per_warp`` lanes, ``num_warps`` warps per CTA, partitions' included."""

    #: what source locations become in LLVM's text under ``TRI_LINE_INFO``: MLIR's name of an emission kind
    line_info: ClassVar[str] = "LineTablesOnly"
    #: why the target takes no inline assembly; empty where it does
    no_assembly: ClassVar[str] = ""
    #: whether places in shared memory that differ in constant bits share one register, the constant being in the instruction
    shares_addresses: ClassVar[bool] = False
    #: whether equal bits of a mask share one comparison, which lives longer then
    shares_comparisons: ClassVar[bool] = True
    #: whether loops carry elements of 8 and 16 bits in words of 32, as loads give them: taken apart they would be waited for where they are loaded
    carries_words: ClassVar[bool] = False
    #: whether a kernel with assertions is passed the slot of a record (:class:`tri_core.abi.HiddenParameters`)
    records_failures: ClassVar[bool] = False

    def __init__(
        self, target: Target, options: CommonOptions, *, threads_per_warp: int, num_warps: int
    ) -> None:
        self.target = target
        self.options = options
        self.threads_per_warp = threads_per_warp
        self.num_warps = num_warps
        #: CTAs that run a program together
        self.num_ctas = 1
        self._assertions: list[tuple[str, str, int]] = []

    # --- what every vendor says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def address_space(self, name: str) -> int:
        """The LLVM address space of ``"global"``, ``"shared"``, ``"constant"`` or ``"generic"``."""

    @abc.abstractmethod
    def kernel_attributes(self, name: str) -> Mapping[str, ir.Attribute]:
        """Attributes of the kernel's ``llvm.func``: calling convention, work-group size, ``passthrough``."""

    def descriptor_attributes(self) -> Mapping[str, ir.Attribute]:
        """Attributes of a parameter, a pointer, that holds an encoded descriptor by value."""
        raise Unsupported(f"{self.target} has no descriptors that a launch encodes")

    def prefetch_descriptor(self, b: Builder, pointer: ir.Value) -> None:  # noqa: B027 (hardware may have no way)
        """Fetch the encoded descriptor at ``pointer``, which copies will read, where the hardware can do so ahead of them."""

    def image_attributes(self) -> Mapping[str, object]:
        """JSON-able facts for the attributes of the image, of what these words have been used for.

        ``assertions``: message, file and line of each, by the number that :meth:`assertion_site` gave.
        """
        return {ASSERTIONS: [list(site) for site in self._assertions]} if self._assertions else {}

    def assertion_site(self, message: str, file: str, line: int) -> int:
        """The number of an assertion in the records of its kernel."""
        site = (message, file, line)
        if site not in self._assertions:
            self._assertions.append(site)
        return self._assertions.index(site)

    @abc.abstractmethod
    def program_id(self, b: Builder, axis: int) -> ir.Value:
        """The index of this program along ``axis`` (0, 1, 2), i32; a program is run by a CTA, or by a cluster of them."""

    @abc.abstractmethod
    def num_programs(self, b: Builder, axis: int) -> ir.Value:
        """The number of programs along ``axis``, i32."""

    @abc.abstractmethod
    def thread_id(self, b: Builder) -> ir.Value:
        """The linear index of this thread in its CTA, i32; warp w has threads ``w * threads_per_warp + lane``."""

    @abc.abstractmethod
    def barrier(self, b: Builder) -> None:
        """All threads of the CTA synchronise; shared and global memory written before is seen after."""

    @abc.abstractmethod
    def shuffle_idx(self, b: Builder, value: ir.Value, lane: ir.Value) -> ir.Value:
        """``value`` (i32) of lane ``lane`` (i32, in range) of this warp; every lane takes part."""

    def shared_barrier(self, b: Builder) -> None:
        """All threads of the CTA synchronise; shared memory written before is seen after, of global memory nothing is said."""
        self.barrier(b)

    # --- threads ------------------------------------------------------------------------------------------

    def lane_id(self, b: Builder, thread: ir.Value) -> ir.Value:
        """The lane of ``thread`` in its warp, i32."""
        return b.and_(thread, b.int_(self.threads_per_warp - 1))

    def warp_id(self, b: Builder, thread: ir.Value) -> ir.Value:
        """The warp of ``thread`` in its CTA, i32; a vendor may make it uniform."""
        return b.lshr(thread, self.threads_per_warp.bit_length() - 1)

    def shuffle_xor(self, b: Builder, value: ir.Value, mask: int) -> ir.Value:
        """``value`` (i32) of the lane whose number is this one's xor ``mask``."""
        lane = self.lane_id(b, self.thread_id(b))
        return self.shuffle_idx(b, value, b.xor(lane, b.int_(mask)))

    def shuffle_before(self, b: Builder, value: ir.Value, bit: int, low: int, reverse: bool) -> ir.Value:
        """``value`` (i32) of the last lane of the earlier of two blocks, in a scan, in the later one; anything in the earlier one.

        The later block's lanes have ``bit``, and the last lane of a block has the bits ``low``; the other way round where ``reverse``.
        """
        lane = self.lane_id(b, self.thread_id(b))
        clear, put = (low, bit) if reverse else (bit, low)
        return self.shuffle_idx(b, value, b.or_(b.and_(lane, b.int_(~clear)), b.int_(put)))

    def reduce_lanes(self, masks: tuple[int, ...]) -> LaneReduction:
        """Reduction across lanes whose indices differ by combinations of ``masks``, in any order."""
        return LaneReduction(tuple(partial(_exchange, self, mask) for mask in masks))

    def combined_at_once(self, name: str, type_: ir.Type) -> int:
        """Number of values of ``type_`` that one instruction combines by the operation ``name``
        (``arith.maxnumf``): 2, or 3.
        """
        del name, type_
        return 2

    #: whether :meth:`permute_bytes` is an instruction
    has_byte_permutes: bool = False

    def permute_bytes(self, b: Builder, low: ir.Value, high: ir.Value, selector: tuple[int, ...]) -> ir.Value:
        """The word (i32) whose byte i is number ``selector[i]`` of the eight of ``low`` (0 to 3) and ``high`` (4 to 7)."""
        raise Unsupported(f"{self.target} has no byte permutes", remedy="ask has_byte_permutes first")

    # --- clusters: CTAs that run one program together ----------------------------------------------------

    def in_clusters(self, num_ctas: int) -> None:
        """Programs are run by clusters of ``num_ctas`` CTAs, neighbours along x; said before any other word."""
        if num_ctas > 1:
            raise Unsupported(f"{self.target} has no clusters of CTAs", remedy="use num_ctas=1")

    def cta_rank(self, b: Builder) -> ir.Value:
        """The number of this CTA in its cluster, i32."""
        return b.int_(0)

    def cluster_barrier(self, b: Builder) -> None:
        """All threads of the cluster synchronise; shared and global memory written before is seen after."""
        self.barrier(b)

    def load_peer(
        self, b: Builder, pointer: ir.Value, rank: ir.Value, type_: ir.Type, align: int
    ) -> ir.Value:
        """Read a scalar or vector that is where ``pointer`` points, but in the shared memory of CTA ``rank`` (i32)."""
        raise Unsupported(f"{self.target} has no clusters of CTAs", remedy="use num_ctas=1")

    # --- partitions: warps that run different regions at the same time -----------------------------------

    def elect(self, b: Builder) -> ir.Value:
        """True (i1) on one elected thread of the warp; all lanes must execute it."""
        return b.cmp("eq", self.lane_id(b, self.thread_id(b)), b.int_(0))

    def partition_barrier(self, b: Builder, number: int, warps: int) -> None:
        """``warps`` warps of the CTA synchronise at barrier ``number`` (1 or more), as at :meth:`barrier`."""
        raise Unsupported(
            f"{self.target} has no barriers for some of a CTA's warps",
            remedy="compile without warp specialisation",
        )

    def set_registers(self, b: Builder, count: int) -> None:
        """From here on each thread of this warp has ``count`` registers; a hint, which the default leaves out."""
        return

    # --- global memory ------------------------------------------------------------------------------------

    def load_global(
        self,
        b: Builder,
        pointer: ir.Value,
        type_: ir.Type,
        predicate: ir.Value | None,
        other: ir.Value | None,
        access: Access,
    ) -> ir.Value:
        """Read a scalar or vector of ``type_``; where ``predicate`` is false give ``other`` (or anything)."""
        return _guarded_load(b, pointer, type_, predicate, other, access.align, access.volatile)

    def store_global(
        self, b: Builder, pointer: ir.Value, value: ir.Value, predicate: ir.Value | None, access: Access
    ) -> None:
        """Write a scalar or vector where ``predicate`` is true (or None)."""
        _guarded_store(b, pointer, value, predicate, access.align, access.volatile)

    def atomic_rmw(
        self,
        b: Builder,
        kind: AtomicOp,
        pointer: ir.Value,
        value: ir.Value,
        predicate: ir.Value | None,
        access: AtomicAccess,
    ) -> ir.Value:
        """Atomic read-modify-write of a scalar, or of a vector (see :meth:`atomic_width`); yields the old value, anything where the predicate is false."""

        def body() -> list[ir.Value]:
            attributes = {
                "bin_op": ir.IntegerAttr.get(b.i64, _RMW[kind]),
                "ordering": ir.IntegerAttr.get(b.i64, _ORDERINGS[access.sem]),
                **self._scope(access.scope),
            }
            return [b.op("llvm.atomicrmw", (pointer, value), value.type, attributes)]

        return body()[0] if predicate is None else b.if_(predicate, body, None, [value.type])[0]

    def atomic_cas(
        self,
        b: Builder,
        pointer: ir.Value,
        compare: ir.Value,
        value: ir.Value,
        predicate: ir.Value | None,
        access: AtomicAccess,
    ) -> ir.Value:
        """Atomic compare-and-swap of an integer or pointer; yields the old value."""

        def body() -> list[ir.Value]:
            order = _ORDERINGS[access.sem]
            failure = {5: 2, 6: 4}.get(order, order)  # a failed swap stores nothing, so releases nothing
            attributes = {
                "success_ordering": ir.IntegerAttr.get(b.i64, order),
                "failure_ordering": ir.IntegerAttr.get(b.i64, failure),
                **self._scope(access.scope),
            }
            pair = b.struct_type([value.type, b.i1])
            both = b.op("llvm.cmpxchg", (pointer, compare, value), pair, attributes)
            return [b.struct_fields(both, [value.type])[0]]

        return body()[0] if predicate is None else b.if_(predicate, body, None, [value.type])[0]

    def atomic_load(
        self,
        b: Builder,
        pointer: ir.Value,
        type_: ir.Type,
        predicate: ir.Value | None,
        access: AtomicAccess,
    ) -> ir.Value:
        """Atomic load of an integer (see :meth:`has_atomic_load`), relaxed or acquire; anything where the predicate is false."""

        def body() -> list[ir.Value]:
            attributes = {
                "ordering": ir.IntegerAttr.get(b.i64, _ORDERINGS[access.sem]),
                "alignment": ir.IntegerAttr.get(b.i64, type_.width // 8),
                **self._scope(access.scope),
            }
            return [b.op("llvm.load", (pointer,), type_, attributes)]

        return body()[0] if predicate is None else b.if_(predicate, body, None, [type_])[0]

    def has_atomic_load(self, bits: int) -> bool:
        """True if :meth:`atomic_load` supports integers of ``bits`` bits; others are read as
        :meth:`atomic_rmw` would change them.
        """
        return bits >= 32

    def fence(self, b: Builder, access: AtomicAccess) -> None:
        """Order this thread's accesses of memory around here: relaxed atomics before it acquire, those behind it release, as ``access`` says."""
        attributes = {
            "ordering": ir.IntegerAttr.get(b.i64, _ORDERINGS[access.sem]),
            **self._scope(access.scope),
        }
        b.run("llvm.fence", (), (), attributes)

    def has_atomic(self, kind: AtomicOp | None, element: ir.Type) -> bool:
        """True if :meth:`atomic_rmw` supports ``kind`` (None: :meth:`atomic_cas` is meant) on an ``element``
        type.

        What it lacks is made of compare-and-swap on 32-bit words.
        """
        return not isinstance(element, (ir.IntegerType, ir.FloatType)) or element.width >= 32

    def atomic_width(self, kind: AtomicOp, element: ir.Type) -> int:
        """Number of neighbouring ``element`` values, aligned as a whole, that one :meth:`atomic_rmw` takes as
        a vector: a power of two.

        Each element is changed atomically, the vector as a whole need not be.  Where it is more than 1, all smaller powers
        down to 2 are known as well; single elements are for :meth:`has_atomic` to say.
        """
        del kind, element
        return 1

    def nanoseconds(self, b: Builder) -> ir.Value:
        """A clock that only goes forward, i64, in nanoseconds."""
        raise Unsupported(f"{self.target} has no clock in kernels", remedy="leave out the timeout")

    def _scope(self, scope: MemSyncScope) -> dict[str, ir.Attribute]:
        name = self.sync_scope(scope)
        return {"syncscope": ir.StringAttr.get(name)} if name else {}

    def sync_scope(self, scope: MemSyncScope) -> str:
        """LLVM's name for ``scope`` on this target; empty for the system."""
        return ""

    # --- shared memory ------------------------------------------------------------------------------------

    def shared_base(self, b: Builder, nbytes: int) -> ir.Value:
        """The base of the CTA's ``nbytes`` of shared memory, aligned to 16 bytes or more."""
        name, space = "tri_shared", self.address_space("shared")
        if name not in b.symbols():
            text = f"!llvm.array<{max(nbytes, 1)} x i8>"
            attributes: dict[str, ir.Attribute] = {
                "sym_name": ir.StringAttr.get(name),
                "global_type": ir.TypeAttr.get(ir.Type.parse(text)),
                "addr_space": ir.IntegerAttr.get(b.i32, space),
                "linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
                "alignment": ir.IntegerAttr.get(b.i64, 128),
                "dso_local": ir.UnitAttr.get(),
            }
            ip = ir.InsertionPoint.at_block_begin(b.module.body)
            made = ir.Operation.create("llvm.mlir.global", attributes=attributes, regions=1, ip=ip)
            with ir.InsertionPoint(made.regions[0].blocks.append()):
                undefined = ir.Operation.create("llvm.mlir.undef", results=[ir.Type.parse(text)]).results[0]
                ir.Operation.create("llvm.return", operands=[undefined])
            b.symbols().add(name)
        symbol = {"global_name": ir.FlatSymbolRefAttr.get(name)}
        return b.op("llvm.mlir.addressof", (), b.ptr(space), symbol)

    def load_shared(
        self, b: Builder, pointer: ir.Value, type_: ir.Type, predicate: ir.Value | None, align: int
    ) -> ir.Value:
        """Read a scalar or vector; anything where ``predicate`` is false."""
        return _guarded_load(b, pointer, type_, predicate, None, align, False)

    def store_shared(
        self, b: Builder, pointer: ir.Value, value: ir.Value, predicate: ir.Value | None, align: int
    ) -> None:
        """Write a scalar or vector where ``predicate`` is true (or None)."""
        _guarded_store(b, pointer, value, predicate, align, False)

    # --- matrices -----------------------------------------------------------------------------------------

    def matrix_operand(
        self, b: Builder, dot: ir.Operation, index: int, registers: Sequence[ir.Value]
    ) -> Sequence[ir.Value]:
        """One fragment of operand ``index`` of ``dot`` as :meth:`matrix_multiply` takes it; asked once per fragment."""
        return registers

    def matrix_multiply(
        self,
        b: Builder,
        dot: ir.Operation,
        left: Sequence[ir.Value],
        right: Sequence[ir.Value],
        total: Sequence[ir.Value],
    ) -> Sequence[ir.Value]:
        """One matrix instruction of ``dot``: fragments of its operands, and registers of the accumulator.

        Registers come and go in the order of the fragments of the result's encoding (a ``MatrixEncoding``).
        """
        raise Unsupported(f"{self.target} has no matrix instructions for {dot.results[0].type}")

    def carried_vector(self, encoding: MatrixEncoding) -> int:
        """Number of registers of a matrix instruction's result that loops and branches carry in one vector
        (1: none).

        Those follow each other in the order of the result's registers: what an instruction takes and gives as one value.
        """
        return 1

    # --- arithmetic ---------------------------------------------------------------------------------------

    def native(self, type_name: str) -> bool:
        """True if the hardware computes on LLVM's float type ``type_name`` (``"f16"``, ``"bf16"``, ...).

        One that cannot is held as an integer of its width and computed on through f32.
        """
        return type_name in ("f32", "f64") or _DTYPES.get(type_name) in self.target.spec.dtypes

    def math(self, b: Builder, name: str, args: Sequence[ir.Value]) -> ir.Value | None:
        """``exp2``, ``sin``, ... of scalars of one float type; None: use the generic expansion."""
        return None

    def cast(self, b: Builder, value: ir.Value, source: str, target: str, rounding: str) -> ir.Value | None:
        """A float cast between formats (``"f8E5M2"``, ``"bf16"``, ``"f32"``); None: use bit manipulation.

        Formats that are not :meth:`native` are integers here; ``rounding`` is ``"rtne"`` or ``"rtz"``.
        """
        return None

    def casts(
        self, b: Builder, values: Sequence[ir.Value], source: str, target: str, rounding: str
    ) -> Sequence[ir.Value] | None:
        """:meth:`cast` of all values that a thread has of a tensor, for hardware that takes several at once; None: one by one."""
        return None

    def extern(
        self, b: Builder, libname: str, symbol: str, args: Sequence[ir.Value], result: ir.Type
    ) -> ir.Value:
        """A call of ``symbol`` of a device library on scalars."""
        return b.call(symbol, args, [result])[0]

    def inline_assembly(
        self,
        b: Builder,
        text: str,
        constraints: str,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type],
        *,
        pure: bool,
    ) -> list[ir.Value]:
        """The user's assembly; Unsupported where :attr:`no_assembly` says why there is none."""
        if self.no_assembly:
            raise Unsupported(
                f"inline assembly on {self.target}: {self.no_assembly}",
                remedy="use the functions of the kernel language; tl.target_info says what the target is",
            )
        return b.inline_asm(text, constraints, operands, results, side_effects=not pure)

    def grid_dependency(self, b: Builder, *, wait: bool) -> None:
        """Wait for the grids before this one, or let those that wait for it begin."""
        raise Unsupported(
            f"{self.target} does not order grids from within kernels",
            remedy="launch the kernels on one stream",
        )

    # --- debugging ----------------------------------------------------------------------------------------

    def print(
        self, b: Builder, prefix: str, args: Sequence[ir.Value], signed: Sequence[bool], hex_: bool
    ) -> None:
        """Print one line from this thread: ``prefix``, a format of ``args`` (:func:`tri_core.printing.line_format`).

        They are scalars; the last is hexadecimal if ``hex_``: an integer with all its digits, a float as C's ``%a``.
        """
        raise Unsupported(f"{self.target} cannot print from a kernel", remedy="remove device_print")

    def check(
        self,
        b: Builder,
        failed: ir.Value,
        record: ir.Value | None,
        message: str,
        file: str,
        line: int,
        *,
        diverges: bool,
    ) -> None:
        """Stop the kernel with ``message`` where ``failed`` (i1) holds.

        ``record``: the address of the slot of its record, where it has one; ``diverges``: the threads of a CTA need not come here together.
        """
        b.if_(failed, lambda: self.assert_fail(b, message, file, "", line))

    def assert_fail(self, b: Builder, message: str, file: str, function: str, line: int) -> None:
        """Stop the kernel with ``message``; emitted inside a branch."""
        b.intrinsic("llvm.trap", [], [])


def _exchange(words: Primitives, mask: int, b: Builder, value: ir.Value) -> ir.Value:
    return words.shuffle_xor(b, value, mask)


def _guarded_load(
    b: Builder,
    pointer: ir.Value,
    type_: ir.Type,
    predicate: ir.Value | None,
    other: ir.Value | None,
    align: int,
    volatile: bool,
) -> ir.Value:
    known = None if predicate is None else b.known(predicate)
    if predicate is None or known:
        return b.load(pointer, type_, align, volatile)
    missing = b.undef(type_) if other is None else other
    if known == 0:
        return missing
    return b.if_(predicate, lambda: [b.load(pointer, type_, align, volatile)], lambda: [missing], [type_])[0]


def _guarded_store(
    b: Builder, pointer: ir.Value, value: ir.Value, predicate: ir.Value | None, align: int, volatile: bool
) -> None:
    known = None if predicate is None else b.known(predicate)
    if predicate is None or known:
        b.store(value, pointer, align, volatile)
    elif known is None:
        b.if_(predicate, lambda: b.store(value, pointer, align, volatile))
