"""From facts about arguments to what is compiled: types, constants, attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tri.launch.arrays import Place
from tri.launch.readers import DIVISIBLE, ONE, Constant, DescriptorFact
from tri_core.errors import LaunchError

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.jit import JITFunction

__all__ = ["Specialization", "specialize"]


@dataclass(frozen=True)
class Specialization:
    """A version of a kernel.

    ``source``: what is compiled; ``kept``: which of the binder's values are run-time parameters, in order, each
    as a path: its place, then its place in that (for the numbers of a descriptor);
    ``arrays``: which of those are pointers, with their places.
    """

    source: ASTSource
    kept: tuple[tuple[int, ...], ...]
    arrays: tuple[tuple[int, Place | None], ...]


def specialize(function: JITFunction, facts: Sequence[Any], divisibility: int) -> Specialization:
    """The version of ``function`` for the binder's ``facts``."""
    from tri.compiler.source import ASTSource

    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    attributes: dict[str, list[tuple[str, int]]] = {}
    kept: list[tuple[int, ...]] = []
    arrays: list[tuple[int, Place | None]] = []
    runtime = -1
    for parameter, fact in zip(function.params, facts, strict=True):
        runtime += not parameter.is_constexpr
        name = parameter.name
        constant = _constant(parameter.is_constexpr, fact)
        if constant is not None:
            signature[name], constants[name] = "constexpr", constant[0]
            continue
        if isinstance(fact, DescriptorFact):
            signature[name] = f"tensordesc<{fact.dtype}[{', '.join(map(str, fact.block))}]>"
            attributes |= _descriptor_facts(name, fact, divisibility)
            arrays.append((len(kept), fact.place))
            kept.extend((runtime, i) for i in range(2 * len(fact.block)))
            continue
        if isinstance(fact, tuple):
            dtype, divisible, place = fact
            signature[name] = f"*k{dtype}" if parameter.is_const else f"*{dtype}"
            arrays.append((len(kept), place))
        else:
            signature[name] = fact.removesuffix(DIVISIBLE)
            divisible = fact.endswith(DIVISIBLE)
        if divisible:
            attributes[name] = [("tt.divisibility", divisibility)]
        kept.append((runtime,))
    return Specialization(ASTSource(function, signature, constants, attributes), tuple(kept), tuple(arrays))


def _descriptor_facts(name: str, fact: DescriptorFact, divisibility: int) -> dict[str, list[tuple[str, int]]]:
    """The facts about a descriptor, by the names of its parts (see :func:`tri.compiler.signature.parameter_types`)."""
    found = {
        f"{name}.shape.{i}": [("tt.divisibility", divisibility)]
        for i, holds in enumerate(fact.divisible)
        if holds
    }
    return found | ({name: [("tt.padding", 2)]} if fact.padding == "nan" else {})


def _constant(is_constexpr: bool, fact: Any) -> tuple[Any] | None:
    """The value that is folded into the code, in a tuple; None for a run-time argument."""
    if isinstance(fact, Constant):
        return (fact.value,)
    if is_constexpr:
        return (fact,)
    return (1,) if fact == ONE else None


def one_device(function: JITFunction, specialization: Specialization) -> Place | None:
    """The device of the array arguments, None when all are in host memory; LaunchError when they differ."""
    places = {place for _, place in specialization.arrays if place is not None}
    if len(places) > 1:
        shown = ", ".join(sorted(f"{p.device.kind}:{p.device.index}" for p in places))
        raise LaunchError(
            f"{function.__name__} got arrays on several devices: {shown}", remedy="move them to one device"
        )
    return next(iter(places), None)
