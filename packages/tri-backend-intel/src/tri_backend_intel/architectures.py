"""The Intel architectures as a table, and the target made from a row of it.

``opencl-cpu`` is Intel's OpenCL runtime for CPUs: it takes the same SPIR-V as a GPU does and stands in for
one where there is none.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import replace
from itertools import product

from tri_backend_intel.knobs import KNOBS
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.spirv.extensions import check_extensions
from tri_core import knobs
from tri_core.api import (
    ComputeUnit,
    DeviceInfo,
    LLVMTarget,
    Memory,
    MmaDesc,
    Target,
    TargetError,
    TargetKey,
    TargetSpec,
)
from tri_core.lazy_dataclasses import dataclass

__all__ = ["ARCHITECTURES", "ASSEMBLY", "DEVICE_KIND", "TRIPLE", "Architecture", "target"]

DEVICE_KIND = "sycl"

#: drivers of all listed devices take SPIR-V 1.4
TRIPLE = "spirv64v1.4-unknown-unknown"
_DATA_LAYOUT = (
    "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-n8:16:32:64-G1"
)

#: SPIR-V extensions that code for every device may use; LLVM declares the ones that a kernel really uses
_COMMON_EXTENSIONS = (
    "SPV_EXT_shader_atomic_float_add",
    "SPV_EXT_shader_atomic_float_min_max",
    "SPV_KHR_shader_clock",
)
#: and those that code for every GPU may use
_GPU_EXTENSIONS = (*_COMMON_EXTENSIONS, "SPV_INTEL_cache_controls", "SPV_INTEL_subgroups")
_BF16 = "SPV_INTEL_bfloat16_conversion"
ASSEMBLY = "SPV_INTEL_inline_assembly"
_DPAS = "SPV_INTEL_subgroup_matrix_multiply_accumulate"
_BLOCK_IO = "SPV_INTEL_2d_block_io"


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One row: ``sub_groups`` sizes with the preferred one first, ``shared`` bytes per work group.

    ``dpas_n`` is the N of the matrix instruction (0: none); ``threads_per_core`` hardware threads that
    share one local memory; ``bf16``: an instruction rounds to it (``mtl``, ``xe-lp``: drivers spell it out); ``large_registers``: a hardware thread may have 256 registers; ``ocloc`` is the device's name
    for the driver's compiler, where it differs; ``ticks`` of the clock that kernels read in a nanosecond, where the driver says none;
    ``assembly``: why the driver takes no inline assembly, empty where it does.  TargetError for an extension that LLVM does not know.
    """

    name: str
    title: str
    sub_groups: tuple[int, ...]
    shared: int
    threads: int = 1024
    threads_per_core: int = 64
    fp64: bool = True
    dpas_n: int = 0
    dpas_tf32: bool = False
    block_io: bool = False
    bf16: bool = True
    large_registers: bool = True
    ocloc: str = ""
    ticks: float = 3.0
    assembly: str = ""
    extensions: tuple[str, ...] = _GPU_EXTENSIONS

    def __post_init__(self) -> None:
        check_extensions(self.name, self.extensions)
        object.__setattr__(self, "ocloc", self.ocloc or self.name)

    @property
    def spirv_extensions(self) -> tuple[str, ...]:
        """``extensions``, and those of the instructions that the device has."""
        has = (
            (_DPAS, self.dpas_n),
            (_BLOCK_IO, self.block_io),
            (_BF16, self.bf16),
            (ASSEMBLY, not self.assembly),
        )
        own = [name for name, present in has if present]
        return (*self.extensions, *own)

    def without(self, names: Collection[str]) -> Architecture:
        """The row of a device whose driver lacks the extensions ``names``, and with them the instructions."""
        if not names:
            return self
        return replace(
            self,
            extensions=tuple(name for name in self.extensions if name not in names),
            dpas_n=0 if _DPAS in names else self.dpas_n,
            dpas_tf32=self.dpas_tf32 and _DPAS not in names,
            block_io=self.block_io and not {_BLOCK_IO, _DPAS} & set(names),
            bf16=self.bf16 and _BF16 not in names,
            assembly=self.assembly or (f"TRI_INTEL_WITHOUT names {ASSEMBLY}" if ASSEMBLY in names else ""),
        )


