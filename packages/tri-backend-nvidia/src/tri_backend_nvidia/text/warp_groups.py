"""``wgmma``: each instruction is a dot of one step of the machine op's meaning.  PTX ISA 8.7, 9.7.15.

An accumulator is undefined from the instruction to the wait; a wait gives the sums to every register that holds what a dot
under way has left there, copies too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tri_backend_nvidia.machine.ops.wgmma import A_REGISTERS, WgmmaShape
from tri_backend_nvidia.machine.simulation import wgmma as simulation
from tri_backend_nvidia.text.operation import unknown
from tri_backend_nvidia.text.registers import Registers, leave_open
from tri_backend_nvidia.text.syntax import Instruction
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator import CTA

__all__ = ["wgmma"]

_NAME = re.compile(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k(\d+)\.(\w+)\.(\w+)\.(\w+)(?:\.satfinite)?")
_THREADS = 128


@dataclass
class _Groups:
    """Dots of a warp group since the last commit, and in each group committed."""

    started: int = 0
    committed: list[int] = field(default_factory=list)


_states: WeakKeyDictionary[CTA, dict[int, _Groups]] = WeakKeyDictionary()


def _groups(cta: CTA) -> list[_Groups]:
    """Those of the warp groups that are active."""
    rows = cta.active.reshape(-1, _THREADS)
    if (rows.any(axis=1) != rows.all(axis=1)).any():
        raise cta.scene.error("convergence", "wgmma is executed by a part of a warp group")
    state = _states.setdefault(cta, {})
    return [state.setdefault(int(i), _Groups()) for i in np.flatnonzero(rows.all(axis=1))]


def wgmma(registers: Registers, instruction: Instruction) -> Callable[[CTA], Any]:
    """A dot, a fence, a commit or a wait."""
    kind = instruction.parts[1]
    if kind == "fence":
        return lambda cta: None
    if kind == "commit_group":
        return _commit
    if kind == "wait_group":
        return _wait(registers, int(instruction.operands[0], 0))
    return _dot(registers, instruction)


def _dot(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    found = _NAME.fullmatch(instruction.name)
    if found is None:
        raise unknown(instruction)
    total, a, b, add, *immediates = instruction.operands
    in_memory = not a.startswith("{")
    kind = found[4]
    signs = immediates[: 0 if found[3] == "s32" else 2]
    transposed = [int(each) for each in immediates[len(signs) :]]
    if any(int(sign) != 1 for sign in signs):
        raise unknown(instruction, "a negated operand")
    a_rows = not (in_memory and transposed and transposed[0])
    b_rows = not (transposed and transposed[-1])
    shape = WgmmaShape(int(found[1]), int(found[2]), kind, found[5], found[3], a_rows, b_rows)
    type_ = "f32" if found[3] == "f32" else "s32"
    sums = registers.vector(total)
    readers = [registers.reader(each, type_) for each in sums]
    writers = [registers.writer(each, type_) for each in sums]
    lefts = [registers.reader(each, "s32") for each in registers.vector(a)] if not in_memory else []
    descriptors = [registers.reader(each, "u64") for each in ([a, b] if in_memory else [b])]
    slots = {registers.slots[each]: 32 for each in sums}
    adds = registers.reader(add, "pred")

    def step(cta: CTA) -> None:
        added = adds(cta)
        if not added[cta.active].any():  # the sums so far are not read
            leave_open(cta, slots, cta.active)
        words = [read(cta) for read in descriptors]
        lows = [(word & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.int32) for word in words]
        there = int(np.flatnonzero(cta.active)[0])
        highs = [int(word[there] >> np.uint64(32)) for word in words]
        left = [lows[0]] if in_memory else [read(cta) for read in lefts]
        operands = [*(read(cta) for read in readers), *left, lows[-1], added]
        counts = (len(sums), 1 if in_memory else A_REGISTERS)
        made = simulation.start(cta, shape, [(0, 0, 0)], counts, (highs[0], highs[-1]), operands)
        for group in _groups(cta):
            group.started += 1
        for write, value in zip(writers, made, strict=True):
            write(cta, np.ascontiguousarray(value))

    return step


def _commit(cta: CTA) -> None:
    for group in _groups(cta):
        group.committed.append(group.started)
        group.started = 0


def _wait(registers: Registers, pendings: int) -> Callable[[CTA], None]:
    slots = [registers.slots[name] for name, kind in registers.kernel.registers.items() if kind[1:] == "32"]

    def step(cta: CTA) -> None:
        left = 0
        for group in _groups(cta):
            group.committed = group.committed[-pendings:] if pendings else []
            left = sum(group.committed) + group.started
        known = [slot for slot in slots if cta.values[slot] is not None]
        words = [np.ascontiguousarray(cta.values[slot]).view(np.int32) for slot in known]
        for slot, value in zip(known, simulation.wait(cta, left, words), strict=True):
            cta.values[slot] = np.ascontiguousarray(value).view(np.uint32)

    return step
