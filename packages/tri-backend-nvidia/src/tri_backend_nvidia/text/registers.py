"""Operands of instructions as functions of a CTA: registers, numbers, special registers, symbols, vectors, addresses."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tri_backend_nvidia.machine.simulation import core
from tri_backend_nvidia.text.syntax import Instruction, Kernel, Variable, bits_of
from tri_backend_nvidia.text.values import Array, as_type, dtype_of, is_float, joined, raw, split, word
from tri_core.api import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator import CTA, Memory

__all__ = ["Reader", "Registers", "Writer", "guarded", "leave_open"]

Reader = Callable[[CTA], Array]
Writer = Callable[[CTA, Array], None]

#: the slot of what is known of registers that only some threads have written: by slot, who has
_WRITTEN = 0
_FLOAT = re.compile(r"0[fFdD]([0-9a-fA-F]{8}|[0-9a-fA-F]{16})$")
_NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]+|\d+)U?$")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?$")
_ADDRESS = re.compile(r"([\w$%.@]+)\s*(?:\+\s*(-?\w+)|(-\d+))?$")
_POISON = 0xA5A5A5A5A5A5A5A5
_WARP = 32


def _lane(cta: CTA) -> Array:
    return np.arange(cta.num_threads) % _WARP


def _masks(mask: Callable[[int], int]) -> Callable[[CTA], Any]:
    return lambda cta: np.array([mask(int(n)) for n in _lane(cta)])


def _special() -> dict[str, Callable[[CTA], Any]]:
    plain = {
        f"%{n}": n
        for n in ("tid.x", *(f"{n}id.{a}" for n in ("cta", "ncta", "cluster", "ncluster") for a in "xyz"))
    }
    found: dict[str, Callable[[CTA], Any]] = {text: _read(name) for text, name in plain.items()}
    ones = np.uint64(0xFFFFFFFF)
    masks: dict[str, Callable[[int], int]] = {"eq": lambda n: 1 << n, "lt": lambda n: (1 << n) - 1, "le": lambda n: (2 << n) - 1,
             "gt": lambda n: ~((2 << n) - 1) & int(ones), "ge": lambda n: ~((1 << n) - 1) & int(ones)}  # fmt: skip
    found |= {f"%lanemask_{name}": _masks(mask) for name, mask in masks.items()}
    found |= {
        "%cluster_ctarank": _read("cluster.ctarank"),
        "%cluster_nctarank": lambda cta: np.full(cta.num_threads, len(cta.cluster.members)),
        "%ntid.x": lambda cta: np.full(cta.num_threads, cta.num_threads),
        "%laneid": _lane,
        "%warpid": lambda cta: np.arange(cta.num_threads) // _WARP,
        **{f"%globaltimer{s}": core.nanoseconds for s in ("", "_lo")},
        **{f"%clock{s}": core.nanoseconds for s in ("", "64")},
        **{f"%tid.{a}": lambda cta: np.zeros(cta.num_threads) for a in "yz"},
        **{f"%ntid.{a}": lambda cta: np.ones(cta.num_threads) for a in "yz"},
    }
    return found


def _read(name: str) -> Callable[[CTA], Any]:
    return lambda cta: core.read_register(cta, name)


_SPECIAL = _special()


@dataclass
class Registers:
    """The slots of a kernel's registers and parameters, and what the instruction that is decoded reads and writes of them."""

    kernel: Kernel
    slots: dict[str, int] = field(default_factory=dict)
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        names = [
            "",
            *(p.name for p in self.kernel.parameters),
            *self.kernel.variables,
            *self.kernel.registers,
        ]
        self.slots = {name: slot for slot, name in enumerate(names)}
        #: what some instruction names first, as the result is
        self.written = {
            name
            for code in self.kernel.code
            if code.operands
            for name in re.findall(r"[\w$%@+]+", code.operands[0])
        }
        self.parameters = {p.name: p for p in self.kernel.parameters}

    # --- sources ----------------------------------------------------------------------------------------------

    def reader(self, text: str, type_: str) -> Reader:
        """Value of ``text`` as ``type_``: arrays over threads; words of 128 bits are rows."""
        if text.startswith("{"):
            return self._vector(text, type_)
        if text.startswith("!"):
            inner = self.reader(text[1:], type_)
            return lambda cta: ~inner(cta)
        if text in self.kernel.registers:
            return self._register(text, type_)
        if text in _SPECIAL:
            special, kind = _SPECIAL[text], dtype_of(type_)
            return lambda cta: (
                np.asarray(special(cta)).astype(np.int64).astype(word(bits_of(type_))).view(kind)
            )
        if text in self.kernel.symbols:
            return lambda cta: np.full(cta.num_threads, cta.symbols[text], dtype_of(type_))
        if text in self.kernel.variables:
            slot, variable = self.slots[text], self.kernel.variables[text]
            return lambda cta: as_type(_place(cta, slot, variable).view(np.uint64), type_)
        if text in self.parameters and self.parameters[text].nbytes:
            slot = self.slots[text]
            return lambda cta: cta.values[slot]
        return self._constant(text, type_)

    def _vector(self, text: str, type_: str) -> Reader:
        parts = [each.strip() for each in text[1:-1].split(",")]
        bits = bits_of(type_)
        readers = [self._part(part, f"b{bits // len(parts)}") for part in parts]
        return lambda cta: as_type(joined([read(cta) for read in readers], bits), type_)

    def _part(self, text: str, type_: str) -> Reader:
        """A part of a word; one that no instruction writes is LLVM's undefined value, and holds anything."""
        if text in self.kernel.registers and text not in self.written:
            bits = bits_of(type_)
            return lambda cta: _poison(cta, bits)
        return self.reader(text, type_)

    def _register(self, name: str, type_: str) -> Reader:
        slot = self.slots[name]
        self.reads.add(slot)
        # LLVM's undefined value is a register that nothing writes, too
        poison = name in self.kernel.undefined or name not in self.written
        register = self.kernel.registers[name]

        def read(cta: CTA) -> Array:
            found = cta.values[slot]
            if found is None:
                if not poison:
                    raise _uninitialised(cta, name)
                found = _poison(cta, bits_of(register))
            elif cta.values[_WRITTEN] and not poison:
                _check(cta, slot, name)
            return as_type(found, type_)

        return read

    @staticmethod
    def _constant(text: str, type_: str) -> Reader:
        row = _number(text, type_)
        return lambda cta: np.full(cta.num_threads, row)

    def address(self, text: str) -> Reader:
        """The byte addresses of ``[register+offset]``."""
        found = _ADDRESS.match(text.strip("[] "))
        if found is None:
            raise Unsupported(f"the text level has no address {text}")
        offset = int(found[2] or found[3] or "0", 0)
        name = found[1]
        if _NUMBER.match(name):
            return lambda cta: np.full(cta.num_threads, int(name, 0) + offset, np.int64)
        type_ = "u32" if self.kernel.registers.get(name) in ("b32", "u32", "s32") else "s64"
        base = self.reader(name, type_)
        return lambda cta: base(cta).astype(np.int64) + np.int64(offset)

    # --- results ----------------------------------------------------------------------------------------------

    def writer(self, text: str, type_: str) -> Writer:
        """Give ``text`` values of ``type_`` where threads are active; ``_`` takes anything."""
        if text == "_":
            return lambda cta, value: None
        if text.startswith("{"):
            return self._vector_writer(text, type_)
        if text not in self.kernel.registers:
            raise Unsupported(f"the text level cannot write {text}")
        slot, bits = self.slots[text], bits_of(self.kernel.registers[text])
        self.writes.add(slot)
        return lambda cta, value: _write(cta, slot, raw(value, type_, bits))

    def _vector_writer(self, text: str, type_: str) -> Writer:
        parts = [each.strip() for each in text[1:-1].split(",")]
        bits = bits_of(type_)
        writers = [self.writer(part, f"b{bits // len(parts)}") for part in parts]

        def write(cta: CTA, value: Array) -> None:
            for each, part in zip(writers, split(value, bits, len(parts)), strict=True):
                each(cta, part)

        return write

    def vector(self, text: str) -> list[str]:
        """The parts of ``{a, b}``, or the operand itself."""
        return [each.strip() for each in text[1:-1].split(",")] if text.startswith("{") else [text]

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Forget what earlier instructions read and wrote."""
        self.reads.clear()
        self.writes.clear()
        yield


#: where a launch's memory has variables of the module
_placed: WeakKeyDictionary[Memory, dict[str, int]] = WeakKeyDictionary()
_GLOBAL = 1
_ALIGNMENT = 16


def _place(cta: CTA, slot: int, variable: Variable) -> Array:
    """The address of ``variable`` for each thread: of its own memory, or of the module's."""
    found = cta.values[slot]
    if found is None:
        memory = cta.memory(_GLOBAL)
        if variable.space == "local":
            stride = -(-variable.nbytes // _ALIGNMENT) * _ALIGNMENT
            start = memory.allocate(stride * cta.num_threads, f"local memory {variable.name}")
            found = start + stride * np.arange(cta.num_threads)
        else:
            places = _placed.setdefault(memory, {})
            if variable.name not in places:
                contents = np.frombuffer(variable.contents.ljust(variable.nbytes, b"\0"), np.uint8)
                places[variable.name] = memory.allocate(contents, f"variable {variable.name}")
            found = np.full(cta.num_threads, places[variable.name])
        cta.values[slot] = found = found.astype(np.int64)
    return np.asarray(found)


def _number(text: str, type_: str) -> Any:
    kind = dtype_of(type_)
    if found := _FLOAT.match(text):
        digits = found[1]
        bits = bytes.fromhex(digits)
        value = struct.unpack(">f" if len(digits) == 8 else ">d", bits)[0]
        if kind.kind == "f":
            return (
                np.array(value).astype(kind)
                if kind.itemsize * 2 != len(digits)
                else np.frombuffer(bits[::-1], kind)[0]
            )
        return np.array(int(digits, 16), np.uint64).astype(kind)
    if _NUMBER.match(text):
        number = int(text.removesuffix("U"), 0)
        if type_ == "pred":
            return np.bool_(number != 0)
        if is_float(type_) and kind.kind == "f":
            return kind.type(number)
        return np.array(number & 0xFFFFFFFFFFFFFFFF, np.uint64).astype(word(bits_of(type_))).view(kind)[()]
    if _DECIMAL.match(text) and kind.kind == "f":
        return kind.type(float(text))
    raise Unsupported(f"the text level does not know the operand {text!r}")


def _uninitialised(cta: CTA, name: str) -> Exception:
    thread = int(np.flatnonzero(cta.active)[0]) if cta.active.any() else 0
    return cta.scene.error(
        "uninitialised", f"thread {thread} reads register {name}, which it has not written", thread=thread
    )


def _check(cta: CTA, slot: int, name: str) -> None:
    """SimulationError where an active thread has not written register ``slot``."""
    written = cta.values[_WRITTEN].get(slot)
    if written is not None and (cta.active & ~written).any():
        thread = int(np.flatnonzero(cta.active & ~written)[0])
        raise cta.scene.error(
            "uninitialised", f"thread {thread} reads register {name}, which it has not written", thread=thread
        )


def leave_open(cta: CTA, slots: Mapping[int, int], threads: Array) -> None:
    """Registers (slots and bits) of ``threads`` whose guards keep them from writing: the former value, or any."""
    for slot, bits in slots.items():
        written = (cta.values[_WRITTEN] or {}).get(slot)
        missing = threads if cta.values[slot] is None else threads & ~written if written is not None else None
        if missing is not None and missing.any():
            active, whole = cta.active, cta.whole
            cta.active, cta.whole = missing, bool(missing.all())
            _write(cta, slot, _poison(cta, bits))
            cta.active, cta.whole = active, whole


def _poison(cta: CTA, bits: int) -> Array:
    shape = (cta.num_threads, 2) if bits == 128 else (cta.num_threads,)
    return np.ones(shape, np.bool_) if bits == 1 else np.full(shape, _POISON, np.uint64).astype(word(bits))


def _write(cta: CTA, slot: int, value: Array) -> None:
    values = cta.values
    if cta.whole:
        values[slot] = value
        if values[_WRITTEN]:
            values[_WRITTEN].pop(slot, None)
        return
    if not cta.active.any():
        return
    old = values[slot]
    if values[_WRITTEN] is None:
        values[_WRITTEN] = {}
    partial = values[_WRITTEN]
    if old is None:
        values[slot], partial[slot] = value, cta.active.copy()
        return
    values[slot] = np.where(cta.active if value.ndim == 1 else cta.active[:, None], value, old)
    if slot in partial:
        written = partial[slot] | cta.active
        if written.all():
            del partial[slot]
        else:
            partial[slot] = written


def guarded(instruction: Instruction, registers: Registers) -> Reader | None:
    """The predicate of a guarded instruction."""
    if instruction.guard is None:
        return None
    sign = "!" if instruction.guard.negated else ""
    return registers.reader(sign + instruction.guard.register, "pred")
