"""Loops that only repeat weak loads: an assembler may do the loads once, and then such a loop never ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_backend_nvidia.text.flow import Block, loops_of
from tri_backend_nvidia.text.memory import Access
from tri_backend_nvidia.text.syntax import Instruction
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Use", "weak_waits"]


@dataclass(frozen=True)
class Use:
    """An instruction with the slots that it reads and writes, its site, and whether it only computes; None: the end of a block."""

    code: Instruction | None
    reads: frozenset[int]
    writes: frozenset[int]
    site: int
    is_pure: bool


def weak_waits(blocks: Sequence[Block], uses: Mapping[int, Sequence[Use]]) -> dict[tuple[int, int], int]:
    """By (block, target) the ways back of such loops, with the site of a load that is repeated."""
    found: dict[tuple[int, int], int] = {}
    for loop in loops_of(blocks):
        inside = [use for block in loop for use in uses[block]]
        loads = [use for use in inside if _is_weak_load(use)]
        if not loads or not all(use.is_pure or _is_weak_load(use) for use in inside):
            continue
        if _carried(loop, blocks, uses):
            continue
        head = loop[0]
        for block in loop:
            found |= {(block, way.target): loads[0].site for way in blocks[block].ways if way.target == head}
    return found


def _is_weak_load(use: Use) -> bool:
    if use.code is None or use.code.parts[0] != "ld":
        return False
    access = Access.of(use.code)
    return not access.is_strong and not access.constant


def _carried(loop: Sequence[int], blocks: Sequence[Block], uses: Mapping[int, Sequence[Use]]) -> set[int]:
    """Slots that a turn of ``loop`` reads as an earlier one has written them."""
    needed: dict[int, set[int]] = {}
    killed: dict[int, set[int]] = {}
    for block in loop:
        exposed: set[int] = set()
        written: set[int] = set()
        for use in uses[block]:
            exposed |= use.reads - written
            if use.code is None or use.code.guard is None:
                written |= use.writes
        needed[block], killed[block] = exposed, written
    live = {block: set(needed[block]) for block in loop}
    changed = True
    while changed:
        changed = False
        for block in reversed(loop):
            after = set().union(
                *(live[w.target] for w in blocks[block].ways if w.target in live and w.target != loop[0])
            )
            new = needed[block] | after - killed[block]
            changed = changed or new != live[block]
            live[block] = new
    every = {slot for block in loop for use in uses[block] for slot in use.writes}
    return live[loop[0]] & every
