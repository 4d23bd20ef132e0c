"""Instructions that threads execute together: barriers, shuffles, votes, matches, reductions of a warp.  PTX ISA 8.7, 9.7.9.6 and 9.7.13."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tri_backend_nvidia.machine.simulation import cluster
from tri_backend_nvidia.text.operation import unknown
from tri_backend_nvidia.text.registers import Reader, Registers
from tri_backend_nvidia.text.syntax import Instruction
from tri_backend_nvidia.text.values import Array, dtype_of
from tri_gpu_dialect.lowering import print_in_simulator
from tri_runtime.simulator import CTA

__all__ = ["THREADS", "members"]

_WARP = 32
_GLOBAL = 1
_LANES = np.arange(_WARP)


def members(cta: CTA, mask: Array, name: str) -> Array:
    """By warp, ``(warps, 32)``: the lanes that do an instruction together, those of ``mask`` of active threads.

    SimulationError where a lane names others that are elsewhere, or does not name itself: the manual says nothing of what happens.
    """
    active = cta.active.reshape(-1, _WARP)
    named = (mask.reshape(-1, _WARP)[:, :, None] >> _LANES.astype(mask.dtype)) & mask.dtype.type(1) != 0
    wrong = active & ((named & ~active[:, None, :]).any(axis=2) | ~named[:, _LANES, _LANES])
    if wrong.any():
        thread = int(np.flatnonzero(wrong.reshape(-1))[0])
        raise cta.scene.error(
            "convergence",
            f"{name} of thread {thread} names lanes {int(mask[thread]):#010x} of its warp, and not just these are there",
            thread=thread,
            remedy="have all lanes that are named come to the instruction together",
        )
    return active


def _shuffle(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    _, sync, mode, _ = instruction.parts
    if sync != "sync":
        raise unknown(instruction)
    result, _, valid = instruction.operands[0].partition("|")
    value, lane, clamp, mask = (registers.reader(each, "b32") for each in instruction.operands[1:])
    write = registers.writer(result, "b32")
    write_valid = registers.writer(valid or "_", "pred")

    def step(cta: CTA) -> None:
        members(cta, mask(cta), instruction.name)
        given, threads = value(cta), np.arange(cta.num_threads)
        own = threads % _WARP
        by, c = (lane(cta) & 31).astype(np.int64), clamp(cta).astype(np.int64)
        kept, segment = c & 31, c >> 8 & 31
        last, first = own & segment | kept & ~segment, own & segment
        source = {"up": own - by, "down": own + by, "bfly": own ^ by, "idx": first | by & ~segment}[mode]
        inside = source >= last if mode == "up" else source <= last
        source = np.where(inside, source, own)
        taken = threads - own + source
        absent = cta.active & ~cta.active[taken]
        if absent.any():
            thread = int(np.flatnonzero(absent)[0])
            raise cta.scene.error(
                "convergence", f"thread {thread} takes the value of a lane that is not there", thread=thread
            )
        write(cta, given[taken])
        write_valid(cta, inside)

    return step


def _by_warp(cta: CTA, values: Array) -> Array:
    return values.reshape(-1, _WARP)


def _spread(rows: Array) -> Array:
    """One value per warp, for each of its threads."""
    return np.repeat(rows, _WARP)


def _vote(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    _, sync, mode, _ = instruction.parts
    if sync != "sync":
        raise unknown(instruction)
    kind = "b32" if mode == "ballot" else "pred"
    write = registers.writer(instruction.operands[0], kind)
    read, mask = (
        registers.reader(instruction.operands[1], "pred"),
        registers.reader(instruction.operands[2], "b32"),
    )

    def step(cta: CTA) -> None:
        there = members(cta, mask(cta), instruction.name)
        said = _by_warp(cta, read(cta))
        yes = (said | ~there).all(axis=1)
        no = (~said | ~there).all(axis=1)
        found: dict[str, Callable[[], Any]] = {
            "all": lambda: yes,
            "any": lambda: (said & there).any(axis=1),
            "uni": lambda: yes | no,
            "ballot": lambda: _bits(said & there),
        }
        write(cta, _spread(found[mode]()))

    return step


def _bits(rows: Array) -> Array:
    """Lanes as the bits of a word."""
    return np.packbits(rows, axis=1, bitorder="little").view(np.uint32)[:, 0]


def _match(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    _, mode, _, kind = instruction.parts
    result, _, equal = instruction.operands[0].partition("|")
    write, write_equal = registers.writer(result, "b32"), registers.writer(equal or "_", "pred")
    read, mask = (
        registers.reader(instruction.operands[1], kind),
        registers.reader(instruction.operands[2], "b32"),
    )

    def step(cta: CTA) -> None:
        there = members(cta, mask(cta), instruction.name)
        rows = _by_warp(cta, read(cta))
        same = (rows[:, :, None] == rows[:, None, :]) & there[:, None, :]
        found = np.stack([_bits(same[:, i]) for i in range(_WARP)], axis=1)
        every = found == _bits(there)[:, None]
        if mode == "all":
            found = np.where(every, found, np.uint32(0))
        write(cta, found.reshape(-1))
        write_equal(cta, every.reshape(-1))

    return step


def _reduction(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    """``redux.sync``."""
    _, _, name, *more, kind = instruction.parts
    functions: dict[str, Any] = {
        "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    if name not in functions or more or kind[0] == "f":
        raise unknown(instruction)
    write = registers.writer(instruction.operands[0], kind)
    read, mask = (
        registers.reader(instruction.operands[1], kind),
        registers.reader(instruction.operands[2], "b32"),
    )

    def step(cta: CTA) -> None:
        there, rows = members(cta, mask(cta), instruction.name), _by_warp(cta, read(cta))
        first = rows[np.arange(len(rows)), there.argmax(axis=1)]
        filled = np.where(there, rows, first[:, None] if name not in ("add", "xor") else rows.dtype.type(0))
        write(cta, _spread(functions[name].reduce(filled, axis=1).astype(dtype_of(kind))))

    return step


def _elect(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    lane, _, elected = instruction.operands[0].partition("|")
    write_lane, write = registers.writer(lane, "b32"), registers.writer(elected or "_", "pred")
    mask = registers.reader(instruction.operands[1], "b32")

    def step(cta: CTA) -> None:
        first = members(cta, mask(cta), instruction.name).argmax(axis=1)
        write_lane(cta, _spread(first.astype(np.uint32)))
        write(cta, np.arange(cta.num_threads) % _WARP == _spread(first))

    return step


def _active_mask(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    write = registers.writer(instruction.operands[0], "b32")
    return lambda cta: write(cta, _spread(_bits(_by_warp(cta, cta.active))))


# --- barriers -------------------------------------------------------------------------------------------------


def _numbers(cta: CTA, read: Reader) -> list[int]:
    return [int(n) for n in np.unique(read(cta)[cta.active])]


def _barrier(registers: Registers, instruction: Instruction) -> Callable[[CTA], Any]:
    parts = [part for part in instruction.parts[1:] if part not in ("cta", "aligned")]
    if parts[:1] == ["warp"]:
        return _warp_barrier(registers, instruction)
    if parts[:1] == ["cluster"]:
        return _cluster_barrier(instruction)
    if parts not in (["sync"], ["arrive"]):
        raise unknown(instruction)
    waits = parts == ["sync"]
    name = registers.reader(instruction.operands[0], "u32")
    count = registers.reader(instruction.operands[1], "u32") if len(instruction.operands) > 1 else None

    def step(cta: CTA) -> object:
        names, counts = _numbers(cta, name), _numbers(cta, count) if count is not None else [cta.num_threads]
        if len(names) != 1 or len(counts) != 1:
            raise cta.scene.error(
                "convergence", f"threads are at barriers {names} for {counts} threads by one instruction"
            )
        cta.barriers.arrive(names[0], counts[0], waits=waits)
        return cta.take_wait()

    return step


def _warp_barrier(registers: Registers, instruction: Instruction) -> Callable[[CTA], Any]:
    mask = registers.reader(instruction.operands[0], "b32")

    def step(cta: CTA) -> object:
        members(cta, mask(cta), instruction.name)
        if cta.num_threads == cta.threads_per_warp:
            cta.barrier()
            return cta.take_wait()
        cta.warp_barrier()
        return None

    return step


def _call(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    """``vprintf``, which the driver brings."""
    _, name, arguments = instruction.operands
    if name != "vprintf":
        raise unknown(instruction, "a function without a body")
    text, values = (registers.reader(each.strip(), "s64") for each in arguments.strip("()").split(","))

    def step(cta: CTA) -> None:
        if cta.active.any():
            line = _string(cta, int(text(cta)[cta.active][0]))
            print_in_simulator(cta, line, _variadic(cta, line, values(cta)))

    return step


def _cluster_barrier(instruction: Instruction) -> Callable[[CTA], Any]:
    step = instruction.parts[2]
    if step not in ("arrive", "wait"):
        raise unknown(instruction)

    def run(cta: CTA) -> object:
        cluster.barrier(cta, step)
        return cta.take_wait()

    return run


def _string(cta: CTA, address: int) -> str:
    """The text at ``address``, up to its zero."""
    return bytes(cta.memory(_GLOBAL).contents(address)).split(b"\0")[0].decode()


def _variadic(cta: CTA, line: str, places: Array) -> list[Array]:
    """The arguments of C's format ``line``, each at a multiple of its size."""
    offset, found = 0, []
    for size, letter in re.findall(r"%[-+ #0]*\d*(?:\.\d+)?(l*)([a-zA-Z%])", line):
        if letter == "%":
            continue
        kind = np.dtype(
            np.float64 if letter in "aefgAEFG" else np.int64 if size or letter == "p" else np.int32
        )
        offset = -(-offset // kind.itemsize) * kind.itemsize
        found.append(cta.memory(_GLOBAL).load(places + offset, kind, cta.active))
        offset += kind.itemsize
    return found


def _nothing(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    return lambda cta: None


THREADS: dict[str, Callable[[Registers, Instruction], Callable[[CTA], Any]]] = {
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _reduction,
    "elect": _elect,
    "activemask": _active_mask,
    "bar": _barrier,
    "barrier": _barrier,
    "setmaxnreg": _nothing,
    "griddepcontrol": _nothing,
    "nanosleep": _nothing,
    "call": _call,
    "trap": lambda registers, instruction: lambda cta: cta.stop(),
}
