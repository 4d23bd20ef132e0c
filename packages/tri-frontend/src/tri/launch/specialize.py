"""From facts about arguments to what is compiled: types, constants, attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tri.launch.arrays import Place
from tri.launch.readers import DIVISIBLE, ONE, Constant
from tri_core.errors import LaunchError

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.jit import JITFunction

__all__ = ["Specialization", "specialize"]


@dataclass(frozen=True)
class Specialization:
    """A version of a kernel.

    ``source``: what is compiled; ``kept``: which of the binder's values are run-time parameters, in order;
    ``arrays``: which of those are pointers, with their places.
    """

    source: ASTSource
    kept: tuple[int, ...]
    arrays: tuple[tuple[int, Place | None], ...]


def specialize(function: JITFunction, facts: Sequence[Any], divisibility: int) -> Specialization:
    """The version of ``function`` for the binder's ``facts``."""
    from tri.compiler.source import ASTSource

    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    attributes: dict[str, list[tuple[str, int]]] = {}
    kept: list[int] = []
    arrays: list[tuple[int, Place | None]] = []
    runtime = -1
    for parameter, fact in zip(function.params, facts, strict=True):
        runtime += not parameter.is_constexpr
        name = parameter.name
        constant = _constant(parameter.is_constexpr, fact)
        if constant is not None:
            signature[name], constants[name] = "constexpr", constant[0]
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
        kept.append(runtime)
    return Specialization(ASTSource(function, signature, constants, attributes), tuple(kept), tuple(arrays))


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
