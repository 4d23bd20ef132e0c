"""Matrix instructions, asynchronous copies and barriers in memory: what the machine ops mean, on registers of the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tri_backend_nvidia.machine.simulation import cluster, copies, matrix, mbarrier
from tri_backend_nvidia.text.operation import unknown
from tri_backend_nvidia.text.registers import Registers
from tri_backend_nvidia.text.syntax import Instruction
from tri_backend_nvidia.text.tma import TMA, bulk
from tri_backend_nvidia.text.values import Array
from tri_backend_nvidia.text.warp_groups import wgmma
from tri_core.api import DeviceError
from tri_runtime.simulator import CTA

__all__ = ["UNITS"]

Maker = Callable[[Registers, Instruction], Callable[[CTA], Any]]
_TYPES = {"s32": "s32", "f16": "s32", "f32": "f32", "f64": "f64"}


def _whole_warps(cta: CTA, name: str) -> None:
    """SimulationError where lanes of a warp are elsewhere."""
    rows = cta.active.reshape(-1, cta.threads_per_warp)
    if (rows.any(axis=1) != rows.all(axis=1)).any():
        raise cta.scene.error("convergence", f"{name} is executed by a part of a warp")


def _mma(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    found = re.fullmatch(
        r"mma\.sync\.aligned\.(m\d+n\d+k\d+)\.row\.col(\.satfinite)?\.(\w+)\.(\w+)\.(\w+)\.(\w+)",
        instruction.name,
    )
    if found is None or found[2] or found[3] != found[6]:
        raise unknown(instruction)
    shape, total, left, right = found[1], found[3], found[4], found[5]
    type_ = _TYPES[total]
    operand = "f64" if left == "f64" else "s32"
    results, *groups = (registers.vector(each) for each in instruction.operands)
    types = (operand, operand, type_)
    readers = [registers.reader(each, t) for group, t in zip(groups, types, strict=True) for each in group]
    writers = [registers.writer(each, type_) for each in results]
    counts = (len(groups[0]), len(groups[1]), len(groups[2]))

    def step(cta: CTA) -> None:
        _whole_warps(cta, instruction.name)
        made = matrix.multiply(cta, shape, (left, right, total), counts, [read(cta) for read in readers])
        for write, value in zip(writers, made, strict=True):
            write(cta, np.ascontiguousarray(value))

    return step


def _matrices(instruction: Instruction) -> tuple[int, bool]:
    """Number of 8 x 8 matrices that ``ldmatrix`` or ``stmatrix`` moves, and True if transposed; Unsupported for other forms."""
    found = re.fullmatch(
        r"(?:ld|st)matrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.shared(?:::cta)?\.b16", instruction.name
    )
    if found is None:
        raise unknown(instruction)
    return int(found[1]), bool(found[2])


def _ldmatrix(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    count, transposed = _matrices(instruction)
    writers = [registers.writer(each, "s32") for each in registers.vector(instruction.operands[0])]
    address = registers.address(instruction.operands[1])

    def step(cta: CTA) -> None:
        _whole_warps(cta, instruction.name)
        for write, value in zip(
            writers, matrix.load_matrices(cta, address(cta), count, transposed), strict=True
        ):
            write(cta, np.ascontiguousarray(value))

    return step


def _stmatrix(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    _, transposed = _matrices(instruction)
    readers = [registers.reader(each, "s32") for each in registers.vector(instruction.operands[1])]
    address = registers.address(instruction.operands[0])

    def step(cta: CTA) -> None:
        _whole_warps(cta, instruction.name)
        matrix.store_matrices(cta, address(cta), [read(cta) for read in readers], transposed)

    return step


def _cp(registers: Registers, instruction: Instruction) -> Callable[[CTA], Any]:
    """``cp.async`` and what goes with it."""
    parts = instruction.parts[2:]
    if "bulk" in instruction.parts:
        return bulk(registers, instruction)
    if parts == ("commit_group",):
        return copies.commit
    if parts in (("wait_group",), ("wait_all",)):
        groups = int(instruction.operands[0], 0) if parts == ("wait_group",) else 0
        return _waited(groups, commits=parts == ("wait_all",))
    if parts[:2] == ("mbarrier", "arrive") and "noinc" in parts:
        at = registers.address(instruction.operands[0])
        return lambda cta: mbarrier.copy_arrive(cta, at(cta))
    if parts[0] not in ("ca", "cg"):
        raise unknown(instruction)
    return _copy(registers, instruction)


def _waited(groups: int, *, commits: bool) -> Callable[[CTA], None]:
    def step(cta: CTA) -> None:
        if commits:
            copies.commit(cta)
        copies.wait(cta, groups)

    return step


def _copy(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    destination, source, width, *more = instruction.operands
    size = registers.reader(more[0] if more else width, "s32")
    target, origin, nbytes = registers.address(destination), registers.address(source), int(width, 0)

    def step(cta: CTA) -> None:
        every = np.ones(cta.num_threads, np.bool_)
        copies.start(cta, target(cta), origin(cta), size(cta), every, nbytes)

    return step


# --- barriers in memory ---------------------------------------------------------------------------------------


def _mbarrier(registers: Registers, instruction: Instruction) -> Callable[[CTA], Any]:
    parts = [
        p
        for p in instruction.parts[1:]
        if p
        not in ("shared", "shared::cta", "shared::cluster", "b64", "acquire", "release", "cta", "cluster")
    ]
    maker = _MBARRIER.get(tuple(parts))
    if maker is None:
        raise unknown(instruction)
    return maker(registers, instruction)


def _every(cta: CTA) -> Array:
    return np.ones(cta.num_threads, np.bool_)


def _init(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    address, count = (
        registers.address(instruction.operands[0]),
        registers.reader(instruction.operands[1], "u32"),
    )

    def step(cta: CTA) -> None:
        if cta.active.any():
            mbarrier.init(cta, address(cta), _every(cta), int(count(cta)[cta.active][0]))

    return step


def _inval(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    address = registers.address(instruction.operands[0])
    return lambda cta: mbarrier.inval(cta, address(cta), _every(cta)) if cta.active.any() else None


def _arrive(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    result, address, *more = instruction.operands
    if result != "_" or ("shared::cluster" in instruction.name and more):
        raise unknown(instruction)
    place = registers.address(address)
    if "shared::cluster" in instruction.name:
        return lambda cta: cluster.arrive(cta, place(cta), _every(cta))
    size = registers.reader(more[0], "u32") if more else None
    expects = "expect_tx" in instruction.parts
    if more and not expects:
        raise unknown(instruction, "a count of arrivals")

    def step(cta: CTA) -> None:
        if cta.active.any():
            given = (int(size(cta)[cta.active][0]),) if size is not None else ()
            mbarrier.arrive(cta, place(cta), _every(cta), *given)

    return step


def _wait(registers: Registers, instruction: Instruction) -> Callable[[CTA], object]:
    """A wait that may give up is one that does not: the loop around it ends as soon, and what never comes is a deadlock."""
    write = registers.writer(instruction.operands[0], "pred")
    address, phase = (
        registers.address(instruction.operands[1]),
        registers.reader(instruction.operands[2], "u32"),
    )

    def step(cta: CTA) -> object:
        if not cta.active.any():
            return None
        mbarrier.wait(cta, address(cta), phase(cta))
        write(cta, _every(cta))
        return cta.take_wait()

    return step


_MBARRIER: dict[tuple[str, ...], Maker] = {
    ("init",): _init,
    ("inval",): _inval,
    ("arrive",): _arrive,
    ("arrive", "expect_tx"): _arrive,
    ("try_wait", "parity"): _wait,
}


def _device_error(maker: Maker) -> Maker:
    """Locate what a unit refuses, like every other error."""

    def make(registers: Registers, instruction: Instruction) -> Callable[[CTA], Any]:
        step = maker(registers, instruction)

        def located(cta: CTA) -> object:
            try:
                return step(cta)
            except (DeviceError, ValueError) as error:
                raise cta.scene.error(
                    "misaligned" if "multiple" in str(error) else "asynchronous", str(error)
                ) from error

        return located

    return make


UNITS: dict[str, Maker] = {
    "mma": _mma,
    "ldmatrix": _device_error(_ldmatrix),
    "stmatrix": _device_error(_stmatrix),
    "cp": _device_error(_cp),
    "mbarrier": _mbarrier,
    "wgmma": _device_error(wgmma),
    **{name: _device_error(maker) for name, maker in TMA.items()},
}
