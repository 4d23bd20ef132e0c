"""The simulated device: a runtime like any other, whose memory is that of the host."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from typing import Any

import numpy as np

from tri_core.api import (
    SIMULATED_KIND,
    Argument,
    ArrayArgument,
    DeviceInfo,
    HiddenParameters,
    HostMemory,
    KernelImage,
    Launch,
    LoadedKernel,
    Parameter,
    Simulation,
    Target,
)
from tri_core.errors import InternalError
from tri_core.fault_records import RECORD_BYTES
from tri_core.lazy_dataclasses import dataclass
from tri_core.target import EXACT_LEVEL
from tri_runtime.base import RuntimeBase
from tri_runtime.descriptors import DescriptorEncoder
from tri_runtime.limits import check_grid, check_resources
from tri_runtime.parameters import check_arguments
from tri_runtime.simulator.reporting import (
    is_weak,
    listening,
    reachable,
    resident,
    scheduled,
    schedules,
    watching,
)
from tri_runtime.simulator.tensor_map import encode_descriptor
from tri_runtime.staging import Span, merged

__all__ = ["SimulatorRuntime"]

#: bytes of a piece of memory that copies may begin at
_PIECE = 16
_DEVICE = DeviceInfo(kind=SIMULATED_KIND, index=0, arch="", name="simulator")


@dataclass(frozen=True)
class HostArray:
    """A host array as a kernel argument: its address, and all memory that the launch may touch."""

    address: int
    spans: tuple[tuple[Span, bool], ...]


@dataclass(frozen=True)
class SimulatedKernel:
    """A kernel decoded for the simulator; ``module`` owns what the machine ops read."""

    name: str
    machine: Any
    module: Any
    target: Target
    parameters: tuple[Parameter, ...]
    hidden: HiddenParameters = field(default_factory=HiddenParameters)
    resources: dict[str, int] = field(default_factory=dict)


class SimulatorRuntime(RuntimeBase):
    """Runs kernels of ``sim:`` targets; host arrays are used in place, each is an allocation with bounds."""

    device_kind = SIMULATED_KIND
    host_memory: HostMemory = "staged"
    fork_safe = True

    def devices(self) -> Sequence[DeviceInfo]:
        """One."""
        return (_DEVICE,)

    def synchronize(self) -> None:
        """A launch is over when it returns."""

    def staged(self, arrays: Sequence[ArrayArgument]) -> AbstractContextManager[Sequence[Argument]]:
        """Handles that know the bytes of all ``arrays``."""
        return _handles(arrays)

    def load(self, image: KernelImage, device: DeviceInfo) -> LoadedKernel:
        """Decode the module of ``image``."""
        del device
        return _load(image)

    def launcher(self, kernel: LoadedKernel, image: KernelImage) -> Launch:
        """Runs the grid at once; ``stream`` means nothing."""
        assert isinstance(kernel, SimulatedKernel)
        return _launcher(kernel)


@contextmanager
def _handles(arrays: Sequence[ArrayArgument]) -> Iterator[tuple[Argument, ...]]:
    held = [a for a in arrays if a.nbytes > 0]
    writable = [Span.of(a) for a in held if a.writable]
    spans = tuple(
        (span, any(span.begin <= w.begin < span.end for w in writable))
        for span in merged([Span.of(a) for a in held])
    )
    yield tuple(HostArray(a.pointer, spans) for a in arrays)


def _load(image: KernelImage) -> SimulatedKernel:
    from tri_core import mlir
    from tri_core.plugins import manager
    from tri_core.target_selection import resolve
    from tri_runtime.simulator.launch import Machine

    metadata = image.metadata
    target = resolve(metadata.target)
    check_resources(metadata, target.spec.limits)
    manager().register_ir(mlir.registry, target)
    spaces = {memory.name: memory.address_space for memory in target.spec.memories}
    hidden = HiddenParameters.from_attrs(metadata.attrs)
    with mlir.session():
        program, module = _decode(image, manager().simulation(target), target)
        machine = Machine(
            program=program,
            num_threads=metadata.threads,
            threads_per_warp=metadata.threads_per_warp,
            shared_bytes=metadata.shared,
            shared_space=spaces.get("shared", 3),
            global_spaces=(0, spaces.get("global", 1)),
            cluster=hidden.cluster,
            name=metadata.name,
        )
    return SimulatedKernel(metadata.name, machine, module, target, metadata.signature.parameters, hidden)


def _decode(image: KernelImage, simulation: Simulation, target: Target) -> tuple[Any, Any]:
    """Decoded code of ``image`` for CTAs, and the module that owns its ops, at the last level before LLVM."""
    from tri_core import mlir
    from tri_runtime.simulator.program import Program, find_kernel, symbols_of

    entry = image.metadata.entry
    if level := simulation.level(target.key.level):
        return level.decode(image.data, entry), None
    externals: Mapping[str, Callable[..., Any]] = simulation.externals()
    module = mlir.parse(image.data.decode())
    exact = target.key.level == EXACT_LEVEL
    return Program(find_kernel(module, entry), dict(externals), symbols_of(module), exact), module


def _launcher(kernel: SimulatedKernel) -> Launch:
    from tri_core import mlir
    from tri_runtime.simulator.launch import upset, watch
    from tri_runtime.simulator.memory import Memory
    from tri_runtime.simulator.orders import in_orders
    from tri_runtime.simulator.scene import Scene
    from tri_runtime.simulator.schedule import Orders

    limits = kernel.target.spec.limits
    empty_tensors = _EmptyTensors()
    may_be_empty = any(d.empty != "refused" for d in kernel.hidden.descriptors)
    encoder = DescriptorEncoder(kernel.hidden.descriptors, encode_descriptor, empty_tensors)

    def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
        check_grid(grid, limits)
        if 0 in grid:
            return
        plain = [a.address if isinstance(a, HostArray) else a for a in args]
        check_arguments(kernel.name, kernel.parameters, plain)
        extents: tuple[int, ...] = grid if kernel.hidden.grid else ()
        grid = kernel.hidden.ctas(grid, resident.get())
        arrays = _arrays([p.name for p in kernel.parameters], args)

        def once(orders: Orders | None, late: bool) -> None:
            memory = Memory("global", scene=Scene())
            if watching.get():
                watch(memory, kernel.name)
            upset(memory, orders, late)
            for array in arrays:
                memory.add(array)
            if may_be_empty:
                empty_tensors.add_to(memory)
            counted = []
            if kernel.hidden.counter:
                counted.append(memory.allocate(np.zeros(4, np.uint8), "the counter of programs"))
            scratch = _scratch(memory, kernel.hidden.scratch * math.prod(grid))
            record = _record(memory) if kernel.hidden.record else ()
            of_launch = [memory.allocate(np.frombuffer(d, np.uint8), "a descriptor") for d in encoder(plain)]
            with mlir.session(), listening(kernel, memory.scene) as listener:
                kernel.machine.run(
                    grid, [*plain, *extents, *counted, *scratch, *record, *of_launch], memory, listener
                )
            memory.races = memory.weak = None
            _check_counters(kernel.name, memory, counted)

        writable = [array for array in arrays if array.writable]
        in_orders(once, writable, scheduled.get(), is_weak.get(), schedules.get())

    return launch


@dataclass(frozen=True, eq=False)
class _EmptyTensors:
    """One element for tensors without any: the first piece of ``storage`` is read, the second written."""

    storage: Any = field(default_factory=lambda: np.zeros(6, np.uint64))

    def __call__(self, is_written: bool) -> int:
        """The address of a piece; ``storage`` may begin in the middle of one."""
        return -(-self.storage.ctypes.data // _PIECE) * _PIECE + _PIECE * is_written

    def add_to(self, memory: Any) -> None:
        """The launch's memory has them; what an earlier one wrote is forgotten."""
        from tri_runtime.simulator.memory import Allocation

        self.storage[:] = 0
        for is_written in (False, True):
            begin = self(is_written)
            place = begin - self.storage.ctypes.data
            data = self.storage.view(np.uint8)[place : place + _PIECE]
            memory.add(Allocation("an empty tensor's place", begin, data, is_written))


