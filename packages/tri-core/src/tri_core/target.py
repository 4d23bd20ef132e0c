"""Targets: what a kernel is compiled for.

Three identities are kept apart: a *device* (:class:`DeviceInfo`, something present in this machine), a
*target key* (:class:`TargetKey`, ``backend:arch``, which exists with no device at all) and a *target
spec* (:class:`TargetSpec`, every number and table that a compiler may ask about).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from tri_core.errors import TargetError
from tri_core.lazy_dataclasses import dataclass
from tri_core.options import CommonOptions

__all__ = [
    "SIMULATED_KIND",
    "ComputeUnit",
    "DeviceInfo",
    "LLVMTarget",
    "Memory",
    "MmaDesc",
    "Target",
    "TargetKey",
    "TargetSpec",
]

#: the device kind of simulated targets, and the prefix of their names
SIMULATED_KIND = "sim"
_LEVEL = "level="
#: of any simulated target: its own pipeline, with floats as integers modulo a power of two
EXACT_LEVEL = "exact"
#: of the names of functions that lowerings leave to the simulator there
EXACT_PREFIX = "tri.exact."


@dataclass(frozen=True, order=True)
class TargetKey:
    """``backend:arch[+feature...]``, or ``backend:arch:mode+:mode-``: the identity that every cache key holds.

    A feature that ends in ``+`` or ``-`` is a mode that the code needs on or off; one that does not is there.

    A ``simulated`` key, written ``sim:backend:arch``, is that of the same code for the simulator; one with a ``level``
    (``sim:backend:arch:level=text``) runs there at another level than the last one before LLVM.
    """

    backend: str
    arch: str = ""
    features: tuple[str, ...] = ()
    simulated: bool = False
    level: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``"vendor:arch+feature"`` or ``"vendor:arch:mode-"``; a bare ``"vendor"`` leaves ``arch`` empty (the present device)."""
        first, _, simulated = text.strip().partition(":")
        if first == SIMULATED_KIND:
            return cls._parse(simulated, text, simulated=True)
        return cls._parse(text.strip(), text, simulated=False)

    @classmethod
    def _parse(cls, name: str, text: str, *, simulated: bool) -> Self:
        backend, _, rest = name.partition(":")
        first, *given = rest.split(":")
        levels = [each.removeprefix(_LEVEL) for each in given if simulated and each.startswith(_LEVEL)]
        modes = [each for each in given if not simulated or not each.startswith(_LEVEL)]
        arch, *features = first.split("+")
        if wrong := [mode for mode in modes if not re.fullmatch(r"\w+[+-]", mode)]:
            raise TargetError(
                f"{text!r}: {wrong[0]!r} is no mode of a processor",
                remedy="write it as on or off: vendor:arch:mode+ or vendor:arch:mode-",
            )
        if len(levels) > 1 or levels == [""]:
            raise TargetError(f"{text!r} names {len(levels)} levels", remedy=f"write one: {_LEVEL}text")
        if simulated and not arch:
            raise TargetError(
                f"{text!r} names no architecture to simulate",
                remedy=f"write {SIMULATED_KIND}:backend:arch",
            )
        if not backend or (":" in name and not arch):
            raise TargetError(
                f"{text!r} is not a target", remedy="write backend:arch, or the backend's name alone"
            )
        return cls(backend, arch, tuple(sorted((*features, *modes))), simulated, *levels)

    @property
    def real(self) -> Self:
        """The key of the device that a simulated one stands for."""
        return dataclasses.replace(self, simulated=False, level="")

    def __str__(self) -> str:
        modes = "".join(f":{f}" for f in self.features if f.endswith(("+", "-")))
        features = "".join(f"+{f}" for f in self.features if not f.endswith(("+", "-")))
        name = self.backend + (f":{self.arch}" if self.arch else "") + features + modes
        level = f":{_LEVEL}{self.level}" if self.level else ""
        return f"{SIMULATED_KIND}:{name}{level}" if self.simulated else name


