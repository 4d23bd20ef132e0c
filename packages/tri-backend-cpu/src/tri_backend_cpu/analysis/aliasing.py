"""Whether two accesses may touch the same memory at different points of a loop nest.

A kernel's pointer arguments are taken to be disjoint, or to be used so that a program touches an element at
the same point through both (a kernel called in place).  Without this no loop that loads and stores could
be fused; programs that break it are races on every parallel target.
"""

from __future__ import annotations

from tri_backend_cpu.graph import Value

__all__ = ["conflict", "root_pointer"]

_THROUGH = {"tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.trans", "tt.reshape", "tt.bitcast"}


def root_pointer(pointer: Value) -> Value | None:
    """The kernel argument that ``pointer`` is derived from, or None when that is not known."""
    while True:
        if pointer.op is not None and pointer.op.name in _THROUGH:
            pointer = pointer.op.operands[0]
            continue
        block = pointer.block
        if block is None:
            return None
        if block.parent is None:
            return pointer
        if block.parent.name != "scf.for" or pointer.index == 0:
            return None
        pointer = block.parent.operands[2 + pointer.index]


def conflict(first: Value | None, second: Value | None) -> bool:
    """Whether accesses through two pointers may meet at different points of a nest."""
    if first is second and first is not None:
        return False
    if first is None or second is None:
        return True
    roots = root_pointer(first), root_pointer(second)
    return roots[0] is None or roots[1] is None or roots[0] is roots[1]
