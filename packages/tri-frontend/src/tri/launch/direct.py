"""Launching a compiled kernel with arguments that nobody specializes any more: ``compiled[grid](...)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.launch.arrays import describe
from tri.launch.readers import Rules, readers
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core.errors import LaunchError, Unsupported

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri_core.compiler import CompiledKernel
    from tri_core.runtime import Launch

__all__ = ["launch", "run"]

Attributes = Mapping[str, Sequence[Sequence[Any]]]

_launches: dict[tuple[str, int], Launch] = {}


def launch(source: ASTSource, kernel: CompiledKernel, grid: Any, args: Sequence[Any]) -> None:
    """Launch ``kernel`` over ``grid`` with the arguments of all parameters, or of those that are no constants.

    LaunchError for another number of arguments, and for a pointer that is less aligned than the kernel was
    compiled for.
    """
    if source.trees:
        raise Unsupported(
            f"{kernel.name} has a tuple as argument, so that it cannot be launched directly",
            remedy="launch it through its function",
        )
    names = source.fn.arg_names
    if len(args) == len(names):
        given = dict(zip(names, args, strict=True))
    elif len(args) == len(source.types):
        given = dict(zip(source.types, args, strict=True))
    else:
        raise LaunchError(
            f"{kernel.name} takes {len(names)} arguments, or {len(source.types)} without constants; "
            f"{len(args)} were given",
            remedy=f"its parameters are {source.fn.signature_text}",
        )
    run(kernel, grid, given, source.attrs)


def run(kernel: CompiledKernel, grid: Any, given: Mapping[str, Any], attributes: Attributes) -> None:
    """Launch ``kernel`` over ``grid`` with the arguments ``given`` by name.

    ``attributes`` has (fact, value) pairs of parameters that the kernel was compiled for.
    """
    from tri_core.targets import resolve
    from tri_runtime import runtime

    wanted = [p.name for p in kernel.metadata.signature.parameters]
    given = _taken_apart(given)
    owner = runtime(resolve(kernel.metadata.target).device_kind)
    device = owner.current_device()
    key = (kernel.hash, id(owner))
    start = _launches.get(key)
    if start is None:
        loaded = owner.load(kernel.image, device)
        kernel.loaded.update(getattr(loaded, "resources", {}))
        start = _launches[key] = owner.launcher(loaded, kernel.image)
    shape = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    x, y, z = (*shape, 1, 1)[:3]
    values, host, stream = _values(kernel.name, wanted, given, attributes)
    if not host or owner.host_memory == "direct":
        start((x, y, z), stream, values)
        return
    with owner.staged([describe(given[wanted[i]]) for i in host]) as handles:
        for i, handle in zip(host, handles, strict=True):
            values[i] = handle
        start((x, y, z), None, values)


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
    kernel: str, wanted: Sequence[str], given: Mapping[str, Any], attributes: Attributes
) -> tuple[list[Any], list[int], int | None]:
    """What the launcher takes, which of it are host arrays, and the stream of the device arrays' framework."""
    plain = readers(Rules(values=False, alignment=False))
    values: list[Any] = []
    host: list[int] = []
    stream = None
    for name in wanted:
        value, fact = plain[type(given[name])](given[name])
        if isinstance(fact, tuple):
            _check_alignment(kernel, name, value, attributes)
            place = fact[2]
            if place is None:
                host.append(len(values))
            elif place.current_stream is not None:
                stream = place.current_stream(place.device.index)
        values.append(value)
    return values, host, stream


def _check_alignment(kernel: str, name: str, address: int, attributes: Attributes) -> None:
    for fact, value in attributes.get(name, ()):
        if fact == "tt.divisibility" and address % int(value):
            raise LaunchError(
                f"{kernel} was compiled for a {name!r} that is aligned to {value} bytes; this one is not",
                remedy="launch through the function, which compiles another version",
            )