@dataclass(frozen=True)
class DeviceInfo:
    """A device present in this machine; ``kind`` is the device kind that a runtime owns."""

    kind: str
    index: int
    arch: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A memory space: LLVM address space, capacity in bytes (per CTA for shared).

    Of shared memory: ``banks`` of ``bank_bytes``, and ``access_bytes`` that a thread accesses at once at most.  Of global memory:
    ``line_bytes`` of a cache line, longer runs of a warp than which gain nothing, and ``sector_bytes`` that are fetched and written at
    least.
    """

    name: str
    address_space: int
    capacity: int | None = None
    banks: int = 32
    bank_bytes: int = 4
    access_bytes: int = 16
    line_bytes: int = 128
    sector_bytes: int = 32


@dataclass(frozen=True, kw_only=True)
class ComputeUnit:
    """Unit that shares a local memory: a multiprocessor, compute unit, work-group processor or core.

    It has ``partitions``, each of which holds at most ``warps`` warps and ``registers`` of 32 bits per lane, given out
    in multiples of ``register_unit``.  ``shared`` bytes are given out in multiples of ``shared_unit``, with
    ``shared_reserved`` more for each CTA; at most ``blocks`` CTAs are resident.
    """

    partitions: int
    warps: int
    registers: int
    shared: int
    blocks: int
    register_unit: int = 8
    shared_unit: int = 128
    shared_reserved: int = 0


@dataclass(frozen=True, kw_only=True)
class MmaDesc:
    """One matrix instruction shape: operand and accumulator dtypes (Triton names) and m, n, k."""

    name: str
    a: str
    b: str
    acc: str
    m: int
    n: int
    k: int


@dataclass(frozen=True, kw_only=True)
class LLVMTarget:
    """Code generation target of LLVM: triple, cpu, feature string, data layout."""

    triple: str
    cpu: str = ""
    features: str = ""
    data_layout: str = ""


@dataclass(frozen=True, kw_only=True)
class TargetSpec:
    """Every fact of a target, as data: frozen, JSON-able, hashed into cache keys.

    ``threads_per_warp`` holds the sizes that the target can run, the preferred one first (empty for a
    target without warps).  ``limits`` has the keys ``shared`` (bytes per CTA), ``threads`` (per CTA),
    ``grid_x``, ``grid_y``, ``grid_z``, and any of the backend's own.  ``dtypes`` lists what can be stored
    and computed on natively, ``emulated_dtypes`` what is computed through a wider type.  ``unit`` is what CTAs share,
    for :mod:`tri_core.occupancy`; None where they share nothing.
    """

    threads_per_warp: tuple[int, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    memories: tuple[Memory, ...] = ()
    dtypes: frozenset[str] = frozenset()
    emulated_dtypes: frozenset[str] = frozenset()
    dot: tuple[MmaDesc, ...] = ()
    min_dot_size: tuple[int, int, int] = (1, 1, 1)
    dot_precisions: tuple[str, ...] = ("ieee",)
    atomics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_vector_bits: int = 128
    max_tensor_numel: int = 1 << 20
    require_power_of_two: bool = True
    copy_engines: tuple[str, ...] = ()
    features: frozenset[str] = frozenset()
    peaks: Mapping[str, float] = field(default_factory=dict)
    llvm: LLVMTarget | None = None
    unit: ComputeUnit | None = None

    def memory(self, name: str) -> Memory | None:
        """The memory called ``name``, if the target has one."""
        return next((memory for memory in self.memories if memory.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """A JSON-able, deterministic picture of the spec (sets sorted)."""
        return {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}


def _plain(value: Any) -> Any:
    match value:
        case frozenset():
            return sorted(value)
        case Mapping():
            return {str(k): _plain(v) for k, v in sorted(value.items())}
        case tuple() | list():
            return [_plain(v) for v in value]
        case _ if dataclasses.is_dataclass(value):
            return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        case _:
            return value


@dataclass(frozen=True, kw_only=True)
class Target:
    """Target as its owner describes it to the compiler: key, spec, option type, module attributes."""

    key: TargetKey
    spec: TargetSpec
    options_type: type[CommonOptions] = CommonOptions
    device_kind: str = ""
    module_attrs: Mapping[str, str | int] = field(default_factory=dict)

    def has(self, feature: str) -> bool:
        """True if the target declares ``feature``."""
        return feature in self.spec.features

    def __str__(self) -> str:
        return str(self.key)