_XE2 = Architecture(
    name="", title="", sub_groups=(16, 32), shared=131072, dpas_n=16, dpas_tf32=True, block_io=True
)
_XE_HPG = Architecture(name="", title="", sub_groups=(16, 8, 32), shared=65536, threads_per_core=128)

#: ``ticks`` are at least the graphics frequencies published for these products: 1.6 GHz of Max 1550, 2.67 of Arc B580 (cards of others
#: 2.85), 2.05 of Arc 140V, 2.1 of Arc A770, 1.65 of Iris Xe MAX; of ptl, arl-h and mtl they are assumed; the runtime sets what a device says
#: sources: the SYCL joint-matrix tables, what the driver's compiler (IGC 2.40) takes of SPIR-V's extensions, the Xe architecture guide, and what drivers report as limits
ARCHITECTURES: dict[str, Architecture] = {
    row.name: row
    for row in (
        replace(_XE2, name="pvc", ticks=1.6, title="Data Center GPU Max (Ponte Vecchio)"),
        replace(_XE2, name="bmg", ticks=3.0, title="Arc B series (Battlemage)"),
        replace(_XE2, name="lnl", ticks=2.1, title="Core Ultra 200V (Lunar Lake)", ocloc="lnl-m"),
        replace(_XE2, name="ptl", ticks=2.6, title="Core Ultra 300 (Panther Lake)", ocloc="ptl-h"),
        replace(_XE_HPG, name="dg2", ticks=2.6, title="Arc A series (Alchemist)", fp64=False, dpas_n=8),
        replace(_XE_HPG, name="arl-h", ticks=2.4, title="Core Ultra 200H (Arrow Lake-H)"),
        replace(
            _XE_HPG, name="mtl", ticks=2.4, title="Core Ultra 100 (Meteor Lake)", bf16=False, ocloc="mtl-h"
        ),
        replace(
            _XE_HPG,
            name="xe-lp",
            ticks=1.7,
            title="Iris Xe and other GPUs of the 12th generation",
            fp64=False,
            ocloc="tgllp",
            bf16=False,
            large_registers=False,
        ),
        Architecture(
            name="opencl-cpu",
            ticks=1.0,  # its clock counts nanoseconds
            assembly="the OpenCL driver for CPUs refuses SPV_INTEL_inline_assembly",
            title="Intel OpenCL runtime on a CPU",
            sub_groups=(16, 8, 4, 32, 64),
            shared=262144,
            threads=8192,
            threads_per_core=1,
            large_registers=False,
            extensions=_COMMON_EXTENSIONS,
            bf16=False,
        ),
    )
}

