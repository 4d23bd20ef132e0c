"""Launches that compiled code does: which calls of a kernel it may, as records for :mod:`tri_runtime.native`.

A call that went through the dispatcher is described by all that its result depends on: how the arguments are given, what each is
specialized on, and what is outside of them (hooks, globals, knobs, the chosen target).  A call that fits the description gives the
same launch; every other one goes through the dispatcher again.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tri.context import variable as chosen_target
from tri.jit import JITFunction
from tri.language.types import dtype
from tri.launch.arrays import is_tensor_class
from tri.launch.binder import rules_of
from tri.launch.hooks import LAUNCH_ENTER, LAUNCH_EXIT
from tri.launch.readers import DIVISIBLE, ONE, Constant
from tri_core import knobs

if TYPE_CHECKING:
    from tri.context import Choice
    from tri.jit import KernelParameter
    from tri_core.image import KernelImage
    from tri_core.runtime import Launch, LaunchPlan, LoadedKernel, Runtime
    from tri_runtime.native import Condition, Exchange, Item, Pattern, QuickCalls

__all__ = ["Loaded", "QuickTable", "Seen"]

#: how run-time scalars are stored: bytes, and for ints whether with a sign
_INTS = {f"{sign}{bits}": (bits // 8, sign == "i") for sign in "iu" for bits in (8, 16, 32, 64)}
_FLOATS = {"fp32": 4, "fp64": 8}
_BOOLS = ("u1", "i1")
#: constants that are known by their identity, which is their equality, or by type and value
_CONSTANTS = (int, float, str, bool, type(None), dtype, JITFunction)
#: DLPack's words of 8-bit integers, which stand for other dtypes too (quantized ones, integers of fewer bits)
_AMBIGUOUS = (0x10800, 0x10801)


#: descriptions that fail before no more are tried, and calls that are known of one kernel
_FAILURES, _CALLS = 8, 16


class _UnfitError(Exception):
    """The call is one that only the dispatcher can do."""


@dataclass(frozen=True)
class Seen:
    """A call that the dispatcher did: ``facts`` of all parameters, ``choice`` of a target, ``watched`` globals.

    ``arguments``: what was passed to the launcher; ``numbers``: which parameters these are.
    """

    function: JITFunction
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    facts: tuple[Any, ...]
    choice: Choice | None
    watched: tuple[tuple[Mapping[str, Any], str, Any], ...]
    numbers: Sequence[int]
    arguments: Sequence[Any]
    result: Any
    defaults: dict[str, Any]


@dataclass(frozen=True)
class Loaded:
    """The kernel of ``image`` on a device, with its launcher; ``is_observed``: observers are told of every launch."""

    owner: Runtime
    kernel: LoadedKernel
    image: KernelImage
    launch: Launch
    is_observed: bool

    @functools.cached_property
    def plan(self) -> LaunchPlan | None:
        """How it is launched without the launcher; None where only that can."""
        ask = getattr(self.owner, "launch_plan", None)
        found: LaunchPlan | None = None if ask is None or self.is_observed else ask(self.kernel, self.image)
        return found


class QuickTable:
    """The calls of one kernel that compiled code does; ``otherwise`` does all others, called in the same way."""

    def __init__(self, otherwise: Callable[..., Any]) -> None:
        self._otherwise = otherwise
        self._calls: QuickCalls | None = None
        self._known: set[Any] = set()
        self._launches = self._failures = 0

    def is_curious(self) -> bool:
        """Whether one more call is worth a description: not the first, the like of which may never come again."""
        self._launches += 1
        return self._launches > 1 and self._failures < _FAILURES and len(self._known) < _CALLS

    def clear(self) -> None:
        """Forget all calls."""
        if self._calls is not None:
            self._calls.clear()
        self._known.clear()
        self._launches = self._failures = 0

    def refuse(self) -> None:
        """Take note of a call that compiled code cannot do; after some, descriptions are not worth their time."""
        self._failures += 1

    def learn(self, loaded: Loaded, seen: Seen) -> None:
        """Have calls like ``seen`` done by compiled code, if it can tell them."""
        pattern = None if loaded.plan is None else describe_call(seen, loaded.plan)
        if pattern is None or loaded.plan is None or not self._is_new(seen, pattern):
            self.refuse()
        elif (calls := self._start()) is not None:
            from tri_runtime.native import Call

            calls.add(Call(loaded.plan, pattern))

    def _is_new(self, seen: Seen, pattern: Pattern) -> bool:
        """Whether no like call is known: one that is may be refused by the driver, or have a grid of an unusual kind."""
        key = len(seen.args), tuple(seen.kwargs), seen.facts, seen.choice, pattern.numbers
        if key in self._known:
            return False
        self._known.add(key)
        return True

    def _start(self) -> QuickCalls | None:
        """The compiled code's table; None where there is no such code."""
        from tri_runtime.native import QuickCalls, available

        if self._calls is None and available():
            self._calls = QuickCalls(self._otherwise)
        return self._calls

    @property
    def call(self) -> Callable[..., Any]:
        """What a launch calls."""
        return self._otherwise if self._calls is None else self._calls.call


