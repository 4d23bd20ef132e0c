"""Loads, stores, atomics, reductions and fences.  PTX ISA 8.7, 8 (memory consistency) and 9.7.9, 9.7.13."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from tri_backend_nvidia.machine.simulation.updates import UPDATES
from tri_backend_nvidia.text.floats import encoded, numbers
from tri_backend_nvidia.text.operation import unknown
from tri_backend_nvidia.text.registers import Registers
from tri_backend_nvidia.text.syntax import Instruction, bits_of
from tri_backend_nvidia.text.values import Array, as_type, dtype_of, raw, word
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.races import Semantics
from tri_runtime.simulator import CTA

__all__ = ["MEMORY", "Access"]

_SPACES = {"global": 1, "shared": 3, "shared::cta": 3, "shared::cluster": 3, "": 0}
#: constants and local memory are places in global memory; parameters are none
_PRIVATE = {"param": 0, "const": 1, "local": 1}
_ORDERS = ("relaxed", "acquire", "release", "acq_rel", "weak", "volatile")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
#: hints to caches, which change no value
_HINTS = ("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified", "noftz")


@dataclass(frozen=True)
class Access:
    """Modifiers of a memory instruction: LLVM's address ``space``, order, scope, elements, PTX type, and the rest."""

    space: int
    order: str
    scope: str
    count: int
    type: str
    rest: tuple[str, ...]
    constant: str = ""

    @classmethod
    def of(cls, instruction: Instruction) -> Access:
        """Those of ``instruction``; Unsupported for a modifier that means something unknown."""
        *modifiers, type_ = instruction.parts[1:]
        space, order, scope, count, rest, constant = 0, "weak", "", 1, [], ""
        for part in modifiers:
            if part in _SPACES:
                space = _SPACES[part]
            elif part in _PRIVATE:
                constant, space = part, _PRIVATE[part]
            elif part in _ORDERS:
                order = part
            elif part in _SCOPES:
                scope = part
            elif part in _VECTORS:
                count = _VECTORS[part]
            elif part not in _HINTS and not part.startswith(("L1::", "L2::", "level::")):
                rest.append(part)
        return cls(space, order, scope, count, type_, tuple(rest), constant)

    @property
    def is_strong(self) -> bool:
        """True if the access goes to memory whatever others do: an assembler keeps it, as often as it is written."""
        return self.order != "weak"

    def semantics(self) -> Semantics:
        """Ordering between programs."""
        return Semantics.named(self.order if self.order in _ORDERS[:4] else "relaxed", self.scope)


def _around(cta: CTA, access: Access, addresses: Array, nbytes: int) -> AbstractContextManager[None]:
    """Strong load, for memory that others write."""
    memory = cta.memory(access.space)
    if not access.is_strong:
        return nullcontext()
    if access.order == "volatile":
        return memory.volatile(addresses, cta.active, nbytes)
    threads = np.flatnonzero(cta.active)
    return memory.atomic(addresses[threads], threads, nbytes, access.semantics())


