"""Operations of a loop of a SPIR-V module, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tri_backend_intel.spirv.reader import instructions_of

__all__ = ["Operations", "operations"]

#: numbers of the specification and of the extensions
_LABEL, _FUNCTION_END, _BRANCH, _BRANCH_IF = 248, 56, 249, 250
_LOADS, _PREFETCH, _DPAS = (6231, 6232, 6233), 6234, 6237


@dataclass(frozen=True)
class Operations:
    """Of a step: all of them, labels and branches too; ``distance`` is how many iterations ahead prefetches are."""

    operations: int = 0
    dpas: int = 0
    loads: int = 0
    prefetches: int = 0
    distance: int = 0


def operations(module: bytes) -> Operations:
    """Of the shortest loop of ``module`` that multiplies and loads blocks; without one, of the shortest that multiplies."""
    blocks = _blocks(module)
    bodies = [body for body in _loops(blocks) if _DPAS in body]
    with_loads = [body for body in bodies if any(op in _LOADS for op in body)]
    if not bodies:
        return Operations()
    body = min(with_loads or bodies, key=len)
    everywhere = sum(ops.count(_PREFETCH) for ops in blocks.values())
    prefetches = sum(b.count(_PREFETCH) for b in with_loads)
    return Operations(
        operations=len(body),
        dpas=body.count(_DPAS),
        loads=sum(op in _LOADS for op in body),
        prefetches=body.count(_PREFETCH),
        distance=(everywhere - prefetches) // prefetches if prefetches else 0,
    )


def _blocks(module: bytes) -> dict[int, list[int]]:
    """Opcodes by label, and behind them the labels that the block goes to, negative."""
    found: dict[int, list[int]] = {}
    label = 0
    for op, operands in instructions_of(module):
        label = operands[0] if op == _LABEL else 0 if op == _FUNCTION_END else label
        if label:
            found.setdefault(label, []).append(op)
            goes = operands[:1] if op == _BRANCH else operands[1:3] if op == _BRANCH_IF else ()
            found[label] += [-target for target in goes]
    return found


def _loops(blocks: dict[int, list[int]]) -> list[list[int]]:
    """The opcodes of each loop: from a label to a jump back to it."""
    order, found = list(blocks), list[list[int]]()
    place = {label: i for i, label in enumerate(order)}
    for last, label in enumerate(order):
        for target in _targets(blocks[label]):
            if place[target] <= last:
                inside = order[place[target] : last + 1]
                found.append([op for each in inside for op in blocks[each] if op > 0])
    return found


def _targets(ops: Sequence[int]) -> list[int]:
    return [-op for op in ops if op < 0]
