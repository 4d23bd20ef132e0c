"""Launching a compiled kernel with arguments that nobody specializes any more: ``compiled[grid](...)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.launch import compiled_plans
from tri.launch.arrays import ReadOnly, describe, memory_bytes
from tri.launch.compiled_calls import CompiledCalls
from tri.launch.compiled_plans import SMALL, planned
from tri.launch.fast_launch import Loaded
from tri.launch.hooks import LAUNCH_ENTER, LAUNCH_EXIT, LaunchFacts
from tri.launch.host_memory import device_for, host_memory_for, may_be_mapped, with_mapped
from tri.launch.observers import observed, overlap_launch
from tri.launch.overlaps import any_overlap
from tri.launch.read_only import check_read_only
from tri.launch.readers import Rules, readers
from tri.launch.reported import load_reported
from tri.launch.specialize import only_place
from tri.launch.streams import named_stream
from tri.launch.tensor_descriptor import TensorDescriptor
from tri_core.errors import LaunchError, Unsupported
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.launch.arrays import Place
    from tri_core.compiler import CompiledKernel
    from tri_core.runtime import Runtime
    from tri_core.target import DeviceInfo

__all__ = ["caller", "forget", "launch", "launch_facts", "load", "run"]

Attributes = Mapping[str, Sequence[Sequence[Any]]]

#: by kernel, device and the runtime's identity
_launches: dict[tuple[str, DeviceInfo, int], Loaded] = {}


def forget() -> None:
    """Drop every bound launch."""
    _launches.clear()
    compiled_plans.forget()


def launch(
    source: ASTSource, kernel: CompiledKernel, grid: Any, args: Sequence[Any], stream: Any = None
) -> None:
    """Launch ``kernel`` over ``grid`` with the arguments of all parameters, of those that are no constants, or of those not declared so.

    ``stream`` is what the runtime takes as a stream; None: the framework's current one.  LaunchError for another number of arguments, and for a pointer that is less aligned than the kernel was
    compiled for.
    """
    if source.trees:
        raise Unsupported(
            f"{kernel.name} has a tuple as argument, so that it cannot be launched directly",
            remedy="launch it through its function",
        )
    given = _by_name(source, kernel, args)
    run(kernel, grid, given, source.attrs, stream)
    plan = planned(source, kernel, args, _loaded) if kernel.src is source else None
    if plan is not None:
        kernel.state.launches[tuple(map(type, args))] = plan


def _by_name(source: ASTSource, kernel: CompiledKernel, args: Sequence[Any]) -> dict[str, Any]:
    """``args``, of all parameters, of those that are no constants, or of those not declared constants, by name; else LaunchError.

    The last as in Triton before 3.3, which dropped a value that it had specialised on, 1 say, by itself.
    """
    names = source.fn.arg_names
    undeclared = [p.name for p in source.fn.params if not p.is_constexpr]
    for taken in (names, list(source.types), undeclared):
        if len(args) == len(taken):
            return dict(zip(taken, args, strict=True))
    raise LaunchError(
        f"{kernel.name} takes {len(names)} arguments, or {len(source.types)} without constants; "
        f"{len(args)} were given",
        remedy=f"its parameters are {source.fn.signature_text}",
    )


def load(kernel: CompiledKernel) -> None:
    """Load ``kernel`` on the current device of its target."""
    from tri_core.target_selection import resolve
    from tri_runtime import runtime

    key = kernel.metadata.target
    owner = runtime(resolve(key).device_kind)
    _loaded(owner, kernel, device_for(owner, key.arch))


def launch_facts(
    source: ASTSource, kernel: CompiledKernel, grid: Any, args: Sequence[Any], stream: Any
) -> LaunchFacts | None:
    """Facts of a launch of ``kernel`` for hooks; None if no hook is set."""
    if not LAUNCH_ENTER and not LAUNCH_EXIT:
        return None
    shape = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    x, y, z = (*shape, 1, 1)[:3]
    extend = source.fn.launch_metadata
    return LaunchFacts(kernel, (x, y, z), stream, extend, lambda: _by_name(source, kernel, args))


def caller(kernel: CompiledKernel) -> Callable[..., None] | None:
    """``kernel.run`` by compiled code; None where the runtime of ``kernel``, which is loaded, leaves launches to Python."""
    from tri_core.target_selection import resolve
    from tri_runtime import runtime
    from tri_runtime.native import available

    owner = runtime(resolve(kernel.metadata.target).device_kind)
    if not hasattr(owner, "launch_plan") or not available():
        return None
    return CompiledCalls(kernel).call


def run(
    kernel: CompiledKernel, grid: Any, given: Mapping[str, Any], attributes: Attributes, stream: Any = None
) -> None:
    """Launch ``kernel`` over ``grid`` with the arguments ``given`` by name, on the device where they are.

    ``attributes`` has (fact, value) pairs of parameters that the kernel was compiled for.
    """
    from tri_core.target_selection import resolve
    from tri_runtime import runtime

    wanted = [p.name for p in kernel.metadata.signature.parameters]
    given = _taken_apart(given)
    owner = runtime(resolve(kernel.metadata.target).device_kind)
    values, host, place = _values(kernel, wanted, given, attributes)
    arch = kernel.metadata.target.arch
    loaded = _loaded(owner, kernel, device_for(owner, arch) if place is None else place.device)
    start, ordered = loaded.launch, loaded.ordered
    if ordered is not None and any_overlap(ordered.pairs, values, lambda i: given[wanted[i]]):
        start = ordered.launch
    how = host_memory_for(owner, arch) if host else "direct"
    if how == "refused" and may_be_mapped(owner):
        arrays = {i: describe(given[wanted[i]]) for i in host}
        device = None if place is None else place.device
        values = with_mapped((kernel.name, kernel.metadata.target), owner, device, values, arrays)
        how = "direct"
    bound = _Bound(owner, place, tuple(host) if how != "direct" else ())
    shape = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    x, y, z = (*shape, 1, 1)[:3]
    on = None if stream is None else named_stream(bound, stream)
    if on is None and place is not None and place.current_stream is not None:
        on = place.current_stream(place.device.index)
    if not bound.staged:
        start((x, y, z), on, values)
        return
    with owner.staged([describe(given[wanted[i]]) for i in host]) as handles:
        for i, handle in zip(host, handles, strict=True):
            values[i] = handle
        start((x, y, z), None, values)


@dataclass(frozen=True)
class _Bound:
    """Destination of a launch, and the arguments that are copied there."""

    runtime: Runtime
    place: Place | None
    staged: tuple[int, ...]


def _loaded(owner: Runtime, kernel: CompiledKernel, device: DeviceInfo) -> Loaded:
    """``kernel`` on ``device``, with its launchers, made once."""
    key = (kernel.hash, device, id(owner))
    found = _launches.get(key)
    if found is None:
        loaded = load_reported(owner, kernel, device)
        plain = owner.launcher(loaded, kernel.image)
        start, ordered = observed(plain, kernel, owner), overlap_launch(owner, loaded, kernel)
        found = _launches[key] = Loaded(owner, loaded, kernel.image, start, start is not plain, ordered)
    return found


def _taken_apart(given: Mapping[str, Any]) -> dict[str, Any]:
    """``given`` with the parts of descriptors, by the names of the kernel's parameters."""
    found = dict(given)
    for name, value in given.items():
        if isinstance(value, TensorDescriptor):
            found[name] = value.base
            found |= {f"{name}.shape.{i}": size for i, size in enumerate(value.shape)}
            found |= {f"{name}.stride.{i}": step for i, step in enumerate(value.strides)}
    return found


