"""``tl.extra.toy``: values that kernels for toys have beside the language's own."""

from __future__ import annotations

from typing import Any

import tri
import tri.language as tl

__all__ = ["Window"]


@tri.aggregate
class Window:
    """The first ``size`` elements from ``pointer`` on: nothing beyond is touched."""

    pointer: tl.tensor
    size: tl.tensor

    def __init__(self, pointer: Any, size: Any, _semantic: Any = None) -> None:
        self.pointer = pointer
        self.size = tl.to_tensor(size, _semantic=_semantic)

    @tri.jit
    def load(self, offsets, other):
        """The elements at ``offsets``; ``other`` beyond the window."""
        return tl.load(self.pointer + offsets, mask=offsets < self.size, other=other)

    @tri.jit
    def store(self, offsets, value):
        """Write ``value`` at ``offsets``, but not beyond the window."""
        tl.store(self.pointer + offsets, value, mask=offsets < self.size)

    @tri.jit
    def behind(self, count):
        """The window without its first ``count`` elements."""
        return Window(self.pointer + count, self.size - count)