def describe_call(seen: Seen, plan: LaunchPlan) -> Pattern | None:
    """What calls have in common with the one that was ``seen``; None where compiled code cannot tell."""
    from tri_runtime.native import Call, Pattern

    if not Call.possible(plan):
        return None
    try:
        names, items = _items(seen, plan)
        exchange, device = _stream_owner(seen)
        conditions = _conditions(seen)
    except _UnfitError:
        return None
    numbers = plan.numbers(exchange.stream(device))
    if numbers is None:
        return None
    given = len(seen.kwargs), conditions, seen.arguments, numbers, exchange, device
    return Pattern(items, names, *given, seen.result, seen.defaults)


def _items(seen: Seen, plan: LaunchPlan) -> tuple[list[str], list[Item]]:
    """The names of the arguments as they are given, and what each has to be."""
    from tri_runtime.native import ConstantItem, table_of

    parameters = {p.name: p for p in seen.function.params}
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in seen.function.params):
        raise _UnfitError
    names = [*seen.function.arg_names[: len(seen.args)], *seen.kwargs]
    items: list[Item] = []
    places = table_of(plan).offsets[: len(seen.numbers)]
    offsets = dict(zip(seen.numbers, places, strict=True))
    for name, value in zip(names, (*seen.args, *seen.kwargs.values()), strict=True):
        parameter = parameters.get(name)
        if parameter is None:
            items.append(ConstantItem(_constant(value)))  # an option
        else:
            items.append(_item(seen, offsets, parameter, value))
    return names, items


def _constant(value: Any) -> Any:
    if not isinstance(value, _CONSTANTS) or (type(value) is int and not -(1 << 63) <= value < 1 << 63):
        raise _UnfitError
    if isinstance(value, (int, float, str)) and type(value) not in _CONSTANTS:
        raise _UnfitError  # of a derived class, whose values may be equal and other objects
    return value


def _item(seen: Seen, offsets: Mapping[int, int], parameter: KernelParameter, value: Any) -> Item:
    from tri_runtime.native import BoolItem, ConstantItem, FloatItem

    fact, number = seen.facts[parameter.num], parameter.num
    if parameter.is_constexpr or isinstance(fact, Constant):
        return ConstantItem(_constant(value))
    if type(fact) is tuple:
        return _array_item(fact, offsets[number], value)
    if type(value) is int:
        return _int_item(offsets, parameter, fact, value)
    if type(value) is float and fact in _FLOATS:
        return FloatItem(offsets[number], _FLOATS[fact])
    if type(value) is bool and fact in _BOOLS:
        return BoolItem(offsets[number])
    raise _UnfitError


def _array_item(fact: tuple[Any, ...], offset: int, value: Any) -> Item:
    from tri_runtime.native import ArrayItem

    exchange = _exchange(value)
    shown = exchange.look(value)
    named = ("dtype", value.dtype) if shown.dtype in _AMBIGUOUS else None
    mask, aligned = _alignment(fact, shown.address)
    return ArrayItem(offset, type(value), exchange, shown.device, shown.dtype, mask, aligned, named)


def _alignment(fact: tuple[Any, ...], address: int) -> tuple[int, bool]:
    """Which bits of an address matter; none where an aligned one is not taken for one."""
    divisible = not address & 15
    return (0, True) if divisible and not fact[1] else (15, divisible)


def _exchange(value: Any) -> Exchange:
    from tri_runtime.native import exchange_of

    cls: type = type(value)
    found = exchange_of(cls) if is_tensor_class(cls) else None
    if found is None:
        raise _UnfitError
    return found


def _int_item(offsets: Mapping[int, int], parameter: KernelParameter, fact: Any, value: int) -> Item:
    from tri_runtime.native import IntItem

    rules = rules_of(parameter)
    divisible = rules.values and rules.alignment
    if not -(1 << 63) <= value < 1 << 63:
        raise _UnfitError
    if fact == ONE:
        return IntItem(0, 0, value, (True, True, True))
    type_ = fact.removesuffix(DIVISIBLE)
    if type_ not in _INTS:
        raise _UnfitError
    size, signed = _INTS[type_]
    number = parameter.num
    care = (rules.values and rules.equal_to_one and not rules.type, not rules.type, divisible)
    return IntItem(offsets[number], size, value, care, signed)


def _stream_owner(seen: Seen) -> tuple[Exchange, int]:
    """Of the array whose library says the current stream, and its device."""
    for value in (*seen.args, *seen.kwargs.values()):
        if is_tensor_class(type(value)):
            exchange = _exchange(value)
            return exchange, exchange.look(value).device
    raise _UnfitError


def _conditions(seen: Seen) -> list[Condition]:
    from tri_runtime.native import EmptyList, Entry, Variable

    if knobs.overridden() is not None:
        raise _UnfitError
    found: list[Condition] = [
        EmptyList(LAUNCH_ENTER.calls),
        EmptyList(LAUNCH_EXIT.calls),
        Variable(chosen_target, seen.choice),
        Variable(knobs.overrides, None),
        Entry(knobs.EPOCH, knobs.ASSIGNED, knobs.EPOCH[knobs.ASSIGNED]),
    ]
    for space, name, value in seen.watched:
        if type(space) is not dict or type(name) is not str:
            raise _UnfitError
        found.append(Entry(space, name, value))
    return found
