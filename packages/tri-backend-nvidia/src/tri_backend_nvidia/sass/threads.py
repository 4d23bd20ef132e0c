"""Instructions of SASS that threads execute together: barriers, shuffles, votes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tri_backend_nvidia.sass.evaluator import Flags, Instruction, UnknownCode, Words, is_predicate
from tri_backend_nvidia.sass.lanes import Lanes

__all__ = ["THREADS"]

_WARP = 32
_LANES = np.arange(_WARP, dtype=np.uint64)


def _barrier(lanes: Lanes, code: Instruction, where: Flags | None) -> object:
    """``BAR.SYNC.DEFER_BLOCKING 0x0``: all threads of the CTA."""
    del where
    if (
        "SYNC" not in code.flags
        or code.guard
        or len(code.operands) != 1
        or not code.operands[0].startswith("0x")
    ):
        raise UnknownCode(code.text)
    lanes.cta.barriers.arrive(int(code.operands[0], 16), lanes.cta.num_threads)
    return lanes.cta.take_wait()


def _shuffle(lanes: Lanes, code: Instruction, where: Flags | None) -> None:
    """``SHFL.BFLY PT, R1, R2, 0x10, 0x1f``; a lane takes the value of one that is there."""
    valid, result, value, lane, clamp = code.operands
    given, threads = lanes.read(value), np.arange(lanes.count)
    own = threads % _WARP
    by, c = (lanes.read(lane) & np.uint64(31)).astype(np.int64), lanes.read(clamp).astype(np.int64)
    kept, segment = c & 31, c >> 8 & 31
    last, first = own & segment | kept & ~segment, own & segment
    sources = {"UP": own - by, "DOWN": own + by, "BFLY": own ^ by, "IDX": first | by & ~segment}
    (mode,) = code.flags & sources.keys()
    source = sources[mode]
    inside = source >= last if mode == "UP" else source <= last
    taken = threads - own + np.where(inside, source, own)
    there = lanes.cta.active if where is None else where
    if (there & ~there[taken]).any():
        raise UnknownCode(f"{code.text} of a lane that is not there")
    lanes.write(result, given[taken], where)
    lanes.write_flag(valid, inside, where)


def _vote(lanes: Lanes, code: Instruction, where: Flags | None) -> None:
    """``VOTE.ANY R0, PT, P0``: of the lanes of a warp that are there."""
    operands = list(code.operands)
    result = operands.pop(0) if not is_predicate(operands[0]) else ""
    target, source = operands
    there = (lanes.cta.active if where is None else where).reshape(-1, _WARP)
    said = lanes.flag(source).reshape(-1, _WARP)
    yes, some = (said | ~there).all(axis=1), (said & there).any(axis=1)
    found = {"ALL": yes, "ANY": some, "EQ": yes | ~some}
    (mode,) = code.flags & found.keys()
    lanes.write_flag(target, np.repeat(found[mode], _WARP), where)
    if result:
        lanes.write(result, np.repeat(_bits(said & there), _WARP), where)


def _bits(rows: Flags) -> Words:
    """Lanes as the bits of a word."""
    bits: Words = (rows.astype(np.uint64) << _LANES).sum(axis=1, dtype=np.uint64)
    return bits


#: by name; what they return is true where threads wait
THREADS: dict[str, Callable[[Lanes, Instruction, Flags | None], object]] = {
    "BAR": _barrier,
    "SHFL": _shuffle,
    "VOTE": _vote,
    "VOTEU": _vote,
}
