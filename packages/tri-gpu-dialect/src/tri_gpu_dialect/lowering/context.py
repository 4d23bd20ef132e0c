"""The state of one lowering, and the dispatcher that calls a rule for each op.

A rule is ``rule(lowering, op) -> [one lowered value per result]``.  It reads the op's operands with
:meth:`Lowering.registers` or :meth:`Lowering.scalar`, emits code with ``lowering.b`` and ``lowering.hw``,
and looks at no other op.  Location, missing rules and the number of registers are the dispatcher's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol, TypeVar

from tri_core.abi import HiddenParameters, LaunchDescriptor
from tri_core.dialects.tt import PointerType
from tri_core.errors import InternalError, TriError, Unsupported
from tri_core.forks import cached_property
from tri_core.ir.traits import Decomposable, decompose
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.options import CommonOptions
from tri_core.target import EXACT_LEVEL, EXACT_PREFIX, Target
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis import AxisInfos
from tri_gpu_dialect.layouts import BLOCK, LANE, REGISTER, WARP, LinearLayout
from tri_gpu_dialect.lowering.builder import Builder
from tri_gpu_dialect.lowering.primitives import Primitives
from tri_gpu_dialect.plans.conversion import PIECE_BYTES

__all__ = [
    "Aggregate",
    "FoundRule",
    "Lowered",
    "Lowering",
    "Registers",
    "Rules",
    "SharedTensor",
    "Sum",
    "Token",
    "WarpPartition",
    "by_name",
]

#: a tensor: one scalar per register of its layout (copies share one value); a scalar: a list of one
Registers = list[ir.Value]


class Aggregate(Protocol):
    """A lowered value made of parts, which can be carried around a loop."""

    def parts(self) -> list[ir.Value]:
        """The SSA values it is made of."""
        ...

    def rebuilt(self, parts: list[ir.Value]) -> Aggregate:
        """The same with other ``parts``."""
        ...


@dataclass(frozen=True)
class Token:
    """Token that orders asynchronous ops; without a value at run time."""

    def parts(self) -> list[ir.Value]:
        """None."""
        return []

    def rebuilt(self, parts: list[ir.Value]) -> Token:
        """Itself."""
        return self


@dataclass(frozen=True)
class SharedTensor:
    """A memory descriptor: ``base`` points at the first element of the buffer that this is a part of.

    ``layout`` sends offsets (in elements) in the buffer to coordinates in it, ``origin`` has the view's
    first coordinates, ``element`` is the element's type in memory and ``type`` the one in registers;
    ``padding`` lists (interval, pad) in elements, as :class:`SharedEncoding` does.  In a cluster all of this is of
    this block's share, which begins at the coordinates that ``blocks`` has for each bit of its number.
    """

    base: ir.Value
    layout: LinearLayout
    origin: tuple[int, ...]
    element: ir.Type
    type: ir.Type
    padding: tuple[tuple[int, int], ...] = ()
    blocks: tuple[tuple[int, ...], ...] = ()

    def parts(self) -> list[ir.Value]:
        """The base."""
        return [self.base]

    def rebuilt(self, parts: list[ir.Value]) -> SharedTensor:
        """The same view at another base."""
        return replace(self, base=parts[0])


@dataclass(frozen=True)
class WarpPartition:
    """The warps that run a region together: ``warps`` of them from warp ``first`` of the CTA on.

    ``barrier`` is the number of the barrier at which they synchronise; 0 is that of all threads of the CTA.
    """

    warps: int
    first: int = 0
    barrier: int = 0


#: what a value of the source becomes; vendors may add kinds of their own (descriptors, barriers)
Lowered = Registers | Aggregate

_L = TypeVar("_L")


class FoundRule(Protocol):
    """A rule that was found for an op."""

    @property
    def rule(self) -> Callable[[Lowering, ir.Operation], Sequence[Lowered] | None]:
        """Emits the op's code and returns what each result became, in order (None: no results)."""
        ...

    @property
    def owner(self) -> str:
        """Provider of the rule, for messages."""
        ...


