"""Ops that do something: memory, atomics, prints, asserts, and those that ask about the launch."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from tri.interpreter.arrays import Array, Data, numpy_type, unsigned, wide
from tri.interpreter.calls import Call, Machine, Rule
from tri.interpreter.errors import AssertionFailed
from tri.interpreter.exact import add
from tri.interpreter.floats import single, widen
from tri.interpreter.memory import poison
from tri.interpreter.races import semantics_of
from tri.language import types as t
from tri_core.errors import Unsupported
from tri_core.printing import NARROWEST_FLOAT, hexadecimal, hexadecimal_float, line_format
from tri_runtime.races import Semantics

if TYPE_CHECKING:
    pass

__all__ = ["RULES", "update"]

logger = logging.getLogger(__name__)

_Update = Callable[[Data, Data], Data]


def _element(pointer: t.dtype) -> t.dtype:
    scalar = pointer.scalar
    if not isinstance(scalar, t.pointer_type):
        raise Unsupported(f"the interpreter reads memory through pointers, not through {pointer}")
    return scalar.element_ty


# --- pointers -------------------------------------------------------------------------------------------


def _move(call: Call) -> Array:
    pointer, offset = call.operands
    size = _element(call.types[0]).itemsize
    data = np.asarray(pointer.data + offset.data.astype(np.int64) * size)
    if pointer.exact is None and offset.exact is None:
        return Array(data, owner=pointer.owner)
    exact = wide(pointer, signed=True) + wide(offset, signed=True) * size
    return Array(data, np.asarray(exact), pointer.origin or offset.origin, pointer.owner)


def _forget_owner(call: Call) -> Array:
    value = call.operands[0]
    return Array(value.data.astype(np.int64), value.exact, value.origin)


# --- memory ---------------------------------------------------------------------------------------------


def _load(call: Call) -> Array:
    pointers, *rest = call.operands
    mask = rest[0].data if rest else None
    other = rest[1].data if len(rest) > 1 else None
    memory = call.machine.memory
    if not call.attributes.get("isVolatile") and call.attributes.get("cache") != _CV:
        memory.ask_weakly(pointers, call.dtype.itemsize)
        return memory.load(pointers, call.result, mask, other)
    memory.ask(pointers, call.dtype.itemsize, "load")
    with memory.volatile(pointers, mask, call.dtype.itemsize):
        return memory.load(pointers, call.result, mask, other)


def _store(call: Call) -> None:
    pointers, values, *rest = call.operands
    call.machine.memory.store(pointers, values.data, rest[0].data if rest else None)


def _rounds(pointers: Array, mask: Data | None) -> Iterator[Data]:
    """Masks that together make up ``mask``, with no address twice in one: lanes follow each other in order."""
    addresses = pointers.data.ravel()
    active = np.flatnonzero(np.ones(addresses.shape, np.bool_) if mask is None else mask.ravel())
    order = active[np.argsort(addresses[active], kind="stable")]
    starts = np.r_[True, addresses[order][1:] != addresses[order][:-1]][: len(order)]
    position = np.arange(len(order))
    rank = position - np.maximum.accumulate(np.where(starts, position, 0))
    for nth in range(int(rank.max()) + 1 if len(order) else 0):
        lanes = np.zeros(addresses.shape, np.bool_)
        lanes[order[rank == nth]] = True
        yield lanes.reshape(pointers.data.shape)


def _float_add(element: t.dtype) -> _Update:
    return lambda old, new: np.asarray(single(widen(old, element) + widen(new, element), element))


def _unsigned(function: Callable[[Data, Data], Data]) -> _Update:
    return lambda old, new: np.asarray(function(unsigned(old), unsigned(new))).view(old.dtype)


#: the number of tt.CacheModifier for loads that go to memory each time
_CV = 7
#: the numbers of tt.AtomicOp for sums of floats and for exchanges
_FADD, _XCHG = 5, 10
#: by the numbers of tt.AtomicOp
_UPDATES: dict[int, _Update] = {
    1: np.bitwise_and,
    2: np.bitwise_or,
    3: np.bitwise_xor,
    4: np.add,
    6: np.maximum,
    7: np.minimum,
    8: _unsigned(np.maximum),
    9: _unsigned(np.minimum),
    _XCHG: lambda old, new: new,
}


def update(
    machine: Machine,
    element: t.dtype,
    pointers: Array,
    values: Data,
    mask: Data | None,
    kind: int,
    semantics: Semantics,
    verb: str,
) -> Array:
    """Read-modify-write of ``kind``, lane after lane; the old values."""
    float_add = add if machine.exact else _float_add(element)
    function = float_add if kind == _FADD else _UPDATES[kind]
    memory = machine.memory
    old = np.empty(pointers.data.shape, values.dtype)
    old[...] = poison(values.dtype)
    if mask is None or mask.all():
        memory.ask(pointers, values.dtype.itemsize, verb)
    with memory.atomic(pointers, mask, values.dtype.itemsize, semantics, verb):
        for lanes in _rounds(pointers, mask):
            found = memory.load(pointers, element, lanes, None, verb).data
            old[lanes] = found[lanes]
            made = np.asarray(function(found, values))
            memory.store(pointers, made, lanes, verb, adds=kind == _FADD, commutes=kind not in (_FADD, _XCHG))
    return Array(old)


def _atomic(call: Call) -> Array:
    pointers, values, *rest = call.operands
    mask = rest[0].data if rest else None
    kind, semantics = call.attributes["atomic_rmw_op"], semantics_of(call.attributes)
    return update(
        call.machine,
        _element(call.types[0]),
        pointers,
        values.data,
        mask,
        kind,
        semantics,
        "atomic operation",
    )


def _compare_and_swap(call: Call) -> Array:
    pointers, expected, values = call.operands
    memory, element = call.machine.memory, _element(call.types[0])
    old = np.empty(pointers.data.shape, values.data.dtype)
    semantics = semantics_of(call.attributes)
    memory.ask(pointers, values.data.dtype.itemsize, "atomic_cas")
    with memory.atomic(pointers, None, values.data.dtype.itemsize, semantics, "atomic_cas"):
        for lanes in _rounds(pointers, None):
            found = memory.load(pointers, element, lanes, None, "atomic_cas").data
            old[lanes] = found[lanes]
            same = lanes & np.asarray(_bits(found) == _bits(expected.data))
            memory.store(pointers, values.data, same, "atomic_cas")
    return Array(old)


def _bits(data: Data) -> Data:
    return np.asarray(data).view(f"i{data.dtype.itemsize}")


def _atomic_load(call: Call) -> Array:
    pointers, *rest = call.operands
    memory, mask = call.machine.memory, rest[0].data if rest else None
    if mask is None or mask.all():
        memory.ask(pointers, call.dtype.itemsize, "atomic_load")
    with memory.atomic(pointers, mask, call.dtype.itemsize, semantics_of(call.attributes), "atomic_load"):
        return memory.load(pointers, call.result, mask, None, "atomic_load")


def _atomic_poll(call: Call) -> Array:
    """Other programs run while the value is not there; one with a timeout looks once after they have."""
    pointers, expected, *timeout = call.operands
    element, memory = call.types[1], call.machine.memory
    size = numpy_type(element).itemsize
    while True:
        memory.ask(pointers, size, "atomic_poll")
        with memory.atomic(pointers, None, size, semantics_of(call.attributes), "atomic_poll"):
            seen = memory.load(pointers, element, None, None, "atomic_poll").data
        same = np.asarray(_bits(seen) == _bits(expected.data))
        if timeout or same.all():
            return Array(same)


def _atomic_store(call: Call) -> None:
    pointers, values, *rest = call.operands
    mask = rest[0].data if rest else None
    memory, size = call.machine.memory, values.data.dtype.itemsize
    with memory.atomic(pointers, mask, size, semantics_of(call.attributes), "atomic_store"):
        for lanes in _rounds(pointers, mask):
            memory.store(pointers, values.data, lanes, "atomic_store")


# --- what the author asks for -----------------------------------------------------------------------------


def _assert(call: Call) -> None:
    truth = call.operands[0].data
    if truth.all():
        return
    lane = "" if not truth.ndim else f" (lane {[int(i) for i in np.argwhere(~truth)[0]]})"
    message = call.attributes.get("message")
    text = f"device_assert failed: {message}" if message else "device_assert failed"
    if call.name != "tt.assert":
        text = "an assumption does not hold"
    raise call.machine.kernel_error(text + lane, AssertionFailed)


def _print(call: Call) -> None:
    """A line per element."""
    program, prefix, count = call.machine.program, call.attributes["prefix"], len(call.operands)
    if not count:
        sys.stdout.write(f"{line_format(prefix, 0).format(*program)}\n")
    for i, (value, type_) in enumerate(zip(call.operands, call.types, strict=True)):
        data = np.asarray(value.data)
        text = line_format(prefix, count, i, data.shape)
        shown = _texts(data, type_, in_bits=bool(call.attributes.get("hex")))
        places = np.ndindex(data.shape)
        sys.stdout.writelines(f"{text.format(*program, *p, s)}\n" for p, s in zip(places, shown, strict=True))


def _texts(data: Data, type_: t.dtype, *, in_bits: bool) -> list[str]:
    """The elements of ``data`` as they are printed, in order."""
    scalar = type_.scalar
    wide = scalar.is_floating() and scalar.primitive_bitwidth >= NARROWEST_FLOAT
    if scalar.is_ptr() or (in_bits and not wide):
        bits = np.asarray(data).view(f"u{data.dtype.itemsize}")
        return [hexadecimal(int(v), 64 if scalar.is_ptr() else scalar.primitive_bitwidth) for v in bits.flat]
    if scalar.is_floating():
        return [hexadecimal_float(float(v)) if in_bits else f"{float(v):f}" for v in widen(data, type_).flat]
    return [str(int(v)) for v in (unsigned(data) if scalar.is_int_unsigned() else data).flat]


def _integer(of_axes: tuple[int, int, int], call: Call) -> Array:
    return Array(np.asarray(of_axes[call.attributes["axis"]], np.int32))


def _nothing(call: Call) -> None:
    """Programs run one after the other: there is nothing to wait for."""


def _refuse_assembly(call: Call) -> None:
    raise Unsupported(
        "the interpreter cannot run inline assembly",
        remedy="compute it with tri.language where the kernel is interpreted (a constexpr parameter may choose), "
        "or run the kernel compiled",
    )


RULES: dict[str, Rule] = {
    "tt.get_program_id": lambda call: _integer(call.machine.program, call),
    "tt.get_num_programs": lambda call: _integer(call.machine.grid, call),
    "tt.addptr": _move,
    "tt.ptr_to_int": _forget_owner,
    "tt.int_to_ptr": _forget_owner,
    "tt.load": _load,
    "tt.store": _store,
    "tt.atomic_rmw": _atomic,
    "tt.atomic_cas": _compare_and_swap,
    "tt.atomic_load": _atomic_load,
    "tt.atomic_poll": _atomic_poll,
    "tt.atomic_store": _atomic_store,
    "tt.assert": _assert,
    "llvm.intr.assume": _assert,
    "tt.print": _print,
    "tt.barrier": _nothing,
    "tt.grid_dependency_wait": _nothing,
    "tt.grid_dependency_launch_dependents": _nothing,
    "tt.elementwise_inline_asm": _refuse_assembly,
}
