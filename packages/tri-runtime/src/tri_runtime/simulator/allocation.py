"""Records of simulated memory: what is allocated, and who accesses it."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.tracking import Tracker

__all__ = ["Access", "Allocation"]

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Access:
    """One access by the threads of a CTA: ``nbytes`` at each of ``addresses``, by ``threads`` (their numbers)."""

    memory: str
    kind: str
    site: int
    addresses: Indices
    threads: Indices
    nbytes: int


@dataclass(frozen=True)
class Allocation:
    """``data`` at address ``start``; ``name`` is how errors call it; ``tracker`` knows who did what with its bytes."""

    name: str
    start: int
    data: Bytes
    writable: bool = True
    tracker: Tracker | None = None
    _views: dict[Any, Array] = field(default_factory=dict, compare=False)

    def view(self, dtype: np.dtype[np.generic]) -> Array:
        """The whole elements of ``dtype`` from the start."""
        found = self._views.get(dtype)
        if found is None:
            whole = self.data.size // dtype.itemsize * dtype.itemsize
            found = self._views[dtype] = self.data[:whole].view(dtype)
        return found
