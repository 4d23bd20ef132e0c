"""Copies by the tensor memory accelerator, maps, and what CTAs of a cluster do together.  PTX ISA 8.7, 9.7.9.27, 9.7.13."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tri_backend_nvidia.machine.simulation import cluster, tma
from tri_backend_nvidia.text.operation import unknown
from tri_backend_nvidia.text.registers import Reader, Registers
from tri_backend_nvidia.text.syntax import Instruction
from tri_backend_nvidia.text.values import Array
from tri_runtime.simulator import CTA

__all__ = ["TMA", "bulk"]

_LOAD = re.compile(
    r"cp\.async\.bulk\.tensor\.\dd\.shared::cluster\.global\.tile\.mbarrier::complete_tx::bytes(\.multicast::cluster)?"
)
_STORE = re.compile(
    r"cp\.(?:reduce\.)?async\.bulk\.tensor\.\dd\.global\.shared::cta(?:\.(\w+))?\.tile\.bulk_group"
)
_TILE = re.compile(r"\[\s*([^,]+),\s*(\{[^}]*\})\s*\]")
_REPLACE = re.compile(r"tensormap\.replace\.tile\.(\w+)\.shared::cta\.b1024\.b(32|64)")


def _every(cta: CTA) -> Array:
    return np.ones(cta.num_threads, np.bool_)


def _tile(registers: Registers, text: str) -> tuple[Reader, list[Reader]]:
    """The address of a map, and the coordinates of a box: ``[map, {x, y}]``."""
    found = _TILE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return registers.address(found[1]), [registers.reader(each, "s32") for each in registers.vector(found[2])]


def bulk(registers: Registers, instruction: Instruction) -> Callable[[CTA], Any]:
    """Block copies of boxes, their groups and waits."""
    name, operands = instruction.name, instruction.operands
    if name == "cp.async.bulk.commit_group":
        return lambda cta: cta.stores.commit(cta.active)
    if name in ("cp.async.bulk.wait_group", "cp.async.bulk.wait_group.read"):
        groups, reads = int(operands[0], 0), name.endswith("read")
        return lambda cta: cta.stores.wait(groups, cta.active, reads=reads)
    if found := _LOAD.fullmatch(name):
        return _load(registers, operands, is_multicast=bool(found[1]))
    return _store(registers, instruction)


def _load(registers: Registers, operands: tuple[str, ...], *, is_multicast: bool) -> Callable[[CTA], None]:
    target, tile, barrier, *mask = operands
    place, done = registers.address(target), registers.address(barrier)
    map_, coordinates = _tile(registers, tile)
    receivers = registers.reader(mask[0], "s16") if is_multicast else None

    def step(cta: CTA) -> None:
        only = None if receivers is None else receivers(cta)
        tma.load(cta, place(cta), map_(cta), done(cta), _every(cta), [c(cta) for c in coordinates], only)

    return step


def _store(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    found = _STORE.fullmatch(instruction.name)
    if found is None:
        raise unknown(instruction)
    tile, source = instruction.operands
    map_, coordinates = _tile(registers, tile)
    place, combine = registers.address(source), found[1] or ""

    def step(cta: CTA) -> None:
        tma.store(cta, place(cta), map_(cta), _every(cta), [c(cta) for c in coordinates], combine)

    return step


def _map(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    """``tensormap.replace`` and ``tensormap.cp_fenceproxy``."""
    if instruction.parts[1] == "cp_fenceproxy":
        target, source = (registers.address(each) for each in instruction.operands[:2])
        return lambda cta: tma.publish(cta, target(cta), source(cta)) if cta.active.any() else None
    found = _REPLACE.fullmatch(instruction.name)
    if found is None:
        raise unknown(instruction)
    address, *ordinal, value = instruction.operands
    place, read = registers.address(address), registers.reader(value, f"s{found[2]}")
    field, number = found[1], int(ordinal[0], 0) if ordinal else 0
    return lambda cta: tma.replace(cta, place(cta), read(cta), _every(cta), field, number)


def _prefetch(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    """A map that is prefetched must be one; of other places nothing is asked."""
    if instruction.name != "prefetch.tensormap":
        return lambda cta: None
    address = registers.address(instruction.operands[0])
    return lambda cta: tma.prefetch(cta, address(cta), _every(cta))


def _mapa(registers: Registers, instruction: Instruction) -> Callable[[CTA], None]:
    result, address, rank = instruction.operands
    type_ = instruction.parts[-1].replace("u", "s")
    place, number, write = (
        registers.reader(address, type_),
        registers.reader(rank, "s32"),
        registers.writer(result, type_),
    )
    return lambda cta: write(cta, cluster.mapa(place(cta), number(cta)))


TMA: dict[str, Callable[[Registers, Instruction], Callable[[CTA], Any]]] = {
    "tensormap": _map,
    "prefetch": _prefetch,
    "mapa": _mapa,
}
