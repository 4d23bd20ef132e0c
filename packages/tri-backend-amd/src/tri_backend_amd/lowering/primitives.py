"""The primitives of the AMDGPU target, for the generic lowering."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from types import ModuleType

from tri_backend_amd.architectures import ARCHITECTURES
from tri_backend_amd.dialect import (
    BarrierOp,
    BpermuteOp,
    ClockOp,
    ExecutionBarrierOp,
    LocalBarrierOp,
    NumWorkgroupsOp,
    PermuteBytesOp,
    PrintOp,
    ReadFirstLaneOp,
    ReadTransposedOp,
    WaitLoadsOp,
    WorkgroupIdOp,
    WorkitemIdOp,
)
from tri_backend_amd.dialect.buffers import Window
from tri_backend_amd.dialect.transposing import OTHERS
from tri_backend_amd.lowering import exponential, roots
from tri_backend_amd.lowering.casts import cast_all
from tri_backend_amd.lowering.global_buffer import GlobalBuffer
from tri_backend_amd.lowering.lane_costs import LaneCosts, lane_costs
from tri_backend_amd.lowering.lanes import lane_before, reduce_lanes, xor_lanes
from tri_backend_amd.mfma import scaled_words
from tri_backend_amd.mfma import words as mfma_words
from tri_backend_amd.options import amd_options
from tri_backend_amd.wmma import words as wmma_words
from tri_core.dialects.tt import DotScaledOp
from tri_core.dialects.tt.enums import AtomicOp, MemSemantic, MemSyncScope
from tri_core.errors import InternalError, Unsupported
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_core.options import CommonOptions
from tri_core.target import Target
from tri_gpu_dialect.lowering import Access, AtomicAccess, Builder, LaneReduction, Primitives, format_for_c

__all__ = ["AmdPrimitives", "make_primitives"]

_SPACES = {"global": 1, "constant": 4, "shared": 3, "generic": 0}
_SCOPES = {MemSyncScope.GPU: "agent", MemSyncScope.CTA: "workgroup", MemSyncScope.SYSTEM: ""}
#: families of processors that add two neighbours of a type atomically
_PACKED_ADDITIONS = {
    "f16": ("cdna2", "cdna3", "cdna4", "cdna5", "rdna4"),
    "bf16": ("cdna3", "cdna4", "cdna5", "rdna4"),
}
#: families whose fences can be of LDS alone
_LOCAL_FENCES = ("rdna", "cdna5")
#: what an instruction does to three values
_OF_THREE = frozenset(
    (f"arith.{name}", type_)
    for type_, names in {
        "f32": ("maxnumf", "minnumf"),
        "i32": ("maxsi", "maxui", "minsi", "minui", "addi", "ori"),
    }.items()
    for name in names
)
#: float types that LLVM computes on for every processor here, natively or by its own expansion
_NATIVE = frozenset(("f16", "bf16", "f32", "f64", "fp16", "fp32", "fp64"))
#: functions that LLVM expands well enough for f32 (1 ulp or so); it has no argument reduction for sin and cos
_LLVM_MATH = frozenset(("log", "log2", "log10"))

#: ``s_waitcnt`` of CDNA for accesses of LDS and nothing else
_LDS_ACCESSES = 0xC07F
_COPIES = (
    '[#llvm.alias_scope<id = distinct[0]<>, domain = <id = distinct[1]<>, description = "copies to LDS">>]'
)


class AmdPrimitives(Primitives):
    """Wavefronts of 64 (CDNA) or 32 (RDNA, CDNA5) lanes.

    Inside :meth:`buffer` global memory is accessed through a buffer descriptor.
    """

    shares_addresses = True
    carries_words = True
    no_assembly = "the LLVM in use assembles no AMD instructions inside of kernels"

    _buffer: GlobalBuffer | None = None
    #: the alias scopes of copies to LDS, once there are some
    _copies: ir.Attribute | None = None

    def address_space(self, name: str) -> int:
        """LLVM's numbers of the address spaces."""
        return _SPACES[name]

    def kernel_attributes(self, name: str) -> Mapping[str, ir.Attribute]:
        """A kernel of fixed work-group size."""
        threads = self.threads_per_warp * self.num_warps
        pairs = {"amdgpu-flat-work-group-size": f"{threads},{threads}", "uniform-work-group-size": "true"}
        # maxima and minima of numbers need no signalling NaN quieted before, which IEEE mode asks for
        pairs["amdgpu-ieee"] = "false"
        waves = amd_options(self.options).waves_per_eu
        if waves:
            pairs["amdgpu-waves-per-eu"] = f"{waves},{waves}"
        text = ir.StringAttr.get
        return {
            "CConv": ir.Attribute.parse("#llvm.cconv<amdgpu_kernelcc>"),
            "passthrough": ir.ArrayAttr.get(
                [ir.ArrayAttr.get([text(key), text(value)]) for key, value in pairs.items()]
            ),
        }

    def program_id(self, b: Builder, axis: int) -> ir.Value:
        """The work group's index."""
        return WorkgroupIdOp.build([], [b.i32], {"axis": ir.IntegerAttr.get(b.i32, axis)})[0]

    def num_programs(self, b: Builder, axis: int) -> ir.Value:
        """The number of work groups."""
        return NumWorkgroupsOp.build([], [b.i32], {"axis": ir.IntegerAttr.get(b.i32, axis)})[0]

    def thread_id(self, b: Builder) -> ir.Value:
        """The work item's index."""
        return WorkitemIdOp.build([], [b.i32])[0]

    def warp_id(self, b: Builder, thread: ir.Value) -> ir.Value:
        """The wavefront's number, in a scalar register."""
        return ReadFirstLaneOp.build([super().warp_id(b, thread)], [b.i32])[0]

    def barrier(self, b: Builder) -> None:
        """A work-group barrier with its fences."""
        BarrierOp.build([])

    def shared_barrier(self, b: Builder) -> None:
        """Without waits for global memory: on RDNA and CDNA5; on older CDNA, whose fences wait for copies to LDS alone, where such have begun."""
        if any(map(self.target.has, _LOCAL_FENCES)):
            LocalBarrierOp.build([], [], {"waits": ir.IntegerAttr.get(b.i32, 0)})
        elif self._copies is not None:
            LocalBarrierOp.build([], [], {"waits": ir.IntegerAttr.get(b.i32, _LDS_ACCESSES)})
        else:
            self.barrier(b)

    def load_shared(
        self, b: Builder, pointer: ir.Value, type_: ir.Type, predicate: ir.Value | None, align: int
    ) -> ir.Value:
        """A read of LDS doesn't wait for copies that are under way: what it reads, a wait and a barrier before it have seen to."""
        value = super().load_shared(b, pointer, type_, predicate, align)
        if self._copies is not None and predicate is None and value.owner.name == "llvm.load":
            value.owner.attributes[OTHERS] = self._copies
        return value

    def read_transposed(self, b: Builder, pointer: ir.Value, bits: int) -> ir.Value:
        """``ds_read_b64_tr_b16`` or ``ds_read_b64_tr_b8``, by the ``bits`` of an element; waits for copies as :meth:`load_shared` does."""
        result = b.vector_type(b.int_type(16), 4) if bits == 16 else b.vector_type(b.i32, 2)
        attributes: dict[str, ir.Attribute] = {"bits": ir.IntegerAttr.get(b.i32, bits)}
        if self._copies is not None:
            attributes[OTHERS] = self._copies
        return ReadTransposedOp.build([pointer], [result], attributes)[0]

    def barrier_if(self, b: Builder, condition: ir.Value) -> None:
        """A barrier without fences for the wavefronts whose ``condition``, the same in all lanes, holds."""

        def wait() -> None:
            ExecutionBarrierOp.build([])

        b.if_(condition, wait, None, [])

    def shuffle_idx(self, b: Builder, value: ir.Value, lane: ir.Value) -> ir.Value:
        """``ds_bpermute``: addresses count bytes."""
        return BpermuteOp.build([b.shl(lane, 2), value], [b.i32])[0]

    def shuffle_xor(self, b: Builder, value: ir.Value, mask: int) -> ir.Value:
        """Exchange with the fewest cycles: DPP moves, a swap or a move of rows, a swizzle, or a permute."""
        return xor_lanes(b, value, mask, self._lane_costs, super().shuffle_xor)

    def shuffle_before(self, b: Builder, value: ir.Value, bit: int, low: int, reverse: bool) -> ir.Value:
        """A DPP move, a swap or a move of rows, a swizzle, or a permute."""
        moved = lane_before(b, value, bit, low, reverse, self._lane_costs)
        if moved is not None:
            return moved
        return super().shuffle_before(b, value, bit, low, reverse) if low else self.shuffle_xor(b, value, bit)

    def reduce_lanes(self, masks: tuple[int, ...]) -> LaneReduction:
        """Reduction with the fewest cycles."""
        return reduce_lanes(masks, self._lane_costs, super().shuffle_xor)

    def combined_at_once(self, name: str, type_: ir.Type) -> int:
        """Three by ``v_max3``, ``v_min3``, ``v_add3_u32`` and ``v_or3_b32``, which all processors here have."""
        return 3 if (name, str(type_)) in _OF_THREE else 2

    @property
    def _lane_costs(self) -> LaneCosts:
        return lane_costs(ARCHITECTURES[self.target.key.arch].family)

    has_byte_permutes = True

    def permute_bytes(self, b: Builder, low: ir.Value, high: ir.Value, selector: tuple[int, ...]) -> ir.Value:
        """``v_perm_b32``."""
        number = sum(byte << 8 * i for i, byte in enumerate(selector))
        attributes = {"selector": ir.IntegerAttr.get(b.i32, number)}
        return PermuteBytesOp.build([low, high], [b.i32], attributes)[0]

    def nanoseconds(self, b: Builder) -> ir.Value:
        """The processor's steady clock."""
        return ClockOp.build([], [b.i64])[0]

    # --- global memory ------------------------------------------------------------------------------------

    @contextmanager
    def buffer(
        self, b: Builder, base: ir.Value, window: Window, uniform: AbstractSet[ir.Value] = frozenset()
    ) -> Iterator[None]:
        """Access memory through a descriptor for ``window`` around ``base``; nothing else is accessed here.

        ``uniform``: offsets that all lanes have in common.
        """
        self._buffer = GlobalBuffer.make(b, base, window, uniform, ARCHITECTURES[self.target.key.arch].family)
        try:
            yield
        finally:
            self._buffer = None

    def load_global(
        self,
        b: Builder,
        pointer: ir.Value,
        type_: ir.Type,
        predicate: ir.Value | None,
        other: ir.Value | None,
        access: Access,
    ) -> ir.Value:
        """A buffer load inside :meth:`buffer`, else a load in a branch."""
        if self._buffer is None:
            return super().load_global(b, pointer, type_, predicate, other, access)
        return self._buffer.load(b, pointer, type_, predicate, other, access)

    def store_global(
        self, b: Builder, pointer: ir.Value, value: ir.Value, predicate: ir.Value | None, access: Access
    ) -> None:
        """A buffer store inside :meth:`buffer`, else a store in a branch."""
        if self._buffer is None:
            super().store_global(b, pointer, value, predicate, access)
        else:
            self._buffer.store(b, pointer, value, predicate, access)

    def copy_to_shared(
        self,
        b: Builder,
        pointer: ir.Value,
        destination: ir.Value,
        width: int,
        predicate: ir.Value | None,
        access: Access,
    ) -> None:
        """Inside :meth:`buffer`: ``width`` bytes a lane to LDS, lane after lane from ``destination`` on, which all of a wavefront share."""
        if self._buffer is None:
            raise InternalError("copies to LDS go through a buffer descriptor")
        if self._copies is None:
            self._copies = ir.Attribute.parse(_COPIES)
        self._buffer.copy(b, pointer, destination, width, predicate, access, self._copies)

    def wait_loads(self, b: Builder, count: int) -> None:
        """Wait until at most ``count`` loads of the wavefront are under way."""
        WaitLoadsOp.build([], [], {"count": ir.IntegerAttr.get(b.i32, count)})

    def atomic_rmw(
        self,
        b: Builder,
        kind: AtomicOp,
        pointer: ir.Value,
        value: ir.Value,
        predicate: ir.Value | None,
        access: AtomicAccess,
    ) -> ir.Value:
        """A buffer atomic inside :meth:`buffer`, else one of a whole address, in a branch."""
        if self._buffer is None:
            return super().atomic_rmw(b, kind, pointer, value, predicate, access)
        return self._buffer.atomic(b, kind, pointer, value, predicate)

    def atomic_width(self, kind: AtomicOp, element: ir.Type) -> int:
        """Pairs are added: of f16 since MI200, of bf16 since MI300, and both in RDNA4."""
        families = _PACKED_ADDITIONS.get(str(element), ()) if kind is AtomicOp.FADD else ()
        return 2 if any(self.target.has(family) for family in families) else 1

    def has_buffer_atomic(self, kind: AtomicOp, element: ir.Type, access: AtomicAccess) -> bool:
        """True if :meth:`buffer` supports ``kind`` on ``element``: unordered, of 32 bits or packed additions.

        MI100 adds floats without giving the old value, MI50 and RDNA2 not at all; MI300 has no packed bf16 here.
        """
        if access.sem is not MemSemantic.RELAXED or access.scope is MemSyncScope.SYSTEM:
            return False
        if self.atomic_width(kind, element) > 1:
            return str(element) == "f16" or not self.target.has("cdna3")
        if kind is AtomicOp.FADD:
            return str(element) == "f32" and not any(map(self.target.has, ("gcn5", "cdna1", "rdna2")))
        return str(element) in ("i32", "f32")

    # --- matrices -----------------------------------------------------------------------------------------

    def matrix_operand(
        self, b: Builder, dot: ir.Operation, index: int, registers: Sequence[ir.Value]
    ) -> Sequence[ir.Value]:
        """Words of LLVM's types, one for each instruction."""
        if isa(dot, DotScaledOp):
            return scaled_words.operand(b, dot, index, registers)
        return self._matrix.operand(b, self.target, dot, registers)

    def matrix_multiply(
        self,
        b: Builder,
        dot: ir.Operation,
        left: Sequence[ir.Value],
        right: Sequence[ir.Value],
        total: Sequence[ir.Value],
    ) -> Sequence[ir.Value]:
        """MFMA or WMMA."""
        return self._matrix.multiply(b, self.target, dot, left, right, total)

    @property
    def _matrix(self) -> ModuleType:
        """Module that emits dots for the matrix unit."""
        return wmma_words if self.target.has("wmma") else mfma_words

    def print(
        self, b: Builder, prefix: str, args: Sequence[ir.Value], signed: Sequence[bool], hex_: bool
    ) -> None:
        """``amdg.print``, which the simulator carries out."""
        text, values = format_for_c(b, prefix, args, signed, hex_)
        PrintOp.build(values, [], {"text": ir.StringAttr.get(text)})

    def sync_scope(self, scope: MemSyncScope) -> str:
        """LLVM's names of the scopes."""
        return _SCOPES[scope]

    def native(self, dtype: str) -> bool:
        """True if LLVM computes on ``dtype``; the f8 types are integers here."""
        return dtype in _NATIVE

    def math(self, b: Builder, name: str, args: Sequence[ir.Value]) -> ir.Value | None:
        """Exponentials and reciprocal square roots of f32 by the hardware's, and LLVM's own functions of f32, where they are exact enough."""
        if args[0].type != b.f32:
            return None
        if name == "rsqrt":
            return roots.rsqrt(b, args[0])
        if name in exponential.FUNCTIONS:
            return exponential.FUNCTIONS[name](b, args[0])
        return b.op(f"llvm.intr.{name}", args, b.f32) if name in _LLVM_MATH else None

    def cast(self, b: Builder, value: ir.Value, source: str, target: str, rounding: str) -> ir.Value | None:
        """As :meth:`casts`."""
        made = self.casts(b, [value], source, target, rounding)
        return None if made is None else made[0]

    def casts(
        self, b: Builder, values: Sequence[ir.Value], source: str, target: str, rounding: str
    ) -> Sequence[ir.Value] | None:
        """8-bit floats by instructions, where the processor has such."""
        return cast_all(b, self.target, values, source, target, rounding)

    def extern(
        self, b: Builder, libname: str, symbol: str, args: Sequence[ir.Value], result: ir.Type
    ) -> ir.Value:
        """A register of the hardware (library ``amdgcn``); ROCm's device libraries are not linked."""
        if libname == "amdgcn":
            return _hardware(b, symbol)
        raise Unsupported(
            f"{symbol} of library {libname!r} cannot be called on {self.target}",
            remedy="use the functions of the kernel language",
        )


def _hardware(b: Builder, symbol: str) -> ir.Value:
    """``clock``, or ``getreg.N``: the bits of a hardware register that N encodes as ``s_getreg_b32`` does."""
    if symbol == "clock":
        return b.intrinsic("llvm.readsteadycounter", [], [b.i64])[0]
    which = b.int_(int(symbol.removeprefix("getreg.")))
    return b.intrinsic("llvm.amdgcn.s.getreg", [which], [b.i32])[0]


def make_primitives(
    target: Target, options: CommonOptions, threads_per_warp: int, num_warps: int
) -> AmdPrimitives:
    """The primitives of one compile."""
    return AmdPrimitives(target, options, threads_per_warp=threads_per_warp, num_warps=num_warps)
