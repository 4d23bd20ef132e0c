"""The AMD architectures as a table, and the target made from a row of it.

Sources: LLVM's "User Guide for AMDGPU Backend" (processors, code object format) and AMD's instruction set
guides of CDNA2, CDNA3, CDNA4, RDNA2, RDNA3 and RDNA4; of gfx1250 LLVM's AMDGPU target (``AMDGPU.td``,
``AMDGPUBaseInfo.cpp``: 1024 registers, 320 KiB of LDS).
"""

from __future__ import annotations

import difflib

from tri_backend_amd.mfma.forms import Form, forms
from tri_backend_amd.options import AmdOptions
from tri_backend_amd.wmma import forms as wmma
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

__all__ = [
    "ARCHITECTURES",
    "CODE_OBJECT_VERSION",
    "DEVICE_KIND",
    "TRIPLE",
    "Architecture",
    "target",
]

DEVICE_KIND = "hip"
TRIPLE = "amdgcn-amd-amdhsa"
#: ROCm 5.3 and later load version 5
CODE_OBJECT_VERSION = 500

_DATA_LAYOUT = (
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48"
    "-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024"
    "-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
)


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One row: ``waves`` sizes with the preferred one first, ``lds`` bytes per work group in ``banks``.

    ``machine`` is the number in the ELF header's flags; ``vgprs`` per work item; ``matrix`` the name of
    the matrix unit's instructions (:mod:`.mfma.forms`, :mod:`.wmma.forms`); ``max_waves`` wavefronts per SIMD.
    """

    name: str
    title: str
    family: str
    machine: int
    waves: tuple[int, ...]
    max_waves: int
    vgprs: int
    lds: int = 65536
    banks: int = 32
    matrix: str = ""


def _cdna(
    name: str, title: str, family: str, machine: int, *, lds: int = 65536, waves: int = 8, vgprs: int = 512
) -> Architecture:
    return Architecture(
        name=name, title=title, family=family, machine=machine, lds=lds, banks=64 if lds > 65536 else 32,
        waves=(64,), max_waves=waves, vgprs=vgprs, matrix="mfma",
    )  # fmt: skip


def _rdna(name: str, title: str, family: str, machine: int) -> Architecture:
    return Architecture(
        name=name, title=title, family=family, machine=machine,
        waves=(32,), max_waves=16, vgprs=256, matrix="wmma" if wmma.forms(name) else "",
    )  # fmt: skip


ARCHITECTURES: dict[str, Architecture] = {
    row.name: row
    for row in (
        # accumulators have registers of their own, as many again
        _cdna("gfx908", "Instinct MI100", "cdna1", 0x30, waves=10, vgprs=256),
        _cdna("gfx90a", "Instinct MI200", "cdna2", 0x3F),
        _cdna("gfx942", "Instinct MI300", "cdna3", 0x4C),
        _cdna("gfx950", "Instinct MI350", "cdna4", 0x4F, lds=163840),
        _rdna("gfx1030", "Radeon RX 6800 and 6900", "rdna2", 0x36),
        _rdna("gfx1100", "Radeon RX 7900", "rdna3", 0x41),
        _rdna("gfx1200", "Radeon RX 9060", "rdna4", 0x48),
        _rdna("gfx1201", "Radeon RX 9070", "rdna4", 0x4E),
        Architecture(
            name="gfx1250",
            title="Instinct MI450",
            family="cdna5",
            machine=0x49,
            waves=(32,),
            max_waves=16,
            vgprs=1024,
            lds=327680,
            banks=64,
            matrix="wmma",
        ),
    )
}

#: MLIR's element types -> the language's
_DTYPES = {
    "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64", "i8": "i8", "i32": "i32",
    "f8E4M3FN": "fp8e4nv", "f8E5M2": "fp8e5", "f8E4M3FNUZ": "fp8e4b8", "f8E5M2FNUZ": "fp8e5b16",
}  # fmt: skip
_INTEGERS = ("i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
_FLOATS = ("fp16", "fp32", "fp64")
_ATOMIC_INTEGER = ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg", "cas")


def _mfma(form: Form) -> MmaDesc:
    a, b, total = ("tf32" if form.xf32 and t == form.a else _DTYPES[t] for t in (form.a, form.b, form.total))
    kinds = a if a == b else f"{a}.{b}"
    acc = "fp32" if form.xf32 else total
    return MmaDesc(
        name=f"mfma.{form.m}x{form.n}x{form.k}.{kinds}", a=a, b=b, acc=acc, m=form.m, n=form.n, k=form.k
    )


def _dot(row: Architecture) -> tuple[MmaDesc, ...]:
    if row.matrix == "mfma":
        return tuple(map(_mfma, forms(row.name)))
    return tuple(map(_wmma, wmma.forms(row.name)))


def _wmma(form: wmma.Form) -> MmaDesc:
    a, b, total = (_DTYPES[t] for t in (form.a, form.b, form.total))
    side, kinds = wmma.SIDE, a if a == b else f"{a}.{b}"
    name = f"wmma.{side}x{side}x{form.k}.{kinds}"
    return MmaDesc(name=name, a=a, b=b, acc=total, m=side, n=side, k=form.k)


def _unit(row: Architecture) -> ComputeUnit:
    """A compute unit of CDNA, or a work-group processor of RDNA (two compute units): four SIMDs each.

    Registers per lane of a SIMD and their granularity are those that LLVM's AMDGPU target counts with.
    """
    if row.matrix == "mfma":
        return ComputeUnit(
            partitions=4, warps=row.max_waves, registers=row.vgprs, register_unit=8 if row.vgprs > 256 else 4,
            shared=row.lds, shared_unit=1280 if row.lds > 65536 else 512, blocks=16,
        )  # fmt: skip
    if row.family == "cdna5":
        return ComputeUnit(
            partitions=4, warps=row.max_waves, registers=row.vgprs, register_unit=16, shared=row.lds, shared_unit=1024, blocks=32
        )  # fmt: skip
    large = row.family != "rdna2"
    return ComputeUnit(
        partitions=4, warps=row.max_waves, registers=1536 if large else 1024, register_unit=24 if large else 16,
        shared=131072, shared_unit=1024 if large else 512, blocks=32,
    )  # fmt: skip


def _spec(row: Architecture) -> TargetSpec:
    # HIP counts a launch in work items of 32 bits
    blocks = ((1 << 32) - 1) // row.waves[0]
    return TargetSpec(
        threads_per_warp=row.waves,
        limits={
            "shared": row.lds,
            "threads": 1024,
            "grid_x": blocks,
            "grid_y": (1 << 16) - 1,
            "grid_z": (1 << 16) - 1,
            "registers": row.vgprs,
            "waves_per_eu": row.max_waves,
        },
        # dots by multiply-add compute all as ieee, which none of the others is more precise than
        dot_precisions=("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"),
        memories=(
            Memory(name="global", address_space=1),
            Memory(name="constant", address_space=4),
            Memory(name="shared", address_space=3, capacity=row.lds, banks=row.banks, bank_bytes=4),
            Memory(name="buffer", address_space=8),
        ),
        dtypes=frozenset((*_INTEGERS, *_FLOATS)),
        emulated_dtypes=frozenset(("bf16", "fp8e5", "fp8e4nv", "fp8e5b16", "fp8e4b8")),
        dot=_dot(row),
        atomics={
            **dict.fromkeys(("i32", "i64"), _ATOMIC_INTEGER),
            **dict.fromkeys(_FLOATS, ("fadd", "max", "min", "xchg", "cas")),
        },
        features=frozenset(
            f for f in (row.family, row.family.rstrip("0123456789"), row.matrix, "buffer-ops") if f
        ),
        llvm=LLVMTarget(triple=TRIPLE, cpu=row.name, data_layout=_DATA_LAYOUT),
        unit=_unit(row),
    )


def target(key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``; an empty architecture means that of ``device``."""
    # a driver's name may carry features: gfx942:sramecc+:xnack-
    name = (key.arch or (device.arch if device is not None else "")).partition(":")[0]
    row = ARCHITECTURES.get(name)
    if row is None:
        raise _unknown(key, name)
    if key.features:
        raise TargetError(
            f"{key}: AMD targets have no optional features", remedy=f"write {key.backend}:{name}"
        )
    return Target(
        key=TargetKey(key.backend, name), spec=_spec(row), options_type=AmdOptions, device_kind=DEVICE_KIND
    )


def _unknown(key: TargetKey, name: str) -> TargetError:
    if not name:
        return TargetError(
            "no AMD GPU is present, so the architecture must be named",
            remedy=f"write {key.backend}:gfx942, say, to compile without launching",
        )
    near = difflib.get_close_matches(name, ARCHITECTURES, n=3, cutoff=0.6)
    known = ", ".join(ARCHITECTURES)
    return TargetError(
        f"unknown AMD architecture {name!r}",
        remedy=f"did you mean {' or '.join(near)}? (known: {known})" if near else f"known: {known}",
    )
