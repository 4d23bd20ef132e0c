"""Loops over tiles that a kernel's author wrote: programs that take one tile after the other, as many as the device has compute units.

    for tile in range(program_id, tiles, programs): ...          while tile < tiles: ...; tile += programs

Such a grid puts one CTA on each compute unit, whatever its resources would allow.
"""

from __future__ import annotations

from tri_core.dialects.tt import GetProgramIdOp
from tri_core.ir.regions import For, While, predecessors
from tri_core.ir.traits import is_rematerializable
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_core.passes.origins import splat_integer
from tri_core.passes.rewriting import producer

__all__ = ["is_in_loop_over_tiles"]

#: values after which a search is given up
_MOST = 256


def is_in_loop_over_tiles(op: ir.Operation) -> bool:
    """True if ``op`` is in a loop over tiles whose first tile depends on the program id."""
    around = op.parent
    while around is not None:
        if _goes_through_tiles(around.operation):
            return True
        around = around.operation.parent
    return False


def _goes_through_tiles(op: ir.Operation) -> bool:
    """A loop that begins at a program's index, goes on in steps other than 1, and ends where no program's index says."""
    if (loop := For.of(op)) is not None:
        return _is_of_program(loop.lower) and not _is_of_program(loop.upper) and splat_integer(loop.step) != 1
    waiting = While.of(op)
    return waiting is not None and any(map(_is_of_program, waiting.inits))


def _is_of_program(value: ir.Value) -> bool:
    """True if the scalar ``value`` is computed from a program id by arithmetic, through loops and branches."""
    ahead, seen = [value], {value}
    while ahead and len(seen) <= _MOST:
        here = ahead.pop()
        given, op = predecessors(here), producer(here)
        if given is None and op is not None:
            if isa(op, GetProgramIdOp):
                return True
            given = list(op.operands) if is_rematerializable(op) else []
        fresh = [each for each in given or () if each not in seen]
        seen.update(fresh)
        ahead += fresh
    return False