class Rules(Protocol):
    """The dispatcher's rules, as :class:`tri_gpu_dialect.lowering.LoweringTable` has them."""

    def find(self, lowering: Lowering, op: ir.Operation) -> FoundRule | None:
        """The rule for ``op``, or None."""
        ...


#: what a CTA's global scratch memory begins at a multiple of, in bytes
_SCRATCH_ALIGNMENT = 128


@dataclass(frozen=True)
class Sum:
    """A value that is ``base + constant`` modulo its width, in bytes for a pointer; ``exact`` where neither it nor its base is negative."""

    base: ir.Value
    constant: int
    exact: bool = False


#: the ring's names of functions that a target has words for, where they differ
_RING_NAMES = {
    "precise_divf": "div", "approx_divf": "div", "precise_sqrt": "sqrt", "fmod": "rem", "fabs": "absf",
    "maximum": "max", "minimum": "min", "maxnum": "max", "minnum": "min",
}  # fmt: skip


def by_name(b: Builder, name: str, args: Sequence[ir.Value], result: ir.Type) -> ir.Value:
    """A call that the simulator's level ``exact`` answers with the ring's function ``name``."""
    types = ".".join(str(value.type) for value in args)
    return b.call(f"{EXACT_PREFIX}{name}.{types}.{result}", args, [result])[0]


