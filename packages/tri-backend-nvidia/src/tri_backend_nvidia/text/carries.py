"""Sums that take a carry in, or leave one: ``add.cc``, ``addc``, ``sub.cc``, ``subc``, ``mad.cc``, ``madc``.  PTX ISA 8.7, 9.7.2."""

from __future__ import annotations

from typing import Any

import numpy as np

from tri_backend_nvidia.text.integer import wide_product
from tri_backend_nvidia.text.operation import Operation, unknown
from tri_backend_nvidia.text.syntax import Instruction, bits_of
from tri_backend_nvidia.text.values import Array

__all__ = ["CARRY", "carried", "leaves_carry", "takes_carry"]

#: the register of the carry
CARRY = "%CC.CF"


def takes_carry(instruction: Instruction) -> bool:
    """True for an instruction that adds the carry."""
    return instruction.parts[0] in ("addc", "subc", "madc")


def leaves_carry(instruction: Instruction) -> bool:
    """True for an instruction that sets the carry."""
    return "cc" in instruction.parts[1:] and instruction.parts[0] in (
        "add",
        "addc",
        "sub",
        "subc",
        "mad",
        "madc",
    )


def _added(x: Array, y: Array, carry: Array) -> tuple[Array, Array]:
    first = x + y
    total = first + carry.astype(x.dtype)
    return total, (first < x) | (total < first)


def _subtracted(x: Array, y: Array, carry: Array) -> tuple[Array, Array]:
    borrow = carry.astype(x.dtype)
    first = x - y
    return first - borrow, (x < y) | (first < borrow)


def _product(form: str, signed: bool, bits: int, x: Array, y: Array) -> Array:
    if form == "lo":
        return x * y
    if bits == 64:
        kind = np.int64 if signed else np.uint64
        return wide_product(x.view(kind), y.view(kind))[0].view(np.uint64)
    a, b = (v.view(np.int32).astype(np.int64) if signed else v.astype(np.uint64) for v in (x, y))
    return (a * b >> a.dtype.type(32)).astype(np.uint32)


def carried(instruction: Instruction) -> Operation:
    """The sum and, where it is left, the carry; the last input is the carry where it is taken."""
    name, *modifiers, type_ = instruction.parts
    form = next((m for m in modifiers if m in ("lo", "hi")), "")
    if type_ not in ("u32", "s32", "u64", "s64", "b32") or set(modifiers) - {"cc", form}:
        raise unknown(instruction)
    bits = bits_of(type_)
    takes, leaves = takes_carry(instruction), leaves_carry(instruction)

    def compute(*given: Array) -> Any:
        operands = list(given)
        carry = operands.pop() if takes else np.zeros(len(operands[0]), np.bool_)
        if form:
            left, right, *operands = operands
            operands = [_product(form, type_[0] == "s", bits, left, right), *operands]
        made = (_subtracted if name.startswith("sub") else _added)(operands[0], operands[1], carry)
        return made if leaves else made[:1]

    word = f"b{bits}"
    inputs = (word,) * (3 if form else 2) + ("pred",) * takes
    return Operation(inputs, (word,) + ("pred",) * leaves, compute)
