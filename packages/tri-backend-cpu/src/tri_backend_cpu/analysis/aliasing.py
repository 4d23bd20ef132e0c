"""Whether two accesses may touch the same memory at different points of a loop nest.

A kernel's pointer arguments are taken to be disjoint, or to be used so that a program touches an element at
the same point through both (a kernel called in place).  Without this no loop that loads and stores could
be fused; programs that break it are races on every parallel target.
"""

from __future__ import annotations

from tri_backend_cpu.graph import ForLoop, Value, as_for
from tri_core.ir.traits import derives_pointer

__all__ = ["conflict", "root_pointer"]


def root_pointer(pointer: Value) -> Value | None:
    """The kernel argument that ``pointer`` is derived from, or None when that is not known or there are several."""
    found: set[Value | None] = set()
    seen: set[Value] = set()
    waiting = [pointer]
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        sources = _sources(value)
        if sources is None:
            found.add(None)
        elif sources:
            waiting.extend(sources)
        else:
            found.add(value)
    return found.pop() if len(found) == 1 else None


def _sources(pointer: Value) -> list[Value] | None:
    """What ``pointer`` may be derived from, one step back: nothing for a kernel's argument, None if not known."""
    op = pointer.op
    if op is None:
        if pointer.block is None:
            return None
        if pointer.block.parent is None:
            return []
        loop = as_for(pointer.block.parent)
        return _carried(loop, pointer.index - 1) if loop is not None and pointer.index else None
    match op.name:
        case name if derives_pointer(name):
            return [op.operands[0]]
        case "arith.select":
            return list(op.operands[1:])
        case "scf.for":
            return _carried(ForLoop(op), pointer.index)
        case "scf.if":
            return [block.terminator.operands[pointer.index] for block in op.blocks if block.ops]
        case _:
            return None


def _carried(loop: ForLoop, index: int) -> list[Value]:
    """What iter_arg ``index`` of ``loop`` is at first and next."""
    return [loop.inits[index], loop.yielded[index]]


def conflict(first: Value | None, second: Value | None) -> bool:
    """Whether accesses through two pointers may overlap at different points of a nest."""
    if first is second and first is not None:
        return False
    if first is None or second is None:
        return True
    roots = root_pointer(first), root_pointer(second)
    return roots[0] is None or roots[1] is None or roots[0] is roots[1]
