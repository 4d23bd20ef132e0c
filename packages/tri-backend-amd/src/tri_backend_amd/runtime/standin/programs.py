"""Modules and functions: what HIP would refuse, and kernels run by the simulator."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tri_backend_amd.hsaco import CodeObject, KernelRecord, read_code_object
from tri_backend_amd.hsaco.carried import carried_by, code_object_at
from tri_backend_amd.runtime.standin.errors import Fault, HipError, Refused
from tri_backend_amd.runtime.standin.state import Device, State
from tri_backend_amd.target_ids import refused_modes
from tri_core.api import TargetKey, TriError
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.machine_level import MachineLevelKernel

__all__ = ["Function", "Module", "load", "run"]

_BUFFER_POINTER, _BUFFER_SIZE, _END = 1, 2, 3
_GRID_YZ = (1 << 16) - 1


@dataclass(frozen=True, eq=False)
class Module:
    """A loaded code object on ``device``, and what of it the simulator runs."""

    device: Device
    code: CodeObject
    kernel: MachineLevelKernel


@dataclass(frozen=True, eq=False)
class Function:
    """A kernel of ``module``."""

    module: Module
    record: KernelRecord


def load(device: Device, address: int) -> Module:
    """The module of the code object at ``address``; Refused for one that is damaged, or for another processor or mode."""
    device.check()
    data = code_object_at(address)
    try:
        code, carried = read_code_object(data), carried_by(data)
    except TriError as error:
        raise Refused(HipError.INVALID_IMAGE, str(error)) from error
    arch = device.configuration.arch
    if code.processor != device.configuration.processor or refused_modes(code.modes, arch):
        raise Refused(HipError.NO_BINARY_FOR_GPU, f"code for {code.target_id}, the device is {arch}")
    if carried is None:
        raise Refused(
            HipError.INVALID_IMAGE,
            "the code object carries nothing that the stand-in can run; compile it with TRI_AMD_STANDIN set",
        )
    kernel = MachineLevelKernel(
        text=carried.text,
        entry=carried.entry,
        target=TargetKey("amd", carried.arch),
        threads=carried.threads,
        threads_per_warp=carried.threads_per_warp,
        shared=carried.shared,
    )
    return Module(device, code, kernel)


def check_launch(function: Function, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    """Refused for a grid or work group that HIP does not launch, or that the kernel was not compiled for."""
    if min(*grid, *block) == 0:
        raise Refused(HipError.INVALID_CONFIGURATION, f"grid {grid} of work groups of {block}")
    if max(grid[1:]) > _GRID_YZ or any(g * b >= 1 << 32 for g, b in zip(grid, block, strict=True)):
        raise Refused(HipError.INVALID_VALUE, f"grid {grid} of work groups of {block}")
    threads = block[0] * block[1] * block[2]
    if threads != function.module.kernel.threads or block[1:] != (1, 1):
        raise Refused(
            HipError.INVALID_VALUE,
            f"{function.record.name} runs in work groups of {function.module.kernel.threads}",
        )


def arguments_at(function: Function, parameters: int | None, extra: int | None) -> tuple[bytes, ...]:
    """The bytes of each argument, by the list ``extra`` or by pointers to them; Refused where they are too few bytes."""
    explicit = [
        a for a in function.record.metadata[".args"] if not str(a[".value_kind"]).startswith("hidden_")
    ]
    if parameters:
        pointers = (ctypes.c_void_p * len(explicit)).from_address(parameters)
        return tuple(
            ctypes.string_at(p, int(a[".size"])) for p, a in zip(pointers, explicit, strict=True) if p
        )
    packed = _packed(extra)
    needed = max((int(a[".offset"]) + int(a[".size"]) for a in explicit), default=0)
    if len(packed) < needed:
        raise Refused(HipError.INVALID_VALUE, f"{len(packed)} bytes of arguments; {needed} are read")
    return tuple(packed[int(a[".offset"]) :][: int(a[".size"])] for a in explicit)


def _packed(extra: int | None) -> bytes:
    if not extra:
        return b""
    words, found = (ctypes.c_void_p * 5).from_address(extra), {}
    for place in (0, 2):
        if words[place] in (None, _END):
            break
        found[words[place]] = words[place + 1]
    if not found.keys() <= {_BUFFER_POINTER, _BUFFER_SIZE}:
        raise Refused(HipError.INVALID_VALUE, "the list of arguments has other words than HIP's")
    size = ctypes.c_size_t.from_address(found.get(_BUFFER_SIZE) or 0).value if found else 0
    return ctypes.string_at(found.get(_BUFFER_POINTER) or 0, size) if size else b""


def run(state: State, function: Function, grid: tuple[int, int, int], arguments: Sequence[bytes]) -> None:
    """Run all work groups; Fault for what hardware does not survive."""
    device = function.module.device
    device.launches += 1
    if device.lose_at is not None and device.launches >= device.lose_at:
        raise Fault(f"launch {device.launches} was to lose the device")
    blocks = [(f"allocation {b.number}", b.reserved.start, b.data) for b in state.reached(device)]
    try:
        function.module.kernel.run(grid, arguments, blocks)
    except TriError as error:
        raise Fault(f"kernel {function.record.name}: {error}") from error
