"""Launches of a compiled kernel that are like one before: what that one found out, kept by the classes of the arguments.

``kernel.run(x, y, z, stream, ...)``, by which PyTorch's Inductor launches, is as quick by it as ``kernel[grid]``.  A plan does the
launches of which nothing but addresses, numbers and extents differ; it declines every other one, which then goes the whole way.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tri.launch.arrays import Place, ReadOnly, memory_bytes
from tri.launch.host_memory import device_for, host_memory_for
from tri.launch.overlaps import OverlapCheck
from tri.launch.readers import Rules, readers
from tri.launch.streams import named_stream
from tri_core import knobs
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.launch.fast_launch import Loaded
    from tri.launch.readers import Reader
    from tri_core.compiler import CompiledKernel
    from tri_core.runtime import Runtime
    from tri_core.target import DeviceInfo

__all__ = ["GENERATION", "KEY", "SMALL", "CompiledLaunchPlan", "forget", "planned"]

#: bytes that an array of ``tt.pointer_range`` 32 has less than
SMALL = 1 << 31
_PLAIN = Rules(values=False, alignment=False)
#: under KEY, the object that plans hold while they count
KEY = "generation"
GENERATION: dict[str, object] = {KEY: object()}

Loader = Callable[["Runtime", "CompiledKernel", "DeviceInfo"], "Loaded"]


def forget() -> None:
    """Have no plan count any more."""
    GENERATION[KEY] = object()


@dataclass(frozen=True)
class Read:
    """A run-time parameter: which argument it is, and for arrays the bits of an address that have to be 0, and whether the array is small."""

    argument: int
    reader: Reader
    is_array: bool = False
    mask: int = 0
    is_small: bool = False


@dataclass(frozen=True)
class CompiledLaunchPlan:
    """Launch of arguments of known classes; all arrays are at ``place`` (None: in host memory, which the
    device reads).

    ``loaded`` launches, as its ``ordered`` says where ``overlap`` finds arrays that overlap.  ``epoch``: of knobs, which choose devices.
    """

    reads: tuple[Read, ...]
    runtime: Runtime
    place: Place | None
    loaded: Loaded
    overlap: OverlapCheck | None
    epoch: object
    generation: object
    #: none of them is copied
    staged: tuple[int, ...] = ()

    def is_current(self) -> bool:
        """True if kernels and settings are as they were when loaded."""
        same = knobs.EPOCH[knobs.ASSIGNED] is self.epoch and knobs.overridden() is None
        return same and GENERATION[KEY] is self.generation

    def __call__(self, grid: tuple[int, int, int], args: tuple[Any, ...], stream: Any) -> bool:
        """Launch over ``grid``; False where something is not as this plan knows it, and nothing is done."""
        if not self.is_current():
            return False
        place = self.place
        values = []
        for read in self.reads:
            value, fact = read.reader(args[read.argument])
            if type(fact) is tuple:
                if fact[2] is not place or value & read.mask:
                    return False
                if read.is_small and memory_bytes(args[read.argument]) >= SMALL:
                    return False
            values.append(value)
        on = None if stream is None else named_stream(self, stream)
        if on is None and place is not None and place.current_stream is not None:
            on = place.current_stream(place.device.index)
        loaded = self.loaded
        launch = loaded.launch
        if loaded.ordered is not None and self.overlap is not None and self.overlap(values, args, {}):
            launch = loaded.ordered.launch
        launch(grid, on, values)
        return True


def planned(
    source: ASTSource, kernel: CompiledKernel, args: Sequence[Any], load: Loader
) -> CompiledLaunchPlan | None:
    """The plan of launches like that with ``args``, which has been done; None where it is one that plans cannot do.

    These are launches with tuples, descriptors, arrays of several devices, arrays that must not be written, and such that are copied.
    """
    from tri_core.target_selection import resolve
    from tri_runtime import runtime

    wanted = _positions(source, kernel, len(args))
    if wanted is None or knobs.overridden() is not None:
        return None
    plain = readers(_PLAIN)
    facts = [plain[type(args[i])](args[i])[1] for i in wanted]
    places = {fact[2] for fact in facts if isinstance(fact, tuple)}
    place = next(iter(places), None)
    target = kernel.metadata.target
    owner = runtime(resolve(target).device_kind)
    host = None in places and host_memory_for(owner, target.arch) != "direct"
    if host or len(places) != 1 or isinstance(place, ReadOnly):
        return None
    loaded = load(owner, kernel, device_for(owner, target.arch) if place is None else place.device)
    ordered = loaded.ordered
    paths = [(i,) for i in wanted]
    return CompiledLaunchPlan(
        tuple(
            _read(source, name, i, plain[type(args[i])], is_array=isinstance(fact, tuple))
            for name, i, fact in zip(_names(kernel), wanted, facts, strict=True)
        ),
        owner,
        place,
        loaded,
        None if ordered is None else OverlapCheck(source.fn, ordered.pairs, paths, {}),
        knobs.EPOCH[knobs.ASSIGNED],
        GENERATION[KEY],
    )


def _names(kernel: CompiledKernel) -> list[str]:
    return [p.name for p in kernel.metadata.signature.parameters]


def _positions(source: ASTSource, kernel: CompiledKernel, count: int) -> list[int] | None:
    """Index among ``count`` arguments of each run-time parameter; None for parts of arguments, and if the
    count does not tell.
    """
    if source.trees or any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in source.fn.params):
        return None
    given = next((g for g in (source.fn.arg_names, list(source.types)) if len(g) == count), None)
    names = _names(kernel)
    if given is None or not set(names) <= set(given) or list(source.types) != names:
        return None
    return [given.index(name) for name in names]


def _read(source: ASTSource, name: str, argument: int, reader: Reader, *, is_array: bool) -> Read:
    facts = {str(fact): int(value) for fact, value in source.attrs.get(name, ())}
    mask = facts.get("tt.divisibility", 1) - 1
    return Read(argument, reader, is_array, mask, "tt.pointer_range" in facts)
