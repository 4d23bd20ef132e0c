"""CPU targets: ``cpu`` is this machine, ``cpu:<isa>`` or ``cpu:<isa>-<processor>`` any other.

A key may add features by LLVM's names: ``cpu:x86_64+avx2+fma``.
"""

from __future__ import annotations

import difflib
import functools
import platform

from tri_backend_cpu.options import CpuOptions
from tri_core import forks
from tri_core.api import DeviceInfo, LLVMTarget, Target, TargetError, TargetKey, TargetSpec
from tri_core.lazy_dataclasses import dataclass

__all__ = [
    "ARCHITECTURES",
    "DEVICE_KIND",
    "Isa",
    "host_arch",
    "host_device",
    "is_host",
    "isa_of",
    "make_target",
    "vector_bits",
]

#: the kind of the one device, this machine's processor
DEVICE_KIND = "cpu"

_AVX2 = frozenset({"avx2", "fma", "f16c"})
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
_NEON = frozenset({"neon", "fullfp16"})

_FLOATS = ("fp8e4nv", "fp8e5", "fp8e4b15", "fp8e4b8", "fp8e5b16", "fp16", "bf16")
_NATIVE = ("int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "fp32", "fp64")


@dataclass(frozen=True)
class Isa:
    """An instruction set: LLVM's triple and, by processor, the features that the lowering asks about."""

    triple: str
    processors: dict[str, frozenset[str]]
    generic: str


_ISAS = {
    "x86_64": Isa(
        triple="x86_64-unknown-linux-gnu",
        generic="x86-64",
        processors={
            "x86-64": frozenset(),
            "x86-64-v2": frozenset(),
            "x86-64-v3": _AVX2,
            "x86-64-v4": _AVX512,
            "haswell": _AVX2,
            "skylake": _AVX2,
            "alderlake": _AVX2,
            "skylake-avx512": _AVX512,
            "cascadelake": _AVX512,
            "icelake-server": _AVX512,
            "sapphirerapids": _AVX512,
            "graniterapids": _AVX512,
            "znver2": _AVX2,
            "znver3": _AVX2,
            "znver4": _AVX512,
            "znver5": _AVX512,
        },
    ),
    "aarch64": Isa(
        triple="aarch64-unknown-linux-gnu",
        generic="generic",
        processors=dict.fromkeys(
            ("generic", "neoverse-n1", "neoverse-v1", "neoverse-v2", "apple-m1", "apple-m4"), _NEON
        ),
    ),
    "riscv64": Isa(
        triple="riscv64-unknown-linux-gnu",
        generic="generic-rv64",
        processors={"generic-rv64": frozenset(), "sifive-p670": frozenset()},
    ),
}

#: every architecture with a name
ARCHITECTURES = tuple(
    name for isa, facts in _ISAS.items() for name in (isa, *(f"{isa}-{p}" for p in facts.processors))
)


@dataclass(frozen=True)
class _Host:
    """This machine as LLVM sees it."""

    isa: str
    triple: str
    cpu: str
    features: str


#: the library has a lock of its own, which no child would get
_llvm = forks.RLock()


@functools.cache
def _host() -> _Host:
    with _llvm:
        import llvmlite.binding as llvm

        # who only asks for the architectures, as each compile for another backend does, imports no runtime
        from tri_runtime.loader import loadable_triple

        triple = loadable_triple(llvm.get_process_triple())
        known = sorted(llvm.get_host_cpu_features().items())
        features = ",".join(f"{'+' if on else '-'}{name}" for name, on in known)
        isa = {"amd64": "x86_64", "arm64": "aarch64"}.get(triple.split("-")[0], triple.split("-")[0])
        return _Host(isa, triple, llvm.get_host_cpu_name(), features)


def host_arch() -> str:
    """The architecture of this machine, as keys name it."""
    host = _host()
    return f"{host.isa}-{host.cpu}"


def host_device() -> DeviceInfo:
    """This machine as a device."""
    return DeviceInfo(DEVICE_KIND, 0, host_arch(), platform.machine())


def isa_of(arch: str) -> str:
    """The instruction set that ``arch`` starts with."""
    return arch.partition("-")[0]


def is_host(arch: str) -> bool:
    """True if code for ``arch`` is for this machine's instruction set."""
    return isa_of(arch) == _host().isa


def make_target(key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``; without an architecture that of ``device``, or of this machine.

    TargetError for an unknown architecture.
    """
    arch = key.arch or (device.arch if device is not None else host_arch())
    full = TargetKey(key.backend, arch, key.features)
    llvm = _llvm_target(arch)
    extra = ",".join(f"+{name}" for name in key.features)
    features = ",".join(filter(None, (llvm.features, extra)))
    known = _known_features(arch, features)
    return Target(
        key=full,
        spec=_spec(LLVMTarget(triple=llvm.triple, cpu=llvm.cpu, features=features), known),
        options_type=CpuOptions,
        device_kind=DEVICE_KIND,
    )


def vector_bits(features: frozenset[str]) -> int:
    """Bits of a vector register."""
    return 512 if features >= _AVX512 else 256 if "avx2" in features else 128


def _llvm_target(arch: str) -> LLVMTarget:
    host = _host()
    if arch == host_arch():
        return LLVMTarget(triple=host.triple, cpu=host.cpu, features=host.features)
    isa, _, processor = arch.partition("-")
    facts = _ISAS.get(isa)
    if facts is None or (processor and processor not in facts.processors):
        near = difflib.get_close_matches(arch, (*ARCHITECTURES, host_arch()), n=4, cutoff=0.5)
        raise TargetError(
            f"the CPU backend knows no architecture {arch!r}",
            remedy=f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(ARCHITECTURES)}",
        )
    triple = host.triple if isa == host.isa else facts.triple
    return LLVMTarget(triple=triple, cpu=processor or facts.generic)


def _known_features(arch: str, features: str) -> frozenset[str]:
    isa, _, processor = arch.partition("-")
    named = {name[1:] for name in features.split(",") if name.startswith("+")}
    facts = _ISAS.get(isa)
    if facts is None or arch == host_arch():
        return frozenset(named)
    return frozenset(named) | facts.processors[processor or facts.generic]


def _spec(llvm: LLVMTarget, features: frozenset[str]) -> TargetSpec:
    return TargetSpec(
        limits={"grid_x": 2**31 - 1, "grid_y": 2**31 - 1, "grid_z": 2**31 - 1},
        dtypes=frozenset(_NATIVE + _FLOATS),
        emulated_dtypes=frozenset(_FLOATS),
        dot_precisions=("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"),
        atomics={"add": ("int32", "int64", "fp16", "bf16", "fp32", "fp64")},
        max_vector_bits=vector_bits(features),
        features=features & {"avx2", "fma", "f16c", "avx512f", "neon", "fullfp16"},
        llvm=llvm,
    )