class Lowering:
    """One function being lowered; rules get it as their first argument.

    ``thread``, ``lane`` and ``warp`` are i32 values, and together with ``num_warps`` those of the ``partition`` whose region
    is being lowered; ``axes`` tells how regular tensors of integers and pointers are.
    """

    def __init__(
        self,
        builder: Builder,
        primitives: Primitives,
        table: Rules,
        target: Target,
        options: CommonOptions,
        axes: AxisInfos,
        num_warps: int | None = None,
        conversion_bytes: int = PIECE_BYTES,
    ) -> None:
        self.b = builder
        self.hw = primitives
        self.table = table
        self.target = target
        self.options = options
        self.values: dict[ir.Value, Lowered] = {}
        self.axes = axes
        #: values that are a base and a constant, as far as rules keep them apart
        self.sums: dict[ir.Value, Sum] = {}
        #: of shared memory that a conversion takes at most, as the allocation counts on
        self.conversion_bytes = conversion_bytes
        self.shared_bytes = 0
        self.grid: tuple[ir.Value, ...] = ()
        self.counter: ir.Value | None = None
        self.record: ir.Value | None = None
        self.descriptors: list[LaunchDescriptor] = []
        #: bytes of global memory that a CTA has for itself
        self.scratch_bytes = 0
        self._scratch: ir.Value | None = None
        self._scratch_offsets: dict[ir.Operation, int] = {}
        self._encoded: dict[LaunchDescriptor, ir.Value] = {}
        self._shared: ir.Value | None = None
        self._block: ir.Value | None = None
        self._storage: dict[ir.Type, ir.Type] = {}
        self.thread = primitives.thread_id(builder)
        self.lane = primitives.lane_id(builder, self.thread)
        self.warp = primitives.warp_id(builder, self.thread)
        self.partition = WarpPartition(num_warps or primitives.num_warps)

    @cached_property
    def fusion(self) -> dict[str, ir.Attribute] | None:
        """Attributes that let LLVM contract a float op with its neighbour, as the options say."""
        if not self.options.enable_fp_fusion:
            return None
        return {"fastmathFlags": ir.Attribute.parse("#llvm.fastmath<contract>")}

    @cached_property
    def is_exact(self) -> bool:
        """True if floats are integers modulo a power of two: functions of them stay calls by name (:mod:`tri_core.ring`)."""
        return self.target.key.level == EXACT_LEVEL

    def math(self, name: str, args: Sequence[ir.Value]) -> ir.Value | None:
        """``exp2``, ``sin``, ``mulhiui``, ... of scalars of one type in the target's words; None: use the generic expansion."""
        if self.is_exact and isinstance(args[0].type, ir.FloatType):
            return by_name(self.b, _RING_NAMES.get(name, name), args, args[0].type)
        return self.hw.math(self.b, name, args)

    @property
    def num_warps(self) -> int:
        """Warps that run what is being lowered."""
        return self.partition.warps

    @property
    def threads_per_warp(self) -> int:
        """Lanes per warp."""
        return self.hw.threads_per_warp

    # --- threads ------------------------------------------------------------------------------------------

    def barrier(self) -> None:
        """The threads that run what is being lowered synchronise; what they wrote before is seen after."""
        if self.partition.barrier:
            self.hw.partition_barrier(self.b, self.partition.barrier, self.partition.warps)
        else:
            self.hw.barrier(self.b)

    def shared_barrier(self) -> None:
        """As :meth:`barrier`, for shared memory alone."""
        if self.partition.barrier:
            self.barrier()
        else:
            self.hw.shared_barrier(self.b)

    def cluster_barrier(self) -> None:
        """All threads of the cluster synchronise; what they wrote before is seen after.

        Unsupported where only some warps run what is being lowered: the others do not come.
        """
        if self.hw.num_ctas > 1 and self.partition.barrier:
            raise Unsupported(
                "an exchange between the CTAs of a cluster by some of their warps",
                remedy="compile without warp specialisation (warp_specialize=False), or use num_ctas=1",
            )
        if self.hw.num_ctas > 1:
            self.hw.cluster_barrier(self.b)
        else:
            self.barrier()

    @contextmanager
    def as_partition(self, partition: WarpPartition, warp: ir.Value) -> Iterator[None]:
        """Context in which lowered code is run by ``partition``; ``warp`` is the (uniform) index of this warp
        in the CTA.
        """
        outer = self.partition, self.warp, self.thread
        self.partition, self.warp = partition, self.b.sub(warp, self.b.int_(partition.first))
        lanes = self.b.mul(self.warp, self.b.int_(self.threads_per_warp))
        self.thread = self.b.add(lanes, self.lane)
        yield
        self.partition, self.warp, self.thread = outer

    # --- reading operands ---------------------------------------------------------------------------------

    def lowered(self, value: ir.Value) -> Lowered:
        """Lowered form of ``value``."""
        found = self.values.get(value)
        if found is None:
            raise InternalError(f"a value is used before it is lowered: {value}")
        return found

    def expect(self, value: ir.Value, kind: type[_L]) -> _L:
        """Lowered form of ``value``, which must be a ``kind``."""
        found = self.lowered(value)
        if not isinstance(found, kind):
            raise InternalError(f"{value} is lowered to a {type(found).__name__}, not a {kind.__name__}")
        return found

    def registers(self, value: ir.Value) -> Registers:
        """The scalars of a tensor, one per register (a list of one for a scalar)."""
        return self.expect(value, list)

    def scalar(self, value: ir.Value) -> ir.Value:
        """The value of a scalar, or of a tensor with one register."""
        return self.only(self.lowered(value))

    def only(self, lowered: Lowered) -> ir.Value:
        """The value of a lowered scalar."""
        if not isinstance(lowered, list) or len(lowered) != 1:
            raise InternalError(f"a scalar is lowered to {lowered}")
        return lowered[0]

    def shared_tensor(self, value: ir.Value) -> SharedTensor:
        """The view that a memory descriptor stands for."""
        return self.expect(value, SharedTensor)

    # --- types and layouts --------------------------------------------------------------------------------

    def layout(self, type_: ir.Type) -> LinearLayout:
        """The layout of a tensor or descriptor type: (register, lane, warp, block) or offset to coordinates."""
        return layouts.of(type_)

    def element(self, type_: ir.Type) -> ir.Type:
        """The element type of a tensor type, or the type itself."""
        return type_.element_type if isinstance(type_, ir.ShapedType) else type_

    def storage(self, type_: ir.Type) -> ir.Type:
        """The LLVM type that holds an element of ``type_`` (scalar, tensor or pointer type)."""
        element = self.element(type_)
        found = self._storage.get(element)
        if found is None:
            found = self._storage[element] = self._held(element)
        return found

    def _held(self, element: ir.Type) -> ir.Type:
        if isinstance(element, PointerType):
            return self.b.ptr(self.hw.address_space(ir.StringAttr(element.params[1]).value))
        if isinstance(element, ir.FloatType) and not self.hw.native(str(element)):
            return self.b.int_type(element.width)
        if not isinstance(element, ir.IntegerType | ir.FloatType):
            raise Unsupported(f"{self.target} has no values of type {element}")
        return element

    def register_count(self, type_: ir.Type) -> int:
        """Number of registers of a value of ``type_``."""
        return self.layout(type_).in_size(REGISTER) if isinstance(type_, ir.RankedTensorType) else 1

    # --- parameters that the launch makes ---------------------------------------------------------------

    @property
    def hidden(self) -> HiddenParameters:
        """Hidden parameters that a launch passes after the kernel's own."""
        return HiddenParameters(
            grid=bool(self.grid),
            counter=self.counter is not None,
            scratch=self.scratch_bytes,
            record=self.record is not None,
            descriptors=tuple(self.descriptors),
            cluster=self.hw.num_ctas,
        )

    def take_counter(self) -> None:
        """The next parameter is the address of the launch's counter; called after :meth:`take_grid`."""
        self.counter = self.b.entry.add_argument(
            self.b.ptr(self.hw.address_space("global")), ir.Location.unknown()
        )

    def take_grid(self) -> None:
        """The next three parameters are the extents of the grid; called before any descriptor is encoded."""
        self.grid = tuple(self.b.entry.add_argument(self.b.i32, ir.Location.unknown()) for _ in range(3))

    def take_scratch(self, allocations: Sequence[ir.Operation]) -> None:
        """The next parameter points at global memory for ``allocations``; called before any descriptor is encoded."""
        for op in allocations:
            size, alignment = (ir.IntegerAttr(op.attributes[n]).value for n in ("nbytes", "alignment"))
            offset = -(-self.scratch_bytes // alignment) * alignment
            self._scratch_offsets[op], self.scratch_bytes = offset, offset + size
        self.scratch_bytes = -(-self.scratch_bytes // _SCRATCH_ALIGNMENT) * _SCRATCH_ALIGNMENT
        type_ = self.storage(PointerType.of(self.b.i8))
        self._scratch = self.b.entry.add_argument(type_, ir.Location.unknown())

    def take_record(self) -> None:
        """The next parameter is the address of the slot of the kernel's record; called before any descriptor is encoded."""
        self.record = self.b.entry.add_argument(
            self.b.ptr(self.hw.address_space("global")), ir.Location.unknown()
        )

    def global_scratch(self, op: ir.Operation) -> ir.Value:
        """A pointer to this CTA's memory of ``op``, a ``ttg.global_scratch_alloc``."""
        if self._scratch is None:
            raise InternalError(f"no memory was taken for {op}")
        b, hw = self.b, self.hw
        ids = [hw.program_id(b, axis) for axis in range(3)]
        ids[0] = b.add(b.mul(ids[0], b.int_(hw.num_ctas)), self.block_id())
        x, y, z = (b.int_cast(each, b.i64) for each in ids)
        wide, high = (b.int_cast(hw.num_programs(b, axis), b.i64) for axis in range(2))
        wide = b.mul(wide, b.int_(hw.num_ctas, 64))
        number = b.add(x, b.mul(wide, b.add(y, b.mul(high, z))))
        start = b.mul(number, b.int_(self.scratch_bytes, 64))
        return b.gep(self._scratch, b.add(start, b.int_(self._scratch_offsets[op], 64)), b.i8)

    def encoded_descriptor(self, descriptor: LaunchDescriptor) -> ir.Value:
        """A pointer to the parameter that holds ``descriptor`` as the device has it; fetched where the kernel begins."""
        found = self._encoded.get(descriptor)
        if found is None:
            self.descriptors.append(descriptor)
            found = self.b.entry.add_argument(self.b.ptr(), ir.Location.unknown())
            self._encoded[descriptor] = found
            with self.b.at_entry():
                self.hw.prefetch_descriptor(self.b, found)
        return found

    # --- shared memory ------------------------------------------------------------------------------------

    def shared_at(self, offset: int) -> ir.Value:
        """A pointer to byte ``offset`` of the CTA's shared memory."""
        if self._shared is None:
            with self.b.at_entry():
                self._shared = self.hw.shared_base(self.b, self.shared_bytes)
        return self.b.gep(self._shared, self.b.int_(offset), self.b.i8)

    def scratch(self, op: ir.Operation) -> ir.Value:
        """A pointer to the scratch memory that allocation gave ``op``."""
        if "allocation.offset" not in op.attributes:
            raise InternalError(
                f"{op.name} needs shared memory, but none is allocated for it",
                remedy="remove ttg.shared from the module's attributes, so that shared memory is allocated again",
            )
        return self.shared_at(ir.IntegerAttr(op.attributes["allocation.offset"]).value)

    def block_id(self) -> ir.Value:
        """The index of this CTA in its cluster."""
        if self._block is None:
            with self.b.at_entry():
                self._block = self.hw.cta_rank(self.b)
        return self._block

    def inputs(self) -> dict[str, ir.Value]:
        """Position of this thread, by input dimension of a layout (all but ``register``)."""
        return {LANE: self.lane, WARP: self.warp, BLOCK: self.block_id()}

    # --- dispatch -----------------------------------------------------------------------------------------

    def lower_block(self, block: ir.Block, arguments: Sequence[Lowered] = ()) -> list[Lowered]:
        """Lower all ops of ``block`` here; gives what the operands of its terminator became."""
        for argument, value in zip(block.arguments, arguments, strict=True):
            self.values[argument] = value
        ops = list(block.operations)
        for op in ops[:-1]:
            self.lower_op(op.operation)
        return [self.lowered(value) for value in ops[-1].operands]

    def lower_op(self, op: ir.Operation) -> None:
        """Lower one op with its best rule and record its results."""
        try:
            with op.location:
                self._apply(op)
        except TriError as error:
            if error.location is None:
                error.location = source_location(op.location)
            raise

    def _apply(self, op: ir.Operation) -> None:
        entry = self.table.find(self, op)
        if entry is None:
            self._lower_decomposed(op)
            return
        made = entry.rule(self, op) or ()
        results = op.results
        if len(made) != len(results):
            raise InternalError(
                f"{entry.owner} gave {len(made)} values for {len(results)} results of {op.name}"
            )
        for result, value in zip(results, made, strict=True):
            if isinstance(value, list) and len(value) != self.register_count(result.type):
                raise InternalError(f"{entry.owner} gave {len(value)} registers for {result.type}")
            self.values[result] = value

    def _lower_decomposed(self, op: ir.Operation) -> None:
        if not Decomposable.declared_by(op.name):
            raise Unsupported(
                f"{op.name} cannot be lowered for {self.target}",
                remedy="a plugin may add a rule for it through tri_lowering, or its dialect declare it Decomposable",
            )
        made, values = decompose(op)
        for result, value in zip(op.results, values, strict=True):
            result.replace_all_uses_with(value)  # rules ask whether anybody reads what their op gives
        for inner in made:
            self.axes.learn(inner)
            self.lower_op(inner)
        for result, value in zip(op.results, values, strict=True):
            self.values[result] = self.lowered(value)