def _values(
    kernel: CompiledKernel, wanted: Sequence[str], given: Mapping[str, Any], attributes: Attributes
) -> tuple[list[Any], list[int], Place | None]:
    """Arguments of the launcher, the indices of host arrays, and the place of the others: LaunchError for two
    devices.
    """
    plain = readers(Rules(values=False, alignment=False))
    values: list[Any] = []
    host: list[int] = []
    places: dict[Place, None] = {}
    for name in wanted:
        value, fact = plain[type(given[name])](given[name])
        if isinstance(fact, tuple):
            _check_alignment(kernel.name, name, value, attributes)
            _check_size(kernel.name, name, given[name], attributes)
            where = fact[2]
            if isinstance(where, ReadOnly):
                check_read_only(kernel, [len(values)])
                where = where.place
            if where is None:
                host.append(len(values))
            else:
                places[where] = None
        values.append(value)
    return values, host, only_place(kernel.name, places)


def _check_alignment(kernel: str, name: str, address: int, attributes: Attributes) -> None:
    for fact, value in attributes.get(name, ()):
        if fact == "tt.divisibility" and address % int(value):
            raise LaunchError(
                f"{kernel} was compiled for a {name!r} that is aligned to {value} bytes; this one is not",
                remedy="launch through the function, which compiles another version",
            )


def _check_size(kernel: str, name: str, array: Any, attributes: Attributes) -> None:
    is_small = any(fact == "tt.pointer_range" for fact, _ in attributes.get(name, ()))
    if is_small and memory_bytes(array) >= SMALL:
        raise LaunchError(
            f"{kernel} was compiled for a {name!r} in less than 2 GiB of memory; this one is in "
            f"{memory_bytes(array)} bytes",
            remedy="launch through the function, which compiles another version",
        )
