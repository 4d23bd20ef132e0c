"""Launches that compiled code does: which calls of a kernel it may, as records for :mod:`tri_runtime.native`.

A call that went through the dispatcher is described by all that its result depends on: how the arguments are given, what each is
specialized on, and what is outside of them (hooks, globals, knobs, the chosen target).  A call that fits the description gives the
same launch; every other one goes through the dispatcher again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.captures import Cell
from tri.context import variable as chosen_target
from tri.kernel import Kernel
from tri.language.types import dtype
from tri.launch.arrays import is_tensor_class
from tri.launch.binder import rules_of
from tri.launch.hooks import LAUNCH_ENTER, LAUNCH_EXIT
from tri.launch.readers import DIVISIBLE, ONE, Constant, DescriptorFact, Rules
from tri.launch.tensor_descriptor import TensorDescriptor
from tri_core import forks, knobs
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.context import Choice
    from tri.dependencies import Watch
    from tri.kernel import KernelParameter
    from tri_core.image import KernelImage
    from tri_core.runtime import Launch, LaunchPlan, LoadedKernel, OverlapLaunch, Runtime
    from tri_runtime.native import Condition, Exchange, FastLaunches, Item, Pattern

__all__ = [
    "Environment",
    "FastLaunchTable",
    "Loaded",
    "RecordedCall",
    "Slot",
    "Unfit",
    "any_number",
    "array_like",
    "exchange_for",
]

#: how run-time scalars are stored: bytes, and for ints whether with a sign
_INTS = {f"{sign}{bits}": (bits // 8, sign == "i") for sign in "iu" for bits in (8, 16, 32, 64)}
_FLOATS = {"fp32": 4, "fp64": 8}
_BOOLS = ("u1", "i1")
#: constants that are known by their identity, which is their equality, or by type and value
_CONSTANTS = (int, float, str, bool, type(None), dtype, Kernel)
#: DLPack's words of 8-bit integers, which stand for other dtypes too (quantized ones, integers of fewer bits)
_AMBIGUOUS = (0x10800, 0x10801)


#: descriptions that fail before no more are tried, and calls that are known of one kernel
_FAILURES, _CALLS = 8, 64


@dataclass(frozen=True)
class Slot:
    """Offset of a run-time parameter in memory, and its type."""

    offset: int
    type: str


#: by path
Memory = Mapping[tuple[int, ...], Slot]


class Unfit(Exception):
    """The call is one that only the dispatcher can do."""


@dataclass(frozen=True)
class Environment:
    """Dependencies of a launch beside its arguments: the target chosen, ``watched`` globals, and the
    ``epoch`` of knobs.
    """

    choice: Choice | None
    watched: tuple[Watch, ...]
    epoch: object


@dataclass(frozen=True)
class RecordedCall:
    """A call that the dispatcher did in ``environment``: ``facts`` of all parameters.

    ``arguments``: what was passed to the launcher; ``paths``: which parameters these are, and where
    in them.
    """

    function: Kernel
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    facts: tuple[Any, ...]
    environment: Environment
    paths: Sequence[tuple[int, ...]]
    arguments: Sequence[Any]
    result: Any
    defaults: dict[str, Any]


@dataclass(frozen=True)
class Loaded:
    """The kernel of ``image`` on a device, with its launcher; ``is_observed``: observers are called at every launch.

    ``ordered``: how it is launched on arrays that overlap, where that is another way.
    """

    owner: Runtime
    kernel: LoadedKernel
    image: KernelImage
    launch: Launch
    is_observed: bool
    ordered: OverlapLaunch | None = None

    @forks.cached_property
    def plan(self) -> LaunchPlan | None:
        """Plan of a launch without the launcher; None if only that can launch it."""
        ask = getattr(self.owner, "launch_plan", None)
        found: LaunchPlan | None = None if ask is None or self.is_observed else ask(self.kernel, self.image)
        return found


class FastLaunchTable:
    """The calls of one kernel that compiled code does; ``otherwise``, called in the same way, does all others, and has this table learn.

    ``plainly`` does them where nothing is to be learnt.
    """

    def __init__(self, otherwise: Callable[..., Any], plainly: Callable[..., Any]) -> None:
        self._otherwise, self._plainly = otherwise, plainly
        self._calls: FastLaunches | None = None
        self._known: set[Any] = set()
        self._launches = self._failures = 0

    def is_curious(self) -> bool:
        """True if one more call is worth a description: not the first, which may never recur."""
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

    def learn(self, loaded: Loaded, seen: RecordedCall) -> None:
        """Have calls like ``seen`` done by compiled code, if it can tell them."""
        pattern = None if loaded.plan is None else describe_call(seen, loaded.plan)
        if pattern is None or loaded.plan is None or not self._is_new(seen, pattern):
            self.refuse()
        elif (calls := self._start()) is not None:
            from tri_runtime.native import Call

            calls.add(Call(loaded.plan, pattern))

    def _is_new(self, seen: RecordedCall, pattern: Pattern) -> bool:
        """True if no like call is known: a known one may be refused by the driver, or have a grid of an
        unusual kind.
        """
        key = (
            pattern.items,
            pattern.numbers,
            len(seen.args),
            tuple(seen.kwargs),
            seen.facts,
            seen.environment.choice,
        )
        if key in self._known:
            return False
        self._known.add(key)
        return True

    def _start(self) -> FastLaunches | None:
        """The compiled code's table; None where there is no such code."""
        from tri_runtime.native import FastLaunches, available

        if self._calls is None and available():
            self._calls = FastLaunches(self._otherwise)
        return self._calls

    @property
    def call(self) -> Callable[..., Any]:
        """Callable that launches."""
        if self._calls is not None:
            return self._calls.call
        return self._otherwise if self._failures < _FAILURES else self._plainly


