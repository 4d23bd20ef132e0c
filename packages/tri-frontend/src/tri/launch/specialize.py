"""From facts about arguments to what is compiled: types, constants, attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tri.launch.arrays import Place, ReadOnly
from tri.launch.readers import DIVISIBLE, ONE, Constant, DescriptorFact, Items
from tri_core.errors import LaunchError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.kernel import Kernel

__all__ = ["Specialization", "one_device", "only_place", "specialize"]


@dataclass(frozen=True)
class Specialization:
    """A version of a kernel.

    ``source``: what is compiled; ``kept``: which of the binder's values are run-time parameters, in order, as
    paths (``(i,)``, or ``(i, j)`` for an item of a tuple); ``arrays``: which of those are pointers, with their places,
    and ``read_only``, which of these must not be written.
    """

    source: ASTSource
    kept: tuple[tuple[int, ...], ...]
    arrays: tuple[tuple[int, Place | None], ...]
    read_only: tuple[int, ...] = ()


def specialize(function: Kernel, facts: Sequence[Any], divisibility: int) -> Specialization:
    """The version of ``function`` for the binder's ``facts``."""
    from tri.compiler.source import ASTSource

    found = _Found(divisibility)
    signature: dict[str, Any] = {}
    runtime = -1
    for parameter, fact in zip(function.params, facts, strict=True):
        runtime += not parameter.is_constexpr
        if parameter.is_constexpr and not isinstance(fact, Constant):
            fact = Constant(type(fact), fact, fact)
        name = parameter.name
        signature[name] = found.text(fact, name, (name,), (runtime,), parameter.is_const)
    source = ASTSource(function, signature, found.constants, found.attributes)
    return Specialization(source, tuple(found.kept), tuple(found.arrays), tuple(found.read_only))


class _Found:
    """Facts, collected along the tree of arguments."""

    def __init__(self, divisibility: int) -> None:
        self.divisibility = divisibility
        self.constants: dict[Any, Any] = {}
        self.attributes: dict[str, list[tuple[str, int]]] = {}
        self.kept: list[tuple[int, ...]] = []
        self.arrays: list[tuple[int, Place | None]] = []
        self.read_only: list[int] = []

    def text(self, fact: Any, name: str, path: tuple[Any, ...], place: tuple[int, ...], const: bool) -> Any:
        """The signature of one fact.

        ``name`` and ``path`` say where it is in the source (``t.0``, ``("t", 0)``), ``place`` where among the
        binder's values.
        """
        if isinstance(fact, Items):
            return self._tuple(fact, name, path, place, const)
        constant = _constant(fact)
        if constant is not None:
            self.constants[path] = constant[0]
            return "constexpr"
        if isinstance(fact, DescriptorFact):
            return self._descriptor(fact, name, place)
        if isinstance(fact, tuple):
            dtype, divisible, where, *sized = fact
            small = any(sized)
            text = f"*k{dtype}" if const else f"*{dtype}"
            self._array(where)
        else:
            text = fact.removesuffix(DIVISIBLE)
            divisible, small = fact.endswith(DIVISIBLE), False
        known = [("tt.divisibility", self.divisibility)] if divisible else []
        if small:
            known.append(("tt.pointer_range", 32))
        if known:
            self.attributes[name] = known
        self.kept.append(place)
        return text

    def _array(self, where: Place | ReadOnly | None) -> None:
        """The next run-time parameter is a pointer."""
        if isinstance(where, ReadOnly):
            self.read_only.append(len(self.kept))
            where = where.place
        self.arrays.append((len(self.kept), where))

    def _tuple(
        self, fact: Items, name: str, path: tuple[Any, ...], place: tuple[int, ...], const: bool
    ) -> tuple[Any, ...]:
        fields = getattr(fact.kind, "_fields", range(len(fact.facts)))
        texts = [
            self.text(item, f"{name}.{field}", (*path, i), (*place, i), const)
            for i, (field, item) in enumerate(zip(fields, fact.facts, strict=True))
        ]
        made: tuple[Any, ...] = getattr(fact.kind, "_make", tuple)(texts)
        return made

    def _descriptor(self, fact: DescriptorFact, name: str, place: tuple[int, ...]) -> str:
        self.attributes |= _descriptor_facts(name, fact, self.divisibility)
        self._array(fact.place)
        self.kept.extend((*place, i) for i in range(2 * len(fact.block)))
        return fact.text


def _descriptor_facts(name: str, fact: DescriptorFact, divisibility: int) -> dict[str, list[tuple[str, int]]]:
    """The facts about a descriptor, by the names of its parts (see :func:`tri.compiler.signature.parameter_types`)."""
    found = {
        f"{name}.shape.{i}": [("tt.divisibility", divisibility)]
        for i, holds in enumerate(fact.divisible)
        if holds
    }
    said = [("tt.padding", 2)] if fact.padding == "nan" else []
    if fact.rounds:
        said.append(("tt.round_f32_to_tf32", 1))
    return found | ({name: said} if said else {})


def _constant(fact: Any) -> tuple[Any] | None:
    """The value that is folded into the code, in a tuple; None for a run-time argument."""
    if isinstance(fact, Constant):
        return (fact.value,)
    return (1,) if fact == ONE else None


def one_device(function: Kernel, specialization: Specialization) -> Place | None:
    """The device of the array arguments, None when all are in host memory; LaunchError when they differ."""
    return only_place(function.__name__, {place for _, place in specialization.arrays if place is not None})


def only_place(kernel: str, places: Iterable[Place]) -> Place | None:
    """The one of ``places``, None for none; LaunchError for several devices, or several libraries' streams of one."""
    found = set(places)
    devices = sorted({f"{p.device.kind}:{p.device.index}" for p in found})
    if len(devices) > 1:
        raise LaunchError(
            f"{kernel} got arrays on several devices: {', '.join(devices)}", remedy="move them to one device"
        )
    if len(found) > 1:
        raise LaunchError(
            f"{kernel} got arrays on {devices[0]} that have streams of their own, or of libraries that have",
            remedy="make them arrays of one library, which from_dlpack does without a copy, and of one stream",
        )
    return next(iter(found), None)
