"""The primitives of NVIDIA GPUs for the generic lowering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_backend_nvidia import math as words
from tri_backend_nvidia.casts import cast, cast_all
from tri_backend_nvidia.debugging import assert_fail
from tri_backend_nvidia.machine import (
    AtomicCasOp,
    AtomicFenceOp,
    AtomicLoadOp,
    AtomicRmwOp,
    BarrierOp,
    ClockOp,
    ClusterBarrierOp,
    ElectOp,
    GridDependencyOp,
    LoadOp,
    MapaOp,
    MapPrefetchOp,
    PartitionBarrierOp,
    PeerLoadOp,
    PrintOp,
    ReadRegisterOp,
    RecordFaultOp,
    SetRegistersOp,
    ShuffleOp,
    StoreOp,
    WarpBarrierOp,
)
from tri_backend_nvidia.mma import words as matrix_words
from tri_backend_nvidia.options import nvidia_options
from tri_core.dialects.tt.enums import AtomicOp, CacheModifier, EvictionPolicy, MemSemantic, MemSyncScope
from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, AtomicAccess, Builder, Primitives, format_for_c

__all__ = ["NvidiaPrimitives"]

#: named barriers of a CTA are 0 to this
_LAST_BARRIER = 15
#: 32-bit registers of a multiprocessor
_REGISTERS = 65536

_SPACES = {"generic": 0, "global": 1, "shared": 3, "constant": 4, "cluster": 7}

#: ``.cv`` and ``.wt`` are weak in PTX: ptxas deletes a loop that only waits by ``ld.cv``, and of two ``st.wt`` the first.  The volatile accesses are
#: the same instructions (``STRONG.SYS``), as many as are written
_LOAD_CACHE = {
    CacheModifier.CA: ".ca",
    CacheModifier.CG: ".cg",
    CacheModifier.CS: ".cs",
    CacheModifier.CV: ".volatile",
}
_STORE_CACHE = {
    CacheModifier.WB: ".wb",
    CacheModifier.CG: ".cg",
    CacheModifier.CS: ".cs",
    CacheModifier.WT: ".volatile",
}
_PRIORITY = {EvictionPolicy.EVICT_FIRST: "evict_first", EvictionPolicy.EVICT_LAST: "evict_last"}

_ORDER = {
    MemSemantic.RELAXED: ".relaxed",
    MemSemantic.ACQUIRE: ".acquire",
    MemSemantic.RELEASE: ".release",
    MemSemantic.ACQUIRE_RELEASE: ".acq_rel",
}
_SCOPE = {MemSyncScope.GPU: ".gpu", MemSyncScope.CTA: ".cta", MemSyncScope.SYSTEM: ".sys"}

#: operation -> (the instruction's, prefix of the type on integers)
_ATOMIC = {
    AtomicOp.AND: ("and", "b"),
    AtomicOp.OR: ("or", "b"),
    AtomicOp.XOR: ("xor", "b"),
    AtomicOp.XCHG: ("exch", "b"),
    AtomicOp.ADD: ("add", "u"),
    AtomicOp.MAX: ("max", "s"),
    AtomicOp.MIN: ("min", "s"),
    AtomicOp.UMAX: ("max", "u"),
    AtomicOp.UMIN: ("min", "u"),
}
#: element -> how vectors treat subnormal numbers, and the words that they are made of; source: PTX ISA 8.1, "atom"
_VECTOR_ADD = {"f16": ("noftz.", "f16x2"), "bf16": ("noftz.", "bf16x2"), "f32": ("", "f32")}
_FLOAT_ADD = {"f16": "noftz.f16", "bf16": "noftz.bf16", "f32": "f32", "f64": "f64"}


class NvidiaPrimitives(Primitives):
    """Every word of :class:`Primitives` that NVIDIA's hardware says better than plain LLVM."""

    line_info = "DebugDirectivesOnly"  # ptxas reads .file and .loc, and makes the line table itself
    _budgeted = False

    def address_space(self, name: str) -> int:
        """The address spaces of LLVM's NVPTX target."""
        return _SPACES[name]

    def kernel_attributes(self, name: str) -> Mapping[str, ir.Attribute]:
        """A kernel by calling convention; its CTA size is fixed, which LLVM and ptxas make use of."""
        bounds = {"nvvm.reqntid": str(self.num_warps * self.threads_per_warp)}
        if self._budgeted:
            # without it, a kernel that needs less than its share starts with less, and ptxas drops setmaxnreg
            bounds["nvvm.minctasm"] = "1"
        if self.num_ctas > 1:
            bounds["nvvm.cluster_dim"] = f"{self.num_ctas},1,1"
        most = nvidia_options(self.options).maxnreg
        if most is not None:
            bounds["nvvm.maxnreg"] = str(most)
        pairs = [ir.ArrayAttr.get([ir.StringAttr.get(k), ir.StringAttr.get(v)]) for k, v in bounds.items()]
        return {
            "CConv": ir.Attribute.parse("#llvm.cconv<ptx_kernelcc>"),
            "nvvm.kernel": ir.UnitAttr.get(),
            "passthrough": ir.ArrayAttr.get(pairs),
        }

    def descriptor_attributes(self) -> Mapping[str, ir.Attribute]:
        """A tensor map: 128 bytes at a multiple of 64, which the kernel does not change."""
        return {
            "llvm.byval": ir.TypeAttr.get(ir.Type.parse("!llvm.array<128 x i8>")),
            "llvm.align": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 64),
            "nvvm.grid_constant": ir.UnitAttr.get(),
        }

    def prefetch_descriptor(self, b: Builder, pointer: ir.Value) -> None:
        """``prefetch.tensormap`` by a thread of the last warp, while the first one starts barriers.

        Else the first copy of a tile waits for the map's 128 bytes to come from memory, and so does the first one out.
        """
        last = b.int_((self.num_warps - 1) * self.threads_per_warp)
        MapPrefetchOp.build([pointer, b.cmp("eq", self.thread_id(b), last)])

    def native(self, type_name: str) -> bool:
        """LLVM's own floats; bf16 where the hardware converts it."""
        return type_name in ("f16", "f32", "f64") or (type_name == "bf16" and self.target.has("bf16"))

    # --- threads ------------------------------------------------------------------------------------------

    def _register(self, b: Builder, name: str) -> ir.Value:
        return ReadRegisterOp.build([], [b.i32], {"register": ir.StringAttr.get(name)})[0]

    def program_id(self, b: Builder, axis: int) -> ir.Value:
        """``%ctaid``, or ``%clusterid``: a program is run by a cluster of CTAs along x."""
        return self._register(b, f"{self._unit}id.{'xyz'[axis]}")

    def num_programs(self, b: Builder, axis: int) -> ir.Value:
        """``%nctaid``, or ``%nclusterid``."""
        return self._register(b, f"n{self._unit}id.{'xyz'[axis]}")

    @property
    def _unit(self) -> str:
        return "cluster" if self.num_ctas > 1 else "cta"

    def thread_id(self, b: Builder) -> ir.Value:
        """``%tid.x``: CTAs are one-dimensional."""
        return self._register(b, "tid.x")

    def barrier(self, b: Builder) -> None:
        """``bar.sync``, or its cheap form for a single warp."""
        if self.num_warps == 1:
            WarpBarrierOp.build([])
        else:
            BarrierOp.build([])

    # --- clusters -----------------------------------------------------------------------------------------

    def in_clusters(self, num_ctas: int) -> None:
        """Clusters of a fixed size, which the kernel itself says (``.reqnctapercluster``), from compute capability 9.0 on."""
        if num_ctas > 1 and not self.target.has("cluster"):
            super().in_clusters(num_ctas)
        self.num_ctas = num_ctas

    def cta_rank(self, b: Builder) -> ir.Value:
        """``%cluster_ctarank``."""
        return self._register(b, "cluster.ctarank") if self.num_ctas > 1 else super().cta_rank(b)

    def cluster_barrier(self, b: Builder) -> None:
        """``barrier.cluster.arrive.release`` and ``.wait.acquire``."""
        if self.num_ctas == 1:
            super().cluster_barrier(b)
            return
        for step in ("arrive", "wait"):
            ClusterBarrierOp.build([], (), {"step": ir.StringAttr.get(step)})

    def load_peer(
        self, b: Builder, pointer: ir.Value, rank: ir.Value, type_: ir.Type, align: int
    ) -> ir.Value:
        """``mapa`` and ``ld.shared::cluster``."""
        peer = MapaOp.build([pointer, rank], [b.ptr(_SPACES["cluster"])])[0]
        return PeerLoadOp.build([peer], [type_])[0]

    # --- partitions ---------------------------------------------------------------------------------------

    def elect(self, b: Builder) -> ir.Value:
        """``elect.sync``, from compute capability 9.0 on."""
        return ElectOp.build([], [b.i1])[0] if self.target.has("elect") else super().elect(b)

    def partition_barrier(self, b: Builder, number: int, warps: int) -> None:
        """``bar.sync number, threads``; Unsupported for a number above 15."""
        if number > _LAST_BARRIER:
            raise Unsupported(
                f"barrier {number}: a CTA has {_LAST_BARRIER + 1}", remedy="use fewer partitions"
            )
        threads = ir.IntegerAttr.get(b.i32, warps * self.threads_per_warp)
        PartitionBarrierOp.build([], (), {"number": ir.IntegerAttr.get(b.i32, number), "threads": threads})

    def set_registers(self, b: Builder, count: int) -> None:
        """``setmaxnreg`` where the architecture has it, from what all threads of the CTA start with.

        All four warps of a warp group must come here.  Unsupported for counts that it does not know.
        """
        if not self.target.has("register-budgets"):
            return
        if count % 8 or not 24 <= count <= 256:
            raise Unsupported(
                f"{count} registers for a partition", remedy="use a multiple of 8 between 24 and 256"
            )
        share = min(_REGISTERS // (self.num_warps * self.threads_per_warp), 255) // 8 * 8
        most = nvidia_options(self.options).maxnreg
        if most is not None:
            share = min(share, most)
        self._budgeted = True
        if count != share:
            attributes: dict[str, ir.Attribute] = {
                "count": ir.IntegerAttr.get(b.i32, count),
                "way": ir.StringAttr.get("inc" if count > share else "dec"),
            }
            SetRegistersOp.build([], (), attributes)

    def _shuffle(self, b: Builder, mode: str, value: ir.Value, lane: ir.Value) -> ir.Value:
        return ShuffleOp.build([value, lane], [b.i32], {"mode": ir.StringAttr.get(mode)})[0]

    def shuffle_idx(self, b: Builder, value: ir.Value, lane: ir.Value) -> ir.Value:
        """``shfl.sync.idx``."""
        return self._shuffle(b, "idx", value, lane)

    def shuffle_xor(self, b: Builder, value: ir.Value, mask: int) -> ir.Value:
        """``shfl.sync.bfly``."""
        return self._shuffle(b, "bfly", value, b.int_(mask))

    # --- memory -------------------------------------------------------------------------------------------

    def load_global(
        self,
        b: Builder,
        pointer: ir.Value,
        type_: ir.Type,
        predicate: ir.Value | None,
        other: ir.Value | None,
        access: Access,
    ) -> ir.Value:
        """A plain load where LLVM can say it, ``ld.global`` with a predicate otherwise.

        A lane that loads nothing and has no ``other`` gets zero.
        """
        modifiers, policy = self._cache(access, _LOAD_CACHE)
        known = b.known(predicate) if predicate is not None else 1
        if known == 0:
            return b.zero(type_) if other is None else other
        if known is not None and not (modifiers or policy):
            return b.load(pointer, type_, access.align, access.volatile)
        operands = [
            pointer,
            b.true() if predicate is None else predicate,
            b.zero(type_) if other is None else other,
        ]
        attributes = {"modifiers": ir.StringAttr.get(modifiers), "policy": ir.StringAttr.get(policy)}
        return LoadOp.build(operands, [type_], attributes)[0]

    def store_global(
        self, b: Builder, pointer: ir.Value, value: ir.Value, predicate: ir.Value | None, access: Access
    ) -> None:
        """A plain store where LLVM can say it, ``st.global`` with a predicate otherwise."""
        modifiers, policy = self._cache(access, _STORE_CACHE)
        known = b.known(predicate) if predicate is not None else 1
        if known == 0:
            return
        if known is not None and not (modifiers or policy):
            b.store(value, pointer, access.align, access.volatile)
            return
        operands = [pointer, value, b.true() if predicate is None else predicate]
        attributes = {"modifiers": ir.StringAttr.get(modifiers), "policy": ir.StringAttr.get(policy)}
        StoreOp.build(operands, (), attributes)

    def _cache(self, access: Access, names: Mapping[CacheModifier, str]) -> tuple[str, str]:
        """The modifiers of an instruction, and the L2 policy that goes with an eviction priority."""
        if access.volatile:
            return ".volatile", ""
        cache = names.get(access.cache, "")
        priority = _PRIORITY.get(access.evict, "")
        if not priority or cache:  # PTX takes one or the other
            return cache, ""
        return f".L1::{priority}", priority if self.target.has("cache-policy") else ""

    def sync_scope(self, scope: MemSyncScope) -> str:
        """LLVM's names for the scopes of NVPTX."""
        return {MemSyncScope.GPU: "device", MemSyncScope.CTA: "block", MemSyncScope.SYSTEM: ""}[scope]

    def shared_base(self, b: Builder, nbytes: int) -> ir.Value:
        """The dynamic shared memory of the CTA: its size is a matter of the launch, up to the hardware's limit.

        A static allocation would be refused above 48 KiB.
        """
        name, space = "tri_shared", _SPACES["shared"]
        if name not in b.symbols():
            attributes: dict[str, ir.Attribute] = {
                "sym_name": ir.StringAttr.get(name),
                "global_type": ir.TypeAttr.get(ir.Type.parse("!llvm.array<0 x i8>")),
                "addr_space": ir.IntegerAttr.get(b.i32, space),
                "linkage": ir.Attribute.parse("#llvm.linkage<external>"),
                "alignment": ir.IntegerAttr.get(b.i64, 1024),  # copies by the TMA swizzle by address
            }
            ip = ir.InsertionPoint.at_block_begin(b.module.body)
            ir.Operation.create("llvm.mlir.global", attributes=attributes, regions=1, ip=ip)
            b.symbols().add(name)
        return b.op("llvm.mlir.addressof", (), b.ptr(space), {"global_name": ir.FlatSymbolRefAttr.get(name)})

    # --- atomics ------------------------------------------------------------------------------------------

    def atomic_rmw(
        self,
        b: Builder,
        kind: AtomicOp,
        pointer: ir.Value,
        value: ir.Value,
        predicate: ir.Value | None,
        access: AtomicAccess,
    ) -> ir.Value:
        """``atom`` or ``red`` of global memory; Unsupported for element types that it does not have."""
        if pointer.type != b.ptr(self.address_space("global")):
            # LLVM's own is as good, and knows the other memories
            return super().atomic_rmw(b, kind, pointer, value, predicate, access)
        operation, type_name = self._atomic(kind, value.type)
        attributes: dict[str, ir.Attribute] = {
            "combine": ir.StringAttr.get(operation),
            "kind": ir.StringAttr.get(type_name),
            "order": ir.StringAttr.get(_ORDER[access.sem] + _SCOPE[access.scope]),
        }
        operands = [pointer, value, b.true() if predicate is None else predicate]
        return AtomicRmwOp.build(operands, [value.type], attributes)[0]

    def atomic_load(
        self,
        b: Builder,
        pointer: ir.Value,
        type_: ir.Type,
        predicate: ir.Value | None,
        access: AtomicAccess,
    ) -> ir.Value:
        """``ld.acquire`` or ``ld.relaxed``."""
        order = {"order": ir.StringAttr.get(_ORDER[access.sem] + _SCOPE[access.scope])}
        return AtomicLoadOp.build([pointer, b.true() if predicate is None else predicate], [type_], order)[0]

    def has_atomic_load(self, bits: int) -> bool:
        """Of every width."""
        return True

    def fence(self, b: Builder, access: AtomicAccess) -> None:
        """``fence``; before compute capability 9.0 it has no one-sided forms."""
        one_sided = self.target.has("one-sided-fences")
        order = _ORDER[access.sem if one_sided else MemSemantic.ACQUIRE_RELEASE]
        AtomicFenceOp.build([], (), {"order": ir.StringAttr.get(order + _SCOPE[access.scope])})

    def has_atomic(self, kind: AtomicOp | None, element: ir.Type) -> bool:
        """``atom.cas`` also of 16 bits, ``atom.add`` also of f16 (and bf16, where the processor has it)."""
        name = str(element)
        if kind is AtomicOp.FADD:
            return name in _FLOAT_ADD and (name != "bf16" or self.target.has("bf16-atomics"))
        narrowest = 16 if kind is None else 32
        return name.startswith("!llvm.ptr") or element.width >= narrowest

    def atomic_width(self, kind: AtomicOp, element: ir.Type) -> int:
        """16 bytes of floats from compute capability 9.0 on, pairs of f16 before: additions."""
        name = str(element)
        if kind is not AtomicOp.FADD or name not in _VECTOR_ADD:
            return 1
        if self.target.has("vector-atomics"):
            return 128 // element.width
        return 2 if name == "f16" else 1

    def nanoseconds(self, b: Builder) -> ir.Value:
        """``%globaltimer``."""
        return ClockOp.build([], [b.i64])[0]

    def _atomic(self, kind: AtomicOp, type_: ir.Type) -> tuple[str, str]:
        """The instruction's operation and type."""
        if isinstance(type_, ir.VectorType):
            return self._vector_addition(kind, type_)
        name = str(type_)
        if (
            kind is AtomicOp.FADD
            and name in _FLOAT_ADD
            and (name != "bf16" or self.target.has("bf16-atomics"))
        ):
            return "add", _FLOAT_ADD[name]
        bits = 64 if name.startswith("!llvm.ptr") else type_.width
        if kind in _ATOMIC and bits in (32, 64):
            operation, prefix = _ATOMIC[kind]
            # 64-bit signed addition does not exist, and is the same as unsigned
            return operation, f"{prefix}{bits}"
        raise Unsupported(
            f"{self.target} has no atomic {kind.name.lower()} on {name}", remedy="use i32, i64, fp32 or fp16"
        )

    def _vector_addition(self, kind: AtomicOp, type_: ir.VectorType) -> tuple[str, str]:
        """Of a vector of floats, in words of 32 bits."""
        element, (count,) = type_.element_type, type_.shape
        if count > self.atomic_width(kind, element):
            raise Unsupported(
                f"{self.target} has no atomic {kind.name.lower()} on {type_}", remedy="ask atomic_width first"
            )
        rounding, word = _VECTOR_ADD[str(element)]
        words = count * element.width // 32
        return "add", f"{rounding}v{words}.{word}" if words > 1 else f"{rounding}{word}"

    def atomic_cas(
        self,
        b: Builder,
        pointer: ir.Value,
        compare: ir.Value,
        value: ir.Value,
        predicate: ir.Value | None,
        access: AtomicAccess,
    ) -> ir.Value:
        """``atom.cas`` on 16, 32 or 64 bits; Unsupported for others."""
        if not str(value.type).startswith("!llvm.ptr") and value.type.width not in (16, 32, 64):
            raise Unsupported(
                f"{self.target} has no atomic compare-and-swap on {value.type}", remedy="use i32 or i64"
            )
        order = {"order": ir.StringAttr.get(_ORDER[access.sem] + _SCOPE[access.scope])}
        operands = [pointer, compare, value, b.true() if predicate is None else predicate]
        return AtomicCasOp.build(operands, [value.type], order)[0]

    # --- matrices -----------------------------------------------------------------------------------------

    def matrix_operand(
        self, b: Builder, dot: ir.Operation, index: int, registers: Sequence[ir.Value]
    ) -> Sequence[ir.Value]:
        """Packed words; f32 rounded to tf32."""
        return matrix_words.operand(b, dot, index, registers)

    def matrix_multiply(
        self,
        b: Builder,
        dot: ir.Operation,
        left: Sequence[ir.Value],
        right: Sequence[ir.Value],
        total: Sequence[ir.Value],
    ) -> Sequence[ir.Value]:
        """``mma.sync``."""
        return matrix_words.multiply(b, dot, left, right, total)

    # --- arithmetic ---------------------------------------------------------------------------------------

    def math(self, b: Builder, name: str, args: Sequence[ir.Value]) -> ir.Value | None:
        """Hardware approximations where they are good enough, libdevice for the rest."""
        return words.function(b, name, args)

    def cast(self, b: Builder, value: ir.Value, source: str, target: str, rounding: str) -> ir.Value | None:
        """``cvt`` for what the hardware converts."""
        return cast(b, self.target, value, source, target, rounding)

    def casts(
        self, b: Builder, values: Sequence[ir.Value], source: str, target: str, rounding: str
    ) -> Sequence[ir.Value] | None:
        """``cvt`` of two values at a time."""
        return cast_all(b, self.target, values, source, target, rounding)

    # --- debugging ----------------------------------------------------------------------------------------

    def grid_dependency(self, b: Builder, *, wait: bool) -> None:
        """``griddepcontrol``, from compute capability 9.0 on."""
        if not self.target.has("griddepcontrol"):
            super().grid_dependency(b, wait=wait)
        what = "wait" if wait else "launch_dependents"
        GridDependencyOp.build([], [], {"what": ir.StringAttr.get(what)})

    def print(
        self, b: Builder, prefix: str, args: Sequence[ir.Value], signed: Sequence[bool], hex_: bool
    ) -> None:
        """``vprintf``, which the driver provides."""
        text, values = format_for_c(b, prefix, args, signed, hex_)
        PrintOp.build(values, [], {"text": ir.StringAttr.get(text)})

    def assert_fail(self, b: Builder, message: str, file: str, function: str, line: int) -> None:
        """``__assertfail``, which the driver provides, after a record for the host of where it was."""
        number = ir.IntegerAttr.get(b.i32, self.assertion_site(message, file, line))
        RecordFaultOp.build([], [], {"site": number})
        assert_fail(b, message, file, function, line)
