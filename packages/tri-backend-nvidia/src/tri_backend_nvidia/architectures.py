"""The NVIDIA architectures as a table, and the target made from a row of it.

A plain name (``sm_90``) is code for every GPU of the same major number and an equal or larger minor one;
``a`` allows the instructions of exactly this GPU, ``f`` those of its family.
"""

from __future__ import annotations

import difflib
from dataclasses import replace

from tri_backend_nvidia.options import NvidiaOptions
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

__all__ = ["ARCHITECTURES", "DEVICE_KIND", "TRIPLE", "Architecture", "architecture_of_device", "target"]

DEVICE_KIND = "cuda"
TRIPLE = "nvptx64-nvidia-cuda"
_DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
_KIB = 1024


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One row, for compute capability ``major.minor``.

    ``shared`` bytes that a CTA may ask for; ``warps`` resident per multiprocessor; ``ptx`` the PTX version
    used; ``f32_flops`` and ``tensor_flops`` (f16 inputs, dense) per multiprocessor and clock; ``matrix``
    the newest matrix instruction.
    """

    major: int
    minor: int
    title: str
    shared: int
    warps: int
    ptx: int = 87
    f32_flops: int = 256
    tensor_flops: int = 0
    matrix: str = "mma"
    suffix: str = ""

    @property
    def capability(self) -> int:
        """The compute capability as major times ten plus minor."""
        return self.major * 10 + self.minor

    @property
    def name(self) -> str:
        """``sm_90a`` and its like."""
        return f"sm_{self.capability}{self.suffix}"


def _row(
    capability: int, title: str, shared_kib: int, warps: int, flops: tuple[int, int], *, ptx: int = 87
) -> Architecture:
    return Architecture(
        major=capability // 10, minor=capability % 10, title=title, shared=shared_kib * _KIB, warps=warps,
        f32_flops=flops[0], tensor_flops=flops[1], ptx=ptx,
    )  # fmt: skip


#: sources: the compute-capability tables of the CUDA programming guide; peaks from the data sheets' clocks
_PLAIN = (
    _row(75, "Turing (T4, RTX 20)", 64, 32, (128, 1024)),
    _row(80, "Ampere (A100)", 163, 64, (128, 2048)),
    _row(86, "Ampere (A10, A40, RTX 30)", 99, 48, (256, 1024)),
    _row(87, "Ampere (Jetson Orin)", 163, 48, (256, 2048)),
    _row(89, "Ada (L4, L40, RTX 40)", 99, 48, (256, 1024)),
    _row(90, "Hopper (H100, H200)", 227, 64, (256, 4096)),
    _row(100, "Blackwell (B200)", 227, 64, (256, 8192)),
    _row(103, "Blackwell (B300)", 227, 64, (256, 8192), ptx=88),
    _row(110, "Blackwell (Jetson Thor)", 227, 48, (256, 4096), ptx=90),
    _row(120, "Blackwell (RTX 50, RTX PRO)", 99, 48, (256, 1024)),
    _row(121, "Blackwell (DGX Spark)", 99, 48, (256, 1024), ptx=88),
)
#: what matrix instruction the suffix ``a`` brings, by major number
_SPECIFIC = {9: "wgmma", 10: "tcgen05", 11: "tcgen05", 12: "mma-block-scale"}


def _variants(row: Architecture) -> list[Architecture]:
    if row.major < 9:
        return [row]
    matrix = _SPECIFIC.get(row.major, row.matrix)
    rows = [row, replace(row, suffix="a", matrix=matrix)]
    if row.major >= 10:
        rows.append(replace(row, suffix="f", matrix=matrix, ptx=max(row.ptx, 88)))
    return rows


ARCHITECTURES: dict[str, Architecture] = {v.name: v for row in _PLAIN for v in _variants(row)}

#: CTAs that a multiprocessor holds, by compute capability (the rest: 32); source: as above
_CTAS = {75: 16, 86: 16, 87: 16, 89: 24, 110: 24, 120: 24, 121: 24}
#: CTAs of a cluster that every GPU with clusters launches; source: as above
_CLUSTER = 8
#: columns of tensor memory, each of 128 lanes of 32 bits, per multiprocessor; source: PTX ISA, "Tensor Memory"
_TENSOR_MEMORY = 512


def _unit(row: Architecture) -> ComputeUnit:
    """A multiprocessor: 64 Ki registers in four partitions; from 8.0 on the system keeps 1 KiB for each CTA."""
    reserved = _KIB if row.capability >= 80 else 0
    return ComputeUnit(
        partitions=4,
        warps=row.warps // 4,
        registers=512,
        register_unit=8,
        shared=row.shared + reserved,
        shared_unit=128 if row.capability >= 80 else 256,
        shared_reserved=reserved,
        blocks=_CTAS.get(row.capability, 32),
    )


_INTEGERS = ("i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
_FP8 = ("fp8e4nv", "fp8e5")
_INTEGER_ATOMICS = ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg", "cas")

#: (first compute capability, a and b, accumulator, m, n, k) of warp-level matrix instructions
_MMA = (
    (75, "fp16", "fp32", 16, 8, 8),
    (75, "i8", "i32", 8, 8, 16),
    (80, "fp16", "fp32", 16, 8, 16),
    (80, "bf16", "fp32", 16, 8, 16),
    (80, "tf32", "fp32", 16, 8, 8),
    (80, "i8", "i32", 16, 8, 32),
    (80, "fp64", "fp64", 8, 8, 4),
    (89, "fp8e4nv", "fp32", 16, 8, 32),
    (89, "fp8e5", "fp32", 16, 8, 32),
)


def _dot(row: Architecture) -> tuple[MmaDesc, ...]:
    return tuple(
        MmaDesc(name=f"mma.m{m}n{n}k{k}.{t}", a=t, b=t, acc=acc, m=m, n=n, k=k)
        for first, t, acc, m, n, k in _MMA
        if row.capability >= first
    )


def _features(row: Architecture) -> frozenset[str]:
    """Names for :meth:`Target.has`."""
    have = {
        "ldmatrix": 75,
        "cp-async": 80,
        "bf16": 80,
        "redux": 80,
        "cache-policy": 80,
        "fp8-convert": 89,
        "cluster": 90,
        "griddepcontrol": 90,
        "tma": 90,
        "elect": 90,
        "stmatrix": 90,
        "bf16-atomics": 90,
        "vector-atomics": 90,
        "one-sided-fences": 90,
    }
    by_age = {name for name, first in have.items() if row.capability >= first}
    # a plain architecture's code runs on later GPUs, which need not have them
    own = {"register-budgets"} if row.capability >= 90 and row.suffix else set()
    return frozenset(by_age | own | {"mma", row.matrix})


def _atomics(row: Architecture) -> dict[str, tuple[str, ...]]:
    floats = ["fp16", "fp32", "fp64"] + (["bf16"] if row.capability >= 90 else [])
    return {
        **dict.fromkeys(("i32", "i64", "u32", "u64"), _INTEGER_ATOMICS),
        **dict.fromkeys(floats, ("fadd", "xchg", "cas")),
    }


def _spec(row: Architecture) -> TargetSpec:
    halves = ("fp16", "bf16") if row.capability >= 80 else ("fp16",)
    fp8 = _FP8 if row.capability >= 89 else ()
    dtypes = frozenset((*_INTEGERS, *halves, "fp32", "fp64", *fp8))
    return TargetSpec(
        threads_per_warp=(32,),
        limits={
            "shared": row.shared,
            "threads": 1024,
            "registers": 255,
            "cluster": _CLUSTER if row.capability >= 90 else 1,
            **({"tensor_memory": _TENSOR_MEMORY} if row.matrix == "tcgen05" else {}),
            "grid_x": (1 << 31) - 1,
            "grid_y": (1 << 16) - 1,
            "grid_z": (1 << 16) - 1,
            "warps_per_multiprocessor": row.warps,
        },
        memories=(
            Memory(name="global", address_space=1),
            Memory(name="shared", address_space=3, capacity=row.shared),
            Memory(name="constant", address_space=4, capacity=64 * _KIB),
        ),
        dtypes=dtypes,
        emulated_dtypes=frozenset(("bf16", *_FP8, "fp8e4b15")) - dtypes,
        dot=_dot(row),
        # dots by multiply-add compute all as ieee, which none of the others is more precise than
        dot_precisions=("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"),
        atomics=_atomics(row),
        max_vector_bits=128,
        copy_engines=("cp.async",) * (row.capability >= 80) + ("tma",) * (row.capability >= 90),
        features=_features(row),
        peaks={"f32_flops_per_sm_clock": row.f32_flops, "f16_tensor_flops_per_sm_clock": row.tensor_flops},
        llvm=LLVMTarget(triple=TRIPLE, cpu=row.name, features=f"+ptx{row.ptx}", data_layout=_DATA_LAYOUT),
        unit=_unit(row),
    )


def target(key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``; an empty architecture means that of ``device``.

    ``90``, ``sm90`` and ``sm_90`` are the same.  TargetError for an unknown architecture.
    """
    asked = key.arch or (device.arch if device is not None else "")
    digits = asked.removeprefix("sm").removeprefix("_")
    row = ARCHITECTURES.get(f"sm_{digits}")
    if row is None:
        raise _unknown(key, asked)
    if key.features:
        raise TargetError(
            f"{key}: NVIDIA targets have no optional features",
            remedy=f"write {key.backend}:{row.name}; the suffix a means all instructions of that GPU",
        )
    return Target(
        key=TargetKey(key.backend, row.name),
        spec=_spec(row),
        options_type=NvidiaOptions,
        device_kind=DEVICE_KIND,
    )


def _unknown(key: TargetKey, name: str) -> TargetError:
    if not name:
        return TargetError(
            "no NVIDIA device is present, so the architecture must be named",
            remedy=f"write {key.backend}:sm_90a, say, to compile without launching",
        )
    near = difflib.get_close_matches(name, ARCHITECTURES, n=3, cutoff=0.5)
    known = ", ".join(ARCHITECTURES)
    return TargetError(
        f"unknown NVIDIA architecture {name!r}",
        remedy=f"did you mean {' or '.join(near)}? (known: {known})" if near else f"known: {known}",
    )


def architecture_of_device(major: int, minor: int) -> str:
    """The most specific known architecture whose code runs on compute capability ``major.minor``.

    A GPU newer than the table gets the code of its closest older relative of the same major number; one of
    an unknown major number keeps its own name, which :func:`target` then refuses with words.
    """
    exact = ARCHITECTURES.get(f"sm_{major}{minor}a") or ARCHITECTURES.get(f"sm_{major}{minor}")
    if exact is not None:
        return exact.name
    older = [row for row in _PLAIN if row.major == major and row.minor <= minor]
    return older[-1].name if older else f"sm_{major}{minor}"
