"""The devices as a table, and the target made from a row of it: one, whose instructions are this processor's."""

from __future__ import annotations

import difflib
import functools
from dataclasses import dataclass

from tri_core.api import DeviceInfo, LLVMTarget, Memory, Target, TargetError, TargetKey, TargetSpec

from tri_backend_toy.options import ToyOptions

__all__ = ["ADDRESS_SPACES", "ARCHITECTURES", "DEVICE_KIND", "Architecture", "target"]

DEVICE_KIND = "toy"

#: LLVM's numbers of the memories, as the device's compiler knows them
ADDRESS_SPACES = {"generic": 0, "global": 1, "shared": 3, "constant": 4}


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One row: ``lanes`` per warp, ``threads`` and bytes of ``shared`` memory per block, at most."""

    lanes: int
    threads: int
    shared: int


ARCHITECTURES = {
    "t1": Architecture(lanes=32, threads=1024, shared=64 << 10),
}

_INTEGERS = ("i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
_FLOATS = ("fp16", "fp32", "fp64")
#: held as integers and computed on in fp32, by code that every GPU backend shares
_EMULATED = ("bf16", "fp8e5", "fp8e4nv", "fp8e4b15")
_ATOMIC_INTEGER = ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg", "cas")
_GRID = (1 << 31) - 1


def target(key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``; one without an architecture means that of ``device``."""
    name = key.arch or (device.arch if device is not None else "")
    row = ARCHITECTURES.get(name)
    if row is None or key.features:
        raise _unknown(key, name)
    return Target(
        key=TargetKey(key.backend, name),
        spec=_spec(row),
        options_type=ToyOptions,
        device_kind=DEVICE_KIND,
    )


def _spec(row: Architecture) -> TargetSpec:
    return TargetSpec(
        threads_per_warp=(row.lanes,),
        limits={
            "shared": row.shared,
            "threads": row.threads,
            "grid_x": _GRID,
            "grid_y": _GRID,
            "grid_z": _GRID,
        },
        memories=(
            Memory(name="global", address_space=ADDRESS_SPACES["global"]),
            Memory(name="constant", address_space=ADDRESS_SPACES["constant"]),
            Memory(name="shared", address_space=ADDRESS_SPACES["shared"], capacity=row.shared),
        ),
        dtypes=frozenset((*_INTEGERS, *_FLOATS)),
        emulated_dtypes=frozenset(_EMULATED),
        # dots by multiply-add are at least as precise as each of these asks for
        dot_precisions=("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"),
        atomics={
            **dict.fromkeys(("i32", "i64"), _ATOMIC_INTEGER),
            **dict.fromkeys(_FLOATS, ("fadd", "max", "min", "xchg", "cas")),
        },
        llvm=_host(),
    )


@functools.cache
def _host() -> LLVMTarget:
    """This processor, as LLVM knows it."""
    import llvmlite.binding as llvm

    return LLVMTarget(triple=llvm.get_process_triple(), cpu=llvm.get_host_cpu_name())


def _unknown(key: TargetKey, name: str) -> TargetError:
    known = ", ".join(f"{key.backend}:{arch}" for arch in ARCHITECTURES)
    if not name:
        return TargetError("no Toy device is present: name an architecture", remedy=known)
    near = difflib.get_close_matches(name, ARCHITECTURES, n=1)
    return TargetError(
        f"unknown Toy target {str(key)!r}",
        remedy=f"did you mean {key.backend}:{near[0]}?" if near else f"known: {known}",
    )