def describe_call(seen: RecordedCall, plan: LaunchPlan) -> Pattern | None:
    """Pattern of calls like the one that was ``seen``; None if compiled code cannot recognise them."""
    from tri_runtime.native import Call, Pattern

    if plan.apart is not None or not Call.possible(plan):
        return None
    try:
        names, items = _items(seen, plan)
        exchange, device = _stream_owner(seen)
        conditions = _conditions(seen)
    except Unfit:
        return None
    numbers = plan.numbers(exchange.stream(device))
    if numbers is None:
        return None
    given = len(seen.kwargs), conditions, seen.arguments, numbers, exchange, device
    return Pattern(items, names, *given, seen.result, seen.defaults)


def _items(seen: RecordedCall, plan: LaunchPlan) -> tuple[list[str], tuple[Item, ...]]:
    """The names of the arguments as they are given, and what each has to be."""
    from tri_runtime.native import ConstantItem, table_of

    parameters = {p.name: p for p in seen.function.params}
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in seen.function.params):
        raise Unfit
    names = [*seen.function.arg_names[: len(seen.args)], *seen.kwargs]
    items: list[Item] = []
    own = len(seen.paths)
    slots = zip(table_of(plan).offsets[:own], plan.parameters[:own], strict=True)
    memory = {path: Slot(offset, p.type) for path, (offset, p) in zip(seen.paths, slots, strict=True)}
    for name, value in zip(names, (*seen.args, *seen.kwargs.values()), strict=True):
        parameter = parameters.get(name)
        if parameter is None:
            items.append(ConstantItem(_constant(value)))  # an option
        else:
            items.append(_item(seen, memory, parameter, value))
    return names, tuple(items)


def _constant(value: Any) -> Any:
    if not isinstance(value, _CONSTANTS) or (type(value) is int and not -(1 << 63) <= value < 1 << 63):
        raise Unfit
    if isinstance(value, (int, float, str)) and type(value) not in _CONSTANTS:
        raise Unfit  # of a derived class, whose values may be equal and other objects
    return value


def _item(seen: RecordedCall, memory: Memory, parameter: KernelParameter, value: Any) -> Item:
    from tri_runtime.native import ConstantItem

    fact, path = seen.facts[parameter.num], (parameter.num,)
    if parameter.is_constexpr or isinstance(fact, Constant):
        return ConstantItem(_constant(value))
    if isinstance(fact, DescriptorFact):
        return _descriptor_item(memory, parameter, fact, value)
    if type(fact) is tuple:
        return _array_item(fact, memory[path].offset, value)
    if type(value) is int:
        return _int_item(memory, parameter, fact, value)
    return _other_number(memory[path].offset, fact, value)


def _other_number(offset: int, type_: str, value: Any) -> Item:
    from tri_runtime.native import BoolItem, FloatItem

    if type(value) is float and type_ in _FLOATS:
        return FloatItem(offset, _FLOATS[type_])
    if type(value) is bool and type_ in _BOOLS:
        return BoolItem(offset)
    raise Unfit


def any_number(slot: Slot, value: Any) -> Item:
    """Any number of the class of ``value`` that fits into ``slot``; Unfit where the slot is of another class."""
    if type(value) is int:
        return _stored(slot, slot.type, value, (False,) * 3)
    return _other_number(slot.offset, slot.type, value)


def array_like(offset: int, value: Any, mask: int) -> Item:
    """Any array of the class, dtype and device of ``value`` whose address has no bit of ``mask``."""
    from tri_runtime.native import ArrayItem

    exchange = exchange_for(value)
    shown = exchange.look(value)
    return ArrayItem(offset, type(value), exchange, shown.device, shown.dtype, mask, True)


