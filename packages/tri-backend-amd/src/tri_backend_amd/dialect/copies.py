"""Copies from global memory straight to LDS: buffer loads with the bit ``lds``, and what waits for them.

The address in LDS is one for the whole wavefront (``m0``); lane i writes at i times the size of an access from there.  A lane out of bounds
writes zeros.  They are loads to the counter ``vmcnt``, which counts in order (LLVM's "User Guide for AMDGPU Backend", memory model; AMD's
guides of CDNA3 and CDNA4, section on memory buffer loads to LDS).
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from dataclasses import field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect.amdg import AMDG
from tri_backend_amd.dialect.buffers import resolved
from tri_core.errors import DeviceError
from tri_core.ir.effects import Effects
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["SCOPES", "BufferLoadLdsOp", "WaitLoadsOp"]

_In = ext.Operand[Any]
Array = npt.NDArray[np.generic]

#: scopes of aliasing of a copy's accesses: an attribute that this op and LLVM's have
SCOPES = "alias_scopes"

_GLOBAL, _SHARED = 1, 3
#: what the destination holds until somebody waits
_UNDEFINED = 0x7FC1A5FF
#: ``s_waitcnt`` of CDNA that waits for nothing; ``vmcnt`` has bits 0 to 3 and 14, 15
_ALL, _MOST = 0x0F70, 63


@dataclass
class _Copy:
    """Words on their way: one row of ``words`` for each thread that is ``active``."""

    addresses: Array
    words: Array
    active: Array


@dataclass
class _UnderWay:
    copies: list[_Copy] = field(default_factory=list)


_under_way: WeakKeyDictionary[SimulatedCTA, _UnderWay] = WeakKeyDictionary()


class BufferLoadLdsOp(MachineOp, dialect=AMDG, name="raw_buffer_load_lds"):
    """``width`` bytes a lane (4; 12 and 16 on gfx950) from ``offset`` plus ``uniform`` bytes of ``buffer`` to LDS at ``destination``.

    ``destination`` is the wavefront's; what is there is undefined until a wait.
    """

    buffer: _In
    destination: _In
    offset: _In
    uniform: _In
    width: ir.IntegerAttr
    cache: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """The op that becomes the intrinsic and may carry alias scopes."""
        operands = [
            self.buffer,
            self.destination,
            b.int_(self.width.value),
            self.offset,
            self.uniform,
            b.int_(0),
        ]
        attributes = {"aux": ir.IntegerAttr.get(b.i32, self.cache.value)}
        if SCOPES in self.operation.attributes:
            attributes[SCOPES] = self.operation.attributes[SCOPES]
        b.run("rocdl.raw.ptr.buffer.load.lds", operands, (), attributes)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Fetched now, there when it is waited for."""
        descriptor, destination, offset, uniform = operands
        lane = np.arange(cta.num_threads) % cta.threads_per_warp
        base = destination.astype(np.int64)
        if (base != base[np.arange(cta.num_threads) - lane])[cta.active].any():
            raise DeviceError("a load to LDS whose destination is not the same in all lanes of a wavefront")
        address, inside = resolved(cta, descriptor, offset, uniform)
        count = self.width.value // 4
        loaded = cta.memory(_GLOBAL).load(address, np.dtype(np.int32), inside, count)
        words = np.where(inside[:, None], loaded.reshape(cta.num_threads, count), 0).astype(np.int32)
        places = base + lane * self.width.value
        active = np.asarray(cta.active).copy()
        cta.memory(_SHARED).store(places, np.full_like(words, _UNDEFINED), active, alignment=4)
        _under_way.setdefault(cta, _UnderWay()).copies.append(_Copy(places, words, active))
        return []


class WaitLoadsOp(MachineOp, dialect=AMDG, name="wait_loads", traits=[Effects()]):
    """A wavefront waits until at most ``count`` of its loads are under way, copies to LDS among them."""

    count: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """``s_waitcnt vmcnt(count)``."""
        count = min(self.count.value, _MOST)
        word = _ALL | (count & 0xF) | (count >> 4) << 14
        b.intrinsic("llvm.amdgcn.s.waitcnt", [b.int_(word)], [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """All copies but a thread's last ones arrive."""
        state = _under_way.setdefault(cta, _UnderWay())
        behind = np.zeros(cta.num_threads, np.int64)
        landing = []
        for copy in reversed(state.copies):
            lands = copy.active & np.asarray(cta.active) & (behind >= self.count.value)
            behind += copy.active
            copy.active = copy.active & ~lands
            landing.append((copy, lands))
        for copy, lands in reversed(landing):
            cta.memory(_SHARED).store(copy.addresses, copy.words, lands, alignment=4)
        state.copies = [copy for copy in state.copies if copy.active.any()]
        return []