def _load(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    access = Access.of(instruction)
    if access.rest:
        raise unknown(instruction, f".{access.rest[0]}")
    targets = registers.vector(instruction.operands[0])
    if access.constant == "param":
        return _parameter(registers, instruction, access)
    if len(targets) != access.count:
        raise unknown(instruction)
    address = registers.address(instruction.operands[1])
    writers = [registers.writer(target, access.type) for target in targets]
    is_wide = access.type == "b128"
    kind = np.dtype(np.uint64) if is_wide else word(bits_of(access.type))
    count = 2 if is_wide else access.count
    nbytes = kind.itemsize * count

    def step(cta: CTA) -> None:
        addresses = address(cta)
        with _around(cta, access, addresses, nbytes):
            found = cta.memory(access.space).load(addresses, kind, cta.active, count, nbytes)
        columns = [found] if is_wide else [np.ascontiguousarray(c) for c in found.reshape(len(found), -1).T]
        for write, column in zip(writers, columns, strict=True):
            write(cta, as_type(column, access.type))

    return step


def _parameter(registers: Registers, instruction: Instruction, access: Access) -> Callable[[CTA], None]:
    name, _, offset = instruction.operands[1].strip("[]").partition("+")
    if name in registers.kernel.registers and not offset and access.count == 1:
        read, write = (
            registers.reader(name, access.type),
            registers.writer(instruction.operands[0], access.type),
        )
        return lambda cta: write(cta, read(cta))
    parameter = registers.parameters.get(name.strip())
    if parameter is None or parameter.nbytes or offset or access.count > 1:
        raise unknown(instruction)
    write, slot = registers.writer(instruction.operands[0], access.type), registers.slots[parameter.name]
    return lambda cta: write(cta, as_type(cta.values[slot], access.type))


def _store(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    access = Access.of(instruction)
    sources = registers.vector(instruction.operands[1])
    if access.constant == "param":
        read, write = (
            registers.reader(sources[0], access.type),
            registers.writer(instruction.operands[0].strip("[]"), access.type),
        )
        return lambda cta: write(cta, read(cta))
    if access.rest or access.constant == "const" or len(sources) != access.count:
        raise unknown(instruction)
    address = registers.address(instruction.operands[0])
    readers = [registers.reader(source, access.type) for source in sources]
    bits = bits_of(access.type)
    nbytes = bits // 8 * access.count

    def step(cta: CTA) -> None:
        columns = [raw(read(cta), access.type, bits) for read in readers]
        values = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
        memory, addresses = cta.memory(access.space), address(cta)
        threads = np.flatnonzero(cta.active)
        if access.order in ("relaxed", "release"):
            around: AbstractContextManager[None] = memory.atomic(
                addresses[threads], threads, nbytes, access.semantics()
            )
        else:
            around = memory.written_through() if access.is_strong else nullcontext()
        with around:
            memory.store(addresses, values, cta.active, nbytes)

    return step


# --- atomics --------------------------------------------------------------------------------------------------

_Update = Callable[..., Any]  # of the old value and one operand, or two

_UPDATES: Mapping[str, _Update] = {
    **UPDATES,
    "cas": lambda old, expected, new: np.where(old == expected, new, old),
}
_FLOAT_UPDATES: Mapping[str, _Update] = {**_UPDATES, "min": np.fmin, "max": np.fmax}


def _on_words(update: _Update, type_: str) -> _Update:
    """``update`` of values of ``type_`` on the words that hold them."""
    scalar = type_.removesuffix("x2")

    def one(*words: Array) -> Array:
        given = [numbers(as_type(w, scalar), scalar) for w in words]
        made = update(*given)
        return encoded(made.astype(np.float64), scalar) if scalar in ("bf16", "f16") else made

    def on_words(*words: Array) -> Array:
        if scalar == type_:
            return raw(one(*words), scalar, bits_of(scalar))
        halves = [np.ascontiguousarray(w).view(np.uint16) for w in words]
        return raw(one(*halves), scalar, 16).view(np.uint32)

    return on_words


def _atomic(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    access = Access.of(instruction)
    is_read = instruction.parts[0] == "atom"
    (name,) = access.rest if len(access.rest) == 1 else ("",)
    table = (
        _FLOAT_UPDATES
        if dtype_of(access.type.removesuffix("x2")).kind == "f" or access.type.startswith("bf")
        else _UPDATES
    )
    if name not in table or access.constant:
        raise unknown(instruction)
    operands = list(instruction.operands)
    results = registers.vector(operands.pop(0)) if is_read else []
    address = registers.address(operands.pop(0))
    values = [registers.vector(each) for each in operands[: 2 if name == "cas" else 1]]
    readers = [[registers.reader(each, access.type) for each in parts] for parts in values]
    writers = [registers.writer(each, access.type) for each in results]
    bits, update = bits_of(access.type), _on_words(table[name], access.type)

    def step(cta: CTA) -> None:
        given = [np.stack([raw(read(cta), access.type, bits) for read in parts], axis=1) for parts in readers]
        old = _in_turn(cta, access, address(cta), update, given)
        for i, write in enumerate(writers):
            write(cta, as_type(np.ascontiguousarray(old[:, i]), access.type))

    return step


def _in_turn(cta: CTA, access: Access, addresses: Array, update: _Update, given: list[Array]) -> Array:
    """The old words, ``(threads, n)``, when each active thread after the other replaces what it finds."""
    memory, rows = cta.memory(access.space), given[0]
    count, kind = rows.shape[1], rows.dtype
    nbytes = count * kind.itemsize
    old = np.zeros_like(rows)
    threads = np.flatnonzero(cta.active)
    alone = np.zeros(cta.num_threads, np.bool_)
    semantics = access.semantics()
    with memory.atomic(addresses[threads], threads, nbytes, semantics):
        for thread in threads:
            alone[thread] = True
            found = memory.load(addresses, kind, alone, count, nbytes).reshape(rows.shape)
            one = slice(thread, thread + 1)
            old[one] = found[one]
            made = update(
                np.ascontiguousarray(found[thread]), *(np.ascontiguousarray(v[thread]) for v in given)
            )
            new = found.copy()
            new[one] = made
            memory.store(addresses, new, alone, nbytes)
            alone[thread] = False
    return old


# --- fences and the rest --------------------------------------------------------------------------------------


def _fence(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    from tri_backend_nvidia.machine.simulation import mbarrier

    parts = instruction.parts[1:]
    if parts[:2] == ("proxy", "tensormap::generic"):
        return lambda cta: None  # copies read maps as they are
    if parts[0] in ("proxy", "mbarrier_init"):
        kind = ".".join(parts)
        return lambda cta: mbarrier.fence(cta, kind)
    order = "acq_rel" if instruction.parts[0] == "membar" or parts[0] in ("sc", "acq_rel") else parts[0]
    scope = {"gl": "gpu"}.get(parts[-1], parts[-1])
    semantics = Semantics.named(order, scope)

    def step(cta: CTA) -> None:
        if cta.active.any():
            cta.memory(1).order(semantics)

    return step


def _nothing(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    return lambda cta: None


def _same_address(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    """``cvta``: an address is the same in each space here."""
    read = registers.reader(instruction.operands[1], "b64")
    write = registers.writer(instruction.operands[0], "b64")
    return lambda cta: write(cta, read(cta))


def _policy(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    """A cache policy, which changes no value."""
    write = registers.writer(instruction.operands[0], "b64")
    return lambda cta: write(cta, np.zeros(cta.num_threads, np.uint64))


Maker = Callable[[Registers, Instruction], Callable[[CTA], Any]]
MEMORY: dict[str, Maker] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "fence": _fence,
    "membar": _fence,
    "cvta": _same_address,
    "createpolicy": _policy,
    "prefetchu": _nothing,
    "discard": _nothing,
    "applypriority": _nothing,
}
