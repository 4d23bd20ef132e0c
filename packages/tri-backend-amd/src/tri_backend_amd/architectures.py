"""The target made from a processor's row.

What a processor has is in :mod:`.processors`.
"""

from __future__ import annotations

import difflib

from tri_backend_amd.mfma.forms import Form, forms
from tri_backend_amd.options import AmdOptions
from tri_backend_amd.processors import DEVICE_KIND, FAMILIES, GONE, PROCESSORS, Family, Processor
from tri_backend_amd.target_ids import checked_modes, llvm_features
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

__all__ = [
    "ARCHITECTURES",
    "CODE_OBJECT_VERSION",
    "DEVICE_KIND",
    "TRIPLE",
    "target",
]

TRIPLE = "amdgcn-amd-amdhsa"
#: ROCm 5.3 and later load version 5
CODE_OBJECT_VERSION = 500

_DATA_LAYOUT = (
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48"
    "-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024"
    "-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
)


#: the processors that a target may name
ARCHITECTURES = PROCESSORS

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


def _dot(row: Processor) -> tuple[MmaDesc, ...]:
    if FAMILIES[row.family].matrix == "mfma":
        return tuple(map(_mfma, forms(row.name)))
    return tuple(map(_wmma, wmma.forms(row.name)))


def _wmma(form: wmma.Form) -> MmaDesc:
    a, b, total = (_DTYPES[t] for t in (form.a, form.b, form.total))
    side, kinds = wmma.SIDE, a if a == b else f"{a}.{b}"
    name = f"wmma.{side}x{side}x{form.k}.{kinds}"
    return MmaDesc(name=name, a=a, b=b, acc=total, m=side, n=side, k=form.k)


def _unit(row: Processor, family: Family) -> ComputeUnit:
    """A compute unit of GCN and CDNA, or a work-group processor of RDNA (two compute units): four SIMDs each.

    Registers per lane of a SIMD and their granularity are those that LLVM's AMDGPU target counts with.
    """
    if family.wavefront == 64:
        return ComputeUnit(
            partitions=4, warps=family.waves, registers=family.vgprs, register_unit=8 if family.vgprs > 256 else 4,
            shared=family.lds, shared_unit=1280 if family.lds > 65536 else 512, blocks=16,
        )  # fmt: skip
    if family.name == "cdna5":
        return ComputeUnit(
            partitions=4, warps=family.waves, registers=family.vgprs, register_unit=16, shared=family.lds,
            shared_unit=1024, blocks=32,
        )  # fmt: skip
    return ComputeUnit(
        partitions=4, warps=family.waves, registers=1536 if row.wide else 1024, register_unit=24 if row.wide else 16,
        shared=131072, shared_unit=512 if family.name == "rdna2" else 1024, blocks=32,
    )  # fmt: skip


def _spec(row: Processor, features: str) -> TargetSpec:
    family = FAMILIES[row.family]
    # HIP counts a launch in work items of 32 bits
    blocks = ((1 << 32) - 1) // family.wavefront
    return TargetSpec(
        threads_per_warp=(family.wavefront,),
        limits={
            "shared": family.lds,
            "threads": 1024,
            "grid_x": blocks,
            "grid_y": (1 << 16) - 1,
            "grid_z": (1 << 16) - 1,
            "registers": family.vgprs,
            "waves_per_eu": family.waves,
        },
        # dots by multiply-add compute all as ieee, which none of the others is more precise than
        dot_precisions=("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"),
        memories=(
            Memory(name="global", address_space=1),
            Memory(name="constant", address_space=4),
            Memory(name="shared", address_space=3, capacity=family.lds, banks=family.banks, bank_bytes=4),
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
            f for f in (row.family, row.family.rstrip("0123456789"), family.matrix, "buffer-ops") if f
        ),
        llvm=LLVMTarget(triple=TRIPLE, cpu=row.name, features=features, data_layout=_DATA_LAYOUT),
        unit=_unit(row, family),
    )


def target(key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``; an empty architecture means that of ``device``."""
    # of a device's own modes nothing is said: code that leaves them open runs in any
    name = key.arch or (device.arch if device is not None else "").partition(":")[0]
    row = PROCESSORS.get(name)
    if row is None:
        raise _unknown(key, name)
    modes = checked_modes(str(key), name, key.features)
    features = tuple(f"{mode}{'+' if on else '-'}" for mode, on in sorted(modes.items()))
    return Target(
        key=TargetKey(key.backend, name, features),
        spec=_spec(row, llvm_features(modes)),
        options_type=AmdOptions,
        device_kind=DEVICE_KIND,
    )


def _unknown(key: TargetKey, name: str) -> TargetError:
    if not name:
        return TargetError(
            "no AMD GPU is present, so the architecture must be named",
            remedy=f"write {key.backend}:gfx942, say, to compile without launching",
        )
    if name in GONE:
        why, instead = GONE[name]
        raise TargetError(f"{name} is {why}", remedy=f"compile for {key.backend}:{instead}")
    near = difflib.get_close_matches(name, ARCHITECTURES, n=3, cutoff=0.6)
    known = ", ".join(ARCHITECTURES)
    return TargetError(
        f"unknown AMD architecture {name!r}",
        remedy=f"did you mean {' or '.join(near)}? (known: {known})" if near else f"known: {known}",
    )