def _array_item(fact: tuple[Any, ...], offset: int, value: Any) -> Item:
    from tri_runtime.native import ArrayItem

    if len(fact) > 3:
        raise Unfit  # how much memory an array is part of is nothing that compiled code looks at
    exchange = exchange_for(value)
    shown = exchange.look(value)
    named = ("dtype", value.dtype) if shown.dtype in _AMBIGUOUS else None
    mask, aligned = _alignment(fact, shown.address)
    return ArrayItem(offset, type(value), exchange, shown.device, shown.dtype, mask, aligned, named)


def _alignment(fact: tuple[Any, ...], address: int) -> tuple[int, bool]:
    """Mask of the address bits that matter, and True if the address is divisible by 16; mask 0 if the kernel
    is not specialised on an aligned address.
    """
    divisible = not address & 15
    return (0, True) if divisible and not fact[1] else (15, divisible)


def exchange_for(value: Any) -> Exchange:
    """Reader of arrays of the class of ``value``; Unfit for others."""
    from tri_runtime.native import exchange_of

    cls: type = type(value)
    found = exchange_of(cls) if is_tensor_class(cls) else None
    if found is None:
        raise Unfit
    return found


def _int_item(memory: Memory, parameter: KernelParameter, fact: Any, value: int) -> Item:
    from tri_runtime.native import IntItem

    rules = rules_of(parameter)
    if fact == ONE:
        return IntItem.like(1, 0, 0, (True, True, True))
    care = (rules.values and rules.equal_to_one and not rules.type, not rules.type, _divisible(rules))
    return _stored(memory[(parameter.num,)], fact.removesuffix(DIVISIBLE), value, care)


def _divisible(rules: Rules) -> bool:
    return rules.values and rules.alignment


def _stored(slot: Slot, type_: str, value: int, care: tuple[bool, bool, bool]) -> Item:
    from tri_runtime.native import IntItem

    if type_ not in _INTS or not -(1 << 63) <= value < 1 << 63:
        raise Unfit
    size, signed = _INTS[type_]
    return IntItem.like(value, slot.offset, size, care, signed)


def _descriptor_item(
    memory: Memory, parameter: KernelParameter, fact: DescriptorFact, value: TensorDescriptor
) -> Item:
    """Of a descriptor: the base, the sizes, the strides but the last, one parameter each."""
    from tri_runtime.native import AnyItem, ConstantItem, Part, PartsItem

    if not _divisible(rules_of(parameter)):
        raise Unfit
    rank = len(fact.block)
    slots = [memory[parameter.num, i] for i in range(2 * rank)]
    sizes = [_number(s, n, (False, False, True)) for s, n in zip(slots[1:], value.shape, strict=False)]
    steps = [_number(s, n, (False,) * 3) for s, n in zip(slots[rank + 1 :], value.strides, strict=False)]
    blocks = [ConstantItem(_constant(n)) for n in value.block_shape]
    base = _array_item((fact.dtype, True, fact.place), slots[0].offset, value.base)
    parts = (
        Part("base", None, (base,)),
        Part("shape", _sequence(value.shape), tuple(sizes)),
        Part("strides", _sequence(value.strides), (*steps, AnyItem())),
        Part("block_shape", _sequence(value.block_shape), tuple(blocks)),
        Part("padding", None, (ConstantItem(value.padding),)),
        Part("round_f32_to_tf32", None, (ConstantItem(value.round_f32_to_tf32),)),
    )
    if type(value) is not TensorDescriptor:
        raise Unfit
    return PartsItem(TensorDescriptor, parts)


def _number(slot: Slot, value: Any, care: tuple[bool, bool, bool]) -> Item:
    if type(value) is not int:
        raise Unfit
    return _stored(slot, slot.type, value, care)


def _sequence(given: Any) -> type:
    cls: type = type(given)
    if cls not in (list, tuple):
        raise Unfit
    return cls


def _stream_owner(seen: RecordedCall) -> tuple[Exchange, int]:
    """Of the array whose library says the current stream, and its device."""
    for value in (*seen.args, *seen.kwargs.values()):
        array = value.base if isinstance(value, TensorDescriptor) else value
        if is_tensor_class(type(array)):
            exchange = exchange_for(array)
            return exchange, exchange.look(array).device
    raise Unfit


def _conditions(seen: RecordedCall) -> list[Condition]:
    from tri_runtime.native import Captured, EmptyList, Entry, Variable

    if knobs.overridden() is not None:
        raise Unfit
    found: list[Condition] = [
        EmptyList(LAUNCH_ENTER.calls),
        EmptyList(LAUNCH_EXIT.calls),
        Variable(chosen_target, seen.environment.choice),
        Variable(knobs.overrides, None),
        Entry(knobs.EPOCH, knobs.ASSIGNED, seen.environment.epoch),
    ]
    for space, name, value in seen.environment.watched:
        if type(space) is Cell:
            found.append(Captured(space.cell, value))
            continue
        if type(space) is not dict or type(name) is not str:
            raise Unfit
        found.append(Entry(space, name, value))
    return found
