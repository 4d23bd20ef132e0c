"""The writers of each byte of a launch in the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from tri.interpreter.allocations import Part
from tri.interpreter.arrays import Array, Data
from tri.interpreter.location import here
from tri.interpreter.slices import Program, place_of
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Writers"]

_NOBODY = -1


@dataclass
class Writers:
    """Observer of the program that stored each byte of an array last, by name.

    ``added``: the array and byte to which several programs first added floats, and where; ``shared``: where they stored other floats than were there.
    """

    programs: list[Program] = field(default_factory=list)
    added: tuple[str, int, str] | None = None
    shared: tuple[str, int, str] | None = None
    _numbers: dict[Program, int] = field(default_factory=dict)
    _last: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)

    def computed(
        self,
        program: Program,
        op: str,
        operands: Sequence[Array],
        results: Sequence[Array],
        attributes: Mapping[str, Any],
        body: Sequence[str],
    ) -> None:
        """Nothing: values are not kept."""

    def stored(self, program: Program, part: Part, values: Data, *, adds: bool, commutes: bool) -> None:
        """Record ``program`` for each byte, and whether others were there before."""
        target = part.target
        if program not in self._numbers:
            self._numbers[program] = len(self.programs)
            self.programs.append(program)
        number, last = (
            self._numbers[program],
            self._last.setdefault(target.name, np.full(target.nbytes, _NOBODY)),
        )
        offsets = np.ravel(part.offsets)
        others = (last[offsets] != _NOBODY) & (last[offsets] != number)
        if not adds:
            others &= _bits(values) != _bits(target.read(offsets, values.dtype))
        if values.dtype.kind not in "iub" and not commutes and others.any():
            found = target.name, int(offsets[others][0]), place_of(here())
            self.added = self.added or (found if adds else None)
            self.shared = self.shared or (None if adds else found)
        last[(offsets[:, None] + np.arange(values.dtype.itemsize)).ravel()] = number

    def written(self, name: str, elements: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """A mask of the ``elements`` of array ``name``: True where a byte of one was stored."""
        last = self._last.get(name)
        if last is None:
            return np.zeros(elements.size, np.bool_)
        return np.asarray((last.reshape(elements.size, elements.itemsize) != _NOBODY).any(1))

    def of(self, name: str, offset: int) -> Program:
        """The program that stored byte ``offset`` of array ``name`` last."""
        return self.programs[self._last[name][offset]]


def _bits(values: Data) -> npt.NDArray[Any]:
    return np.ascontiguousarray(np.ravel(values)).view(f"u{values.dtype.itemsize}")
