"""The primitives of SPIR-V with OpenCL's builtins, for the generic lowering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_backend_intel.architectures import ARCHITECTURES, ASSEMBLY
from tri_backend_intel.clock import CLOCK_FACTOR, clock_factor
from tri_backend_intel.dialect import (
    AtomicLoadOp,
    BarrierOp,
    ClockOp,
    FailedOp,
    GroupIdOp,
    LeaveOp,
    LocalBarrierOp,
    NumGroupsOp,
    PrintOp,
    RoundToBf16Op,
    ShuffleOp,
    ShuffleXorOp,
    SubGroupIdOp,
    SubGroupLaneOp,
)
from tri_backend_intel.dialect.builtins import call_builtin, mangled
from tri_backend_intel.dialect.encoding import Dpas
from tri_backend_intel.lowering.cache_controls import EXTENSION as CACHE_CONTROLS
from tri_backend_intel.lowering.cache_controls import controlled
from tri_backend_intel.lowering.math import call_math, propagating
from tri_backend_intel.lowering.matrix import multiply_cluster
from tri_core.dialects.tt.enums import AtomicOp, MemSemantic, MemSyncScope
from tri_core.errors import InternalError, Unsupported
from tri_core.fault_records import TAKEN_OFFSET
from tri_core.mlir import ir
from tri_core.options import CommonOptions
from tri_core.target import Target
from tri_gpu_dialect.encodings import MatrixEncoding
from tri_gpu_dialect.lowering import Access, AtomicAccess, Builder, Primitives, fill_format
from tri_gpu_dialect.lowering.words import from_words, to_words

__all__ = ["PRECISE", "IntelPrimitives", "make_primitives"]

_SPACES = {"global": 1, "constant": 2, "shared": 3, "generic": 4}
_SPIRV_SCOPES = {MemSyncScope.GPU: "gpu", MemSyncScope.CTA: "cta", MemSyncScope.SYSTEM: "sys"}
_SCOPES = {MemSyncScope.GPU: "device", MemSyncScope.CTA: "workgroup", MemSyncScope.SYSTEM: ""}
#: float types that SPIR-V computes on; bf16 and the f8 types are integers here
_NATIVE = frozenset(("f16", "f32", "f64", "fp16", "fp32", "fp64"))

#: float types that f32 holds
_TO_F32 = ("f16", "f32")
_BF16 = "SPV_INTEL_bfloat16_conversion"

#: function attribute of a kernel whose f32 divisions and square roots must be rounded correctly
PRECISE = "tri-precise-f32"


class IntelPrimitives(Primitives):
    """Work items in sub-groups; the thread index is made of sub-group and lane, whatever the driver's order.

    ``precise`` is set once the kernel holds a division or square root that must be rounded correctly: the
    driver takes that as an option for the whole kernel.
    """

    records_failures = True
    #: flag registers are few: IGC spills more where comparisons live longer (a matmul on DG2 8,512 bytes for 6,048)
    shares_comparisons = False
    precise = False

    def address_space(self, name: str) -> int:
        """OpenCL's numbers of the address spaces."""
        return _SPACES[name]

    def kernel_attributes(self, name: str) -> Mapping[str, ir.Attribute]:
        """A SPIR kernel of fixed work-group and sub-group size."""
        threads = self.threads_per_warp * self.num_warps
        attributes: dict[str, ir.Attribute] = {
            "CConv": ir.Attribute.parse("#llvm.cconv<spir_kernelcc>"),
            "reqd_work_group_size": ir.DenseI32ArrayAttr.get([threads, 1, 1]),
            "intel_reqd_sub_group_size": ir.IntegerAttr.get(
                ir.IntegerType.get_signless(32), self.threads_per_warp
            ),
        }
        if self.precise:
            attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get(PRECISE)])
        return attributes

    def program_id(self, b: Builder, axis: int) -> ir.Value:
        """The work group's index."""
        return GroupIdOp.build([], [b.i32], {"axis": ir.IntegerAttr.get(b.i32, axis)})[0]

    def num_programs(self, b: Builder, axis: int) -> ir.Value:
        """The number of work groups."""
        return NumGroupsOp.build([], [b.i32], {"axis": ir.IntegerAttr.get(b.i32, axis)})[0]

    def thread_id(self, b: Builder) -> ir.Value:
        """Sub-group times its size plus lane: right for any assignment of work items to sub-groups."""
        warp = SubGroupIdOp.build([], [b.i32])[0]
        lane = SubGroupLaneOp.build([], [b.i32])[0]
        return b.add(b.mul(warp, b.int_(self.threads_per_warp)), lane)

    def lane_id(self, b: Builder, thread: ir.Value) -> ir.Value:
        """The driver's own number of the lane."""
        return SubGroupLaneOp.build([], [b.i32])[0]

    def warp_id(self, b: Builder, thread: ir.Value) -> ir.Value:
        """The driver's own number of the sub-group, uniform."""
        return SubGroupIdOp.build([], [b.i32])[0]

    def barrier(self, b: Builder) -> None:
        """A work-group barrier."""
        BarrierOp.build([])

    def shared_barrier(self, b: Builder) -> None:
        """A work-group barrier that waits for no access of global memory."""
        LocalBarrierOp.build([])

    def shuffle_idx(self, b: Builder, value: ir.Value, lane: ir.Value) -> ir.Value:
        """A sub-group shuffle."""
        return ShuffleOp.build([value, lane], [b.i32])[0]

    def shuffle_xor(self, b: Builder, value: ir.Value, mask: int) -> ir.Value:
        """A sub-group shuffle."""
        return ShuffleXorOp.build([value, b.int_(mask)], [b.i32])[0]

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
        """A load, with the cache control that is asked for where the device takes one."""
        pointer = self._controlled(b, pointer, access, store=False)
        # without blocks every register counts, and words that a branch gives take as many as elements
        words = self._words(b, type_) if self._has_blocks else None
        if words is None or access.volatile:
            return super().load_global(b, pointer, type_, predicate, other, access)
        other = None if other is None else b.bitcast(other, words)
        return _elements(b, super().load_global(b, pointer, words, predicate, other, access), type_)

    def store_global(
        self, b: Builder, pointer: ir.Value, value: ir.Value, predicate: ir.Value | None, access: Access
    ) -> None:
        """A store, with the cache control that is asked for where the device takes one."""
        super().store_global(b, self._controlled(b, pointer, access, store=True), value, predicate, access)

    def _controlled(self, b: Builder, pointer: ir.Value, access: Access, *, store: bool) -> ir.Value:
        if not self.target.has(CACHE_CONTROLS):
            return pointer
        return controlled(b, pointer, access, store=store)

    def nanoseconds(self, b: Builder) -> ir.Value:
        """The device's clock; its ticks count as at its highest frequency, so that less time is seen than passes, never more.

        The frequency is a specialization constant: the row's, until the runtime knows the device's own.  A multiple of ``64 / ticks``: the highest bits of a count of 64 bits are kept.
        """
        ticks = ClockOp.build([], [b.i64])[0]
        per = 1.0 if self.target.key.simulated else ARCHITECTURES[self.target.key.arch].ticks
        if per == 1.0:
            return ticks
        symbol = mangled("__spirv_SpecConstant", [b.i32, b.i64])
        default = b.const(b.i64, clock_factor(per))
        (factor,) = call_builtin(b, symbol, [b.int_(CLOCK_FACTOR), default], [b.i64])
        return b.lshr(b.mul(b.lshr(ticks, 6), factor), 4)

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
        """vISA, registers by ``rw``; Unsupported, with the reason, in the simulator and where the driver takes none."""
        why = ARCHITECTURES[self.target.key.arch].assembly
        if not self.target.has(ASSEMBLY):
            why = why or f"TRI_INTEL_WITHOUT names {ASSEMBLY}"
        why = "the simulator runs no assembly" if self.target.key.simulated else why
        if why:
            raise Unsupported(
                f"inline assembly on {self.target}: {why}",
                remedy="use the functions of the kernel language; tl.target_info says what the target is",
            )
        return b.inline_asm(text, constraints, operands, results, side_effects=not pure)

    def sync_scope(self, scope: MemSyncScope) -> str:
        """OpenCL's scopes by LLVM's names."""
        return _SCOPES[scope]

    def atomic_load(
        self,
        b: Builder,
        pointer: ir.Value,
        type_: ir.Type,
        predicate: ir.Value | None,
        access: AtomicAccess,
    ) -> ir.Value:
        """``OpAtomicLoad``, in a branch."""
        attributes: dict[str, ir.Attribute] = {
            "order": ir.StringAttr.get("acquire" if access.sem is MemSemantic.ACQUIRE else "relaxed"),
            "scope": ir.StringAttr.get(_SPIRV_SCOPES[access.scope]),
        }

        def body() -> list[ir.Value]:
            return AtomicLoadOp.build([pointer], [type_], attributes)

        return body()[0] if predicate is None else b.if_(predicate, body, None, [type_])[0]

    def native(self, dtype: str) -> bool:
        """True if SPIR-V computes on ``dtype``; bf16 is held as 16 bits and computed on in f32."""
        return dtype in _NATIVE

    def cast(self, b: Builder, value: ir.Value, source: str, target: str, rounding: str) -> ir.Value | None:
        """To bf16 by an instruction where the device has one; all else by bits."""
        if target != "bf16" or source not in _TO_F32 or rounding != "rtne" or not self.target.has(_BF16):
            return None
        wide = value if source == "f32" else b.op("llvm.fpext", (value,), b.f32)
        return RoundToBf16Op.build([wide], [b.int_type(16)])[0]

    def math(self, b: Builder, name: str, args: Sequence[ir.Value]) -> ir.Value | None:
        """OpenCL's math library, within the errors that its full profile allows."""
        match name:
            case "maximum" | "minimum":
                return propagating(b, name, *args)
            case "precise_div":
                self.precise |= args[0].type == b.f32
                return b.op("llvm.fdiv", args, args[0].type)
            case "precise_sqrt":
                self.precise |= args[0].type == b.f32
                return b.op("llvm.intr.sqrt", args, args[0].type)
            case _:
                return call_math(b, name, args)

    def extern(
        self, b: Builder, libname: str, symbol: str, args: Sequence[ir.Value], result: ir.Type
    ) -> ir.Value:
        """A builtin of OpenCL by its mangled name (``_Z3fmaxff``); others have no code anywhere."""
        if not symbol.startswith("_Z"):
            raise Unsupported(
                f"{symbol} of library {libname!r} cannot be called on {self.target}",
                remedy="name a builtin of OpenCL C by its mangled name, such as _Z5hypotff",
            )
        return call_builtin(b, symbol, list(args), [result])[0]

    def load_shared(
        self, b: Builder, pointer: ir.Value, type_: ir.Type, predicate: ir.Value | None, align: int
    ) -> ir.Value:
        """Elements that share words of 32 bits come as such: the driver's compiler takes vectors of narrower ones apart."""
        words = self._words(b, type_)
        if words is None:
            return super().load_shared(b, pointer, type_, predicate, align)
        return _elements(b, super().load_shared(b, pointer, words, predicate, align), type_)

    def store_shared(
        self, b: Builder, pointer: ir.Value, value: ir.Value, predicate: ir.Value | None, align: int
    ) -> None:
        """As words of 32 bits, as :meth:`load_shared`."""
        if self._has_blocks and self._words(b, value.type) is not None:
            value = b.pack(to_words(b, b.unpack(value)))
        super().store_shared(b, pointer, value, predicate, align)

    @property
    def _has_blocks(self) -> bool:
        return self.target.has("2d-block-io")

    def _words(self, b: Builder, type_: ir.Type) -> ir.Type | None:
        """Words of 32 bits in place of a vector ``type_`` of narrower elements, on devices with DPAS; None where it stays."""
        if not self.target.has("dpas") or not isinstance(type_, ir.VectorType):
            return None
        width, bits = type_.element_type.width, type_.element_type.width * type_.shape[0]
        if width not in (8, 16) or bits % 32:
            return None
        return b.i32 if bits == 32 else b.vector_type(b.i32, bits // 32)

    # --- matrices -----------------------------------------------------------------------------------------

    def matrix_multiply(
        self,
        b: Builder,
        dot: ir.Operation,
        left: Sequence[ir.Value],
        right: Sequence[ir.Value],
        total: Sequence[ir.Value],
    ) -> Sequence[ir.Value]:
        """DPAS for each instruction of a cluster."""
        return multiply_cluster(b, dot, left, right, total)

    def carried_vector(self, encoding: MatrixEncoding) -> int:
        """A DPAS takes and gives its rows as one vector."""
        return encoding.repeat_count if isinstance(encoding, Dpas) else 1

    # --- debugging ----------------------------------------------------------------------------------------

    def print(
        self, b: Builder, prefix: str, args: Sequence[ir.Value], signed: Sequence[bool], hex_: bool
    ) -> None:
        """One line of OpenCL's printf: each field of ``prefix`` is one of ``args``, the rest of them follow."""
        last = len(args) - 1
        pairs = [
            _printable(b, v, s, hex_ and i == last) for i, (v, s) in enumerate(zip(args, signed, strict=True))
        ]
        text = ir.StringAttr.get(fill_format(prefix, [word for word, _ in pairs]))
        PrintOp.build([value for _, value in pairs], [], {"text": text})

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
        """The first work item that failed leaves a record, which the host reads; its work group leaves.

        Unsupported where work items need not come here together.
        """
        if diverges:
            raise Unsupported(
                f"{self.target} has no device_assert in a function that is applied element by element",
                remedy="assert on the tensor, outside of the function",
            )
        if record is None:
            raise InternalError("a kernel with assertions has no record")
        site = self.assertion_site(message, file, line)
        b.if_(failed, lambda: self._fail(b, record, site))
        LeaveOp.build([failed], [], {})

    def _fail(self, b: Builder, slot: ir.Value, site: int) -> None:
        access = AtomicAccess(MemSemantic.RELAXED, MemSyncScope.GPU)
        taken = b.gep(slot, b.int_(TAKEN_OFFSET), b.i8)
        before = self.atomic_rmw(b, AtomicOp.XCHG, taken, b.int_(1), None, access)
        b.if_(b.cmp("eq", before, b.int_(0)), lambda: self._record(b, slot, site))
        FailedOp.build([], [], {})

    def _record(self, b: Builder, slot: ir.Value, site: int) -> None:
        """Write what :data:`tri_core.fault_records.RECORD_BYTES` says."""
        record = b.load(slot, b.ptr(self.address_space("global")), 8)
        x, y, z = (self.program_id(b, axis) for axis in range(3))
        one, half = b.int_(1), b.int_(16)
        low = b.or_(b.shl(self.thread_id(b), half), b.int_(site + 1))
        rest = b.or_(b.add(y, one), b.shl(b.add(z, one), half))
        for word, value in enumerate((low, x, rest)):
            b.store(value, b.gep(record, b.int_(4 * word), b.i8), 4, volatile=True)


def _elements(b: Builder, words: ir.Value, type_: ir.VectorType) -> ir.Value:
    """``words`` of 32 bits as the vector that they are."""
    return b.pack(from_words(b, b.unpack(words), type_.element_type, type_.shape[0]))


def _printable(b: Builder, value: ir.Value, signed: bool, hex_: bool) -> tuple[str, ir.Value]:
    """A conversion of printf and the value as it takes it: 32 or 64 bits."""
    type_ = value.type
    if isinstance(type_, ir.FloatType):
        return "%a" if hex_ else "%f", value if type_.width >= 32 else b.op("llvm.fpext", (value,), b.f32)
    if not isinstance(type_, ir.IntegerType):
        return "%lx", b.ptr_to_int(value)
    wide = b.int_cast(value, b.i64 if type_.width > 32 else b.i32, signed and type_.width > 1 and not hex_)
    letter = "x" if hex_ else "d" if signed else "u"
    start = f"0x%0{max(type_.width // 4, 1)}" if hex_ else "%"
    return start + ("l" if type_.width > 32 else "") + letter, wide


def make_primitives(
    target: Target, options: CommonOptions, threads_per_warp: int, num_warps: int
) -> IntelPrimitives:
    """The primitives of one compile."""
    return IntelPrimitives(target, options, threads_per_warp=threads_per_warp, num_warps=num_warps)
