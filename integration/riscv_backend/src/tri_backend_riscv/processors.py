"""The processors: 64-bit RISC-V with the vector extension, by how many bits its registers have at least."""

from __future__ import annotations

import difflib
from dataclasses import replace

from tri_backend_cpu.target import make_target
from tri_core.api import DeviceInfo, LLVMTarget, Target, TargetError, TargetKey

__all__ = ["KIND", "PROCESSORS", "processor_target", "register_bits"]

#: the kind of the devices
KIND = "riscv"
#: architecture -> bits of a vector register; code for few bits runs where registers are longer
PROCESSORS = {"rv64gcv": 128, "rv64gcv-vlen256": 256}
_EXTENSIONS = ("m", "a", "f", "d", "c", "v")


def register_bits(arch: str) -> int:
    """Bits of a vector register of ``arch``; TargetError for an unknown one."""
    bits = PROCESSORS.get(arch)
    if bits is None:
        near = difflib.get_close_matches(arch, PROCESSORS, cutoff=0.5)
        raise TargetError(
            f"the RISC-V backend knows no processor {arch!r}",
            remedy=f"did you mean {near[0]}?" if near else f"known: {', '.join(PROCESSORS)}",
        )
    return bits


def processor_target(key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``; without an architecture that of ``device``, or the one with 128 bits.

    TargetError for an unknown architecture, and for features: the architecture's name says them all.
    """
    arch = key.arch or (device.arch if device is not None else next(iter(PROCESSORS)))
    bits = register_bits(arch)
    if key.features:
        raise TargetError(
            f"the RISC-V backend takes no features (+{'+'.join(key.features)})",
            remedy=f"name one of its processors: {', '.join(PROCESSORS)}",
        )
    made = make_target(TargetKey("cpu", "riscv64", _EXTENSIONS), None)
    features = ",".join(f"+{name}" for name in (*_EXTENSIONS, f"zvl{bits}b"))
    llvm = LLVMTarget(triple="riscv64-unknown-linux-gnu", cpu="generic-rv64", features=features)
    return replace(
        made,
        key=TargetKey(key.backend, arch),
        spec=replace(made.spec, max_vector_bits=bits, llvm=llvm),
        device_kind=KIND,
    )
