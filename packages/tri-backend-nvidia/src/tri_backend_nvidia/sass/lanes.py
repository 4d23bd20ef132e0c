"""Registers, constants and memory of a CTA's threads, as SASS sees them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tri_backend_nvidia.sass.evaluator import Flags, Thread, UnknownCode, Words
from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator import CTA

__all__ = ["SHARED", "Lanes", "Layout", "lanes_of"]

SHARED = "shared"
_WARP = 32
_GLOBAL, _SHARED = 1, 3
#: bits of an address in shared memory; above them is the CTA of the cluster
_WINDOW = np.uint64(0xFFFFFF)

#: by the least compute capability (times ten): where parameters begin in the first constant bank, and the bytes of shared memory that the
#: system keeps; source: machine code of ptxas 12.9 and 13.5
_BANKS = {80: (0x160, 0), 90: (0x210, 0x400), 100: (0x380, 0x400)}
#: descriptors of memory and the stack's end, whose values change nothing that is judged: stacks are not known
_NEUTRAL = {80: (0x28, 0x118, 0x11C), 90: (0x28, 0x208, 0x20C), 100: (0x358, 0x35C, 0x37C)}


@dataclass(frozen=True)
class Layout:
    """``kinds`` of the parameters (types of PTX), for ``capability``."""

    kinds: Sequence[str]
    capability: int

    def fields(self) -> list[Any]:
        """The fields, for JSON."""
        return [list(self.kinds), self.capability]

    @property
    def row(self) -> int:
        """The row of the tables by capability."""
        return max(each for each in _BANKS if each <= self.capability)

    @property
    def reserved(self) -> int:
        """Bytes at the start of shared memory that no kernel has."""
        return _BANKS[self.row][1]

    def encoded(self, arguments: Sequence[int | float]) -> list[Any]:
        """The bytes of each argument."""
        return [_bytes(kind, each) for kind, each in zip(self.kinds, arguments, strict=True)]

    def constants(self, arguments: Sequence[Any], cta: CTA) -> dict[int, int]:
        """The first bank, by offset in bytes."""
        at, bank = (
            _BANKS[self.row][0],
            dict.fromkeys([first + i for first in _NEUTRAL[self.row] for i in range(4)], 0),
        )
        shape = (cta.num_threads, 1, 1, *cta.num_programs)
        for place, value in enumerate(shape if self.row < 100 else ()):
            bank.update((4 * place + i, byte) for i, byte in enumerate(int(value).to_bytes(4, "little")))
        for data in arguments:
            at = -(-at // len(data)) * len(data)
            bank.update((at + i, int(byte)) for i, byte in enumerate(data))
            at += len(data)
        return bank


def _bytes(kind: str, value: float) -> Any:
    """The bytes of a parameter; Unsupported for a float of 16 bits, whose kind does not say which."""
    bits = int(re.sub(r"\D", "", kind))
    if kind.startswith("f"):
        return np.array([value]).astype(f"f{bits // 8}").view(np.uint8)
    if np.asarray(value).dtype.kind == "f":
        raise Unsupported(f"machine code with a parameter of type {kind} that is {value} is not evaluated")
    return np.frombuffer((int(value) & (1 << bits) - 1).to_bytes(bits // 8, "little"), np.uint8)


def lanes_of(cta: CTA, layout: Layout) -> Lanes:
    """The lanes of ``cta``."""
    found = _lanes.get(cta)
    if found is None:
        arguments = [cta.values[i + 1] for i in range(len(layout.kinds))]
        found = Lanes(
            cta.num_threads, layout.constants(arguments, cta), {}, cta=cta, reserved=layout.reserved
        )
        _lanes[cta] = found
    return found


_lanes: WeakKeyDictionary[CTA, Lanes] = WeakKeyDictionary()


class Lanes(Thread):
    """All threads of ``cta``; their memory is the simulator's."""

    def __init__(
        self, count: int, constants: dict[int, int], memory: dict[int, Words], *, cta: CTA, reserved: int
    ) -> None:
        super().__init__(count, constants, memory)
        self._cta, self._reserved = cta, reserved
        threads = np.arange(count, dtype=np.uint64)
        self._special: dict[str, Words] = {"SR_TID.X": threads, "SR_LANEID": threads % np.uint64(_WARP)}
        self._special |= dict.fromkeys(("SR_TID.Y", "SR_TID.Z", "SR_CgaCtaId", "SRZ"), self.words(0))
        self._special |= {
            f"SR_CTAID.{axis}": self.words(number) for axis, number in zip("XYZ", cta.program_id, strict=True)
        }
        if len(cta.cluster.members) > 1:
            raise UnknownCode("a cluster of CTAs")

    @property
    def cta(self) -> CTA:
        """The CTA that runs."""
        return self._cta

    def active(self, guard: str) -> Flags | None:
        """The threads that do an instruction; None for all of the CTA."""
        cta = self._cta
        if guard:
            return cta.active & self.flag(guard)
        return None if cta.whole else cta.active

    def special(self, name: str) -> Words:
        """A special register; UnknownCode for one that is not known."""
        if name not in self._special:
            raise UnknownCode(f"special register {name}")
        return self._special[name]

    def _constant(self, at: int) -> int:
        if at not in self.constants:
            raise UnknownCode(f"constant at {at:#x}")
        return self.constants[at]

    def load(self, place: str, nbytes: int, where: Flags | None, *, shared: bool) -> list[Words]:
        """Words of each thread's place."""
        kind = np.dtype(np.uint32 if nbytes >= 4 else f"u{nbytes}")
        count = max(nbytes // 4, 1)
        found = self._memory(shared).load(
            self._places(place, shared), kind, self._which(where), count, nbytes
        )
        return [column.astype(np.uint64) for column in found.reshape(self.count, count).T]

    def store(
        self, place: str, words: Sequence[Words], nbytes: int, where: Flags | None, *, shared: bool
    ) -> None:
        """Write to each thread's place."""
        kind = np.dtype(np.uint32 if nbytes >= 4 else f"u{nbytes}")
        values = np.stack([each.astype(kind) for each in words], axis=1)
        self._memory(shared).store(self._places(place, shared), values, self._which(where), nbytes)

    def _memory(self, shared: bool) -> Any:
        return self._cta.memory(_SHARED if shared else _GLOBAL)

    def _which(self, where: Flags | None) -> Flags:
        return self._cta.active if where is None else where

    def _places(self, place: str, shared: bool) -> Any:
        found = self.addresses(place)
        if not shared:
            return found.view(np.int64)
        base = self._cta.symbols[SHARED] - self._reserved
        return (found & _WINDOW).view(np.int64) + np.int64(base)