_INTEGERS = ("i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
_FP8 = ("fp8e5", "fp8e4nv")
_ATOMIC_INTEGER = ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg", "cas")


def _dot(row: Architecture) -> tuple[MmaDesc, ...]:
    """The DPAS shapes: depth 8, up to 8 rows, N set by the execution size, 32 bits of K per channel."""
    if not row.dpas_n:
        return ()
    shapes = [("fp16", "fp32", 16), ("bf16", "fp32", 16), ("i8", "i32", 32), ("u8", "i32", 32)]
    if row.dpas_tf32:
        shapes.append(("tf32", "fp32", 8))
    forms = [MmaDesc(name=f"dpas.{t}", a=t, b=t, acc=acc, m=8, n=row.dpas_n, k=k) for t, acc, k in shapes]
    # two of f16 after a conversion in registers
    forms += [
        MmaDesc(name=f"dpas.{a}.{b}", a=a, b=b, acc="fp32", m=8, n=row.dpas_n, k=32)
        for a, b in product(_FP8, repeat=2)
    ]
    return tuple(forms)


def _features(row: Architecture) -> frozenset[str]:
    """Names for :meth:`Target.has`: abilities, and the SPIR-V extensions that code may use."""
    have = {"fp16": True, "fp64": row.fp64, "dpas": bool(row.dpas_n), "2d-block-io": row.block_io}
    have["large-registers"] = row.large_registers
    have["gpu"] = row.name != "opencl-cpu"
    return frozenset(name for name, present in have.items() if present) | frozenset(row.spirv_extensions)


def _unit(row: Architecture) -> ComputeUnit | None:
    """A core: vector engines of 8 hardware threads with 128 registers of their own, shared local memory.

    None for a CPU.  ``registers`` are those of a hardware thread, 128 or 256.
    """
    if row.name == "opencl-cpu":
        return None
    return ComputeUnit(
        partitions=row.threads_per_core // 8,
        warps=8,
        registers=8 * 128,
        register_unit=128,
        shared=row.shared,
        shared_unit=1024,
        blocks=row.threads_per_core,
    )


def _spec(row: Architecture) -> TargetSpec:
    floats = ("fp16", "fp32", "fp64") if row.fp64 else ("fp16", "fp32")
    limit = (1 << 31) - 1
    return TargetSpec(
        threads_per_warp=row.sub_groups,
        limits={
            "shared": row.shared,
            "threads": row.threads,
            "grid_x": limit,
            "grid_y": limit,
            "grid_z": limit,
            "hardware_threads": row.threads_per_core,
        },
        # dots by multiply-add compute all as ieee, which none of the others is more precise than
        dot_precisions=("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"),
        memories=(
            Memory(name="global", address_space=1, line_bytes=64),
            Memory(name="constant", address_space=2),
            Memory(name="shared", address_space=3, capacity=row.shared, banks=16, bank_bytes=4),
        ),
        dtypes=frozenset((*_INTEGERS, *floats)),
        emulated_dtypes=frozenset(("bf16", *_FP8, "fp8e4b15")),
        dot=_dot(row),
        atomics={
            **dict.fromkeys(("i32", "i64"), _ATOMIC_INTEGER),
            **dict.fromkeys(floats, ("fadd", "max", "min", "xchg", "cas")),
        },
        features=_features(row),
        llvm=LLVMTarget(triple=TRIPLE, data_layout=_DATA_LAYOUT),
        unit=_unit(row),
    )


def _row_of(name: str) -> Architecture:
    """The row ``name`` without what ``TRI_INTEL_WITHOUT`` takes from it."""
    knobs.register(KNOBS)  # again, for who asks without the plugin manager
    names = knobs.get("INTEL_WITHOUT")
    return ARCHITECTURES[name].without(names if isinstance(names, tuple) else ())


def target(key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``; an empty architecture means that of ``device``."""
    name = key.arch or (device.arch if device is not None else "")
    if name not in ARCHITECTURES:
        raise _unknown(key, name)
    row = _row_of(name)
    if key.features:
        raise TargetError(
            f"{key}: Intel targets have no optional features", remedy=f"write {key.backend}:{name}"
        )
    return Target(
        key=TargetKey(key.backend, name),
        spec=_spec(row),
        options_type=IntelOptions,
        device_kind=DEVICE_KIND,
    )


def _unknown(key: TargetKey, name: str) -> TargetError:
    if not name:
        return TargetError(
            "no Intel device is present, so the architecture must be named",
            remedy=f"write {key.backend}:pvc, say, to compile without launching; for a device on this CPU: "
            "pip install 'tri-backend-intel[cpu]'",
        )
    near = difflib.get_close_matches(name, ARCHITECTURES, n=3, cutoff=0.4)
    known = ", ".join(ARCHITECTURES)
    return TargetError(
        f"unknown Intel architecture {name!r}",
        remedy=f"did you mean {' or '.join(near)}? (known: {known})" if near else f"known: {known}",
    )
