"""Integers whose place in a tensor says their value: an offset, and a stride for each dimension."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.lazy_dataclasses import dataclass
from tri_core.linalg import indices
from tri_core.linalg.indices import Index

__all__ = ["Strided"]


@dataclass(frozen=True)
class Strided:
    """A tensor of ``shape`` (``()``: a scalar) with ``offset + sum(strides[d] * i[d])`` at place ``i``.

    Index arithmetic of 32 and of 64 bits is taken not to wrap, as in the CPU backend.
    """

    offset: Index
    strides: tuple[Index, ...] = ()
    shape: tuple[int, ...] = ()

    @property
    def is_uniform(self) -> bool:
        """True if all elements are known to be equal."""
        return all(stride == 0 for stride in self.strides)

    @property
    def is_zero(self) -> bool:
        """True if all elements are known to be 0."""
        return self.offset == 0 and self.is_uniform

    def plus(self, other: Strided) -> Strided:
        """The sum; ``other`` has the same shape."""
        strides = tuple(map(indices.add, self.strides, other.strides))
        return Strided(indices.add(self.offset, other.offset), strides, self.shape)

    def minus(self, other: Strided) -> Strided:
        """The difference; ``other`` has the same shape."""
        strides = tuple(map(indices.subtract, self.strides, other.strides))
        return Strided(indices.subtract(self.offset, other.offset), strides, self.shape)

    def times(self, other: Strided) -> Strided | None:
        """The product with ``other`` of the same shape; None unless one is uniform."""
        if not other.is_uniform:
            return other.times(self) if self.is_uniform else None
        strides = tuple(indices.multiply(stride, other.offset) for stride in self.strides)
        return Strided(indices.multiply(self.offset, other.offset), strides, self.shape)

    def moved(self, offset: Index) -> Strided:
        """The same strides from another ``offset``."""
        return Strided(offset, self.strides, self.shape)

    def splat(self, shape: Sequence[int]) -> Strided:
        """A scalar in every place of ``shape``."""
        return Strided(self.offset, (0,) * len(shape), tuple(shape))

    def expanded(self, axis: int) -> Strided:
        """With a new dimension of size 1."""
        strides = (*self.strides[:axis], 0, *self.strides[axis:])
        return Strided(self.offset, strides, (*self.shape[:axis], 1, *self.shape[axis:]))

    def broadcast(self, shape: Sequence[int]) -> Strided:
        """With dimensions of size 1 stretched to ``shape``."""
        strides = (
            0 if old != new else stride
            for stride, old, new in zip(self.strides, self.shape, shape, strict=True)
        )
        return Strided(self.offset, tuple(strides), tuple(shape))

    def transposed(self, order: Sequence[int]) -> Strided:
        """With dimension ``order[d]`` as dimension ``d``."""
        return Strided(
            self.offset, tuple(self.strides[d] for d in order), tuple(self.shape[d] for d in order)
        )