def _check_counters(name: str, memory: Any, addresses: Sequence[int]) -> None:
    """InternalError where the next launch would find a counter that is not 0."""
    for address in addresses:
        left = int(memory.load(np.array([address]), np.dtype(np.int32), np.ones(1, np.bool_))[0])
        if left:
            raise InternalError(f"{name} leaves {left} in its counter of programs")


def _scratch(memory: Any, nbytes: int) -> tuple[int, ...]:
    """The address of ``nbytes`` of a launch's own memory; nothing for none."""
    return (memory.allocate(nbytes, "scratch memory"),) if nbytes else ()


def _record(memory: Any) -> tuple[int, ...]:
    """The address of the slot of a record, which nobody reads: the simulator knows where it stopped."""
    record = memory.allocate(np.zeros(RECORD_BYTES, np.uint8), "the record of an assertion")
    slot = np.array([record, 0], np.uint64).view(np.uint8)
    return (memory.allocate(slot, "the slot of the record of an assertion"),)


def _arrays(names: Sequence[str], args: Sequence[Argument]) -> list[Any]:
    """Host bytes that arguments show, or ``tri.simulation`` is given, as allocations named after the arguments."""
    from tri_runtime.simulator.memory import Allocation

    arrays = [(n, a) for n, a in zip(names, args, strict=True) if isinstance(a, HostArray)]
    shown = arrays[0][1].spans if arrays else ()
    others, found = reachable.get(), []
    for span in merged([s for s, _ in shown] + list(others)):
        writable = any(w and span.begin <= s.begin < span.end for s, w in shown) or any(
            span.begin <= s.begin < span.end for s in others
        )
        mine = [repr(n) for n, a in arrays if span.begin <= a.address < span.end]
        raw = (ctypes.c_uint8 * (span.end - span.begin)).from_address(span.begin)
        data = np.ctypeslib.as_array(raw)
        found.append(
            Allocation(f"array {' and '.join(mine) or 'of tri.simulation'}", span.begin, data, writable)
        )
    return found
