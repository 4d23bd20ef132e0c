"""The dialect object of ``ttg`` and its types; its attributes are the encodings."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_core.mlir import ext, ir

__all__ = ["TTG", "AsyncTokenType", "MemDescType", "SharedMemoryAttr"]


class TTG(ext.Dialect, name="ttg"):  # type: ignore[call-arg]  # the bindings are untyped
    """The TritonGPU dialect: Triton's tensors with a place for every element."""


class SharedMemoryAttr(TTG.Attribute, name="shared_memory"):
    """``#ttg.shared_memory``: the memory space that the threads of a block share."""


class AsyncTokenType(TTG.Type, name="async_token"):
    """``!ttg.async_token``: orders asynchronous copies and their waits."""


class MemDescType(TTG.Type, name="memdesc"):
    """``!ttg.memdesc<shape, element, encoding, space, mutable, alloc_shape>``: a tensor in memory.

    ``alloc_shape`` is the shape of the buffer that this is a part of; a view made by ``memdesc_subslice``
    has the encoding of the whole buffer and needs it to find its elements.
    """

    dims: Any
    element: Any
    placement: Any
    space: Any
    writable: Any
    allocation: Any

    @classmethod
    def of(
        cls,
        shape: Sequence[int],
        element_type: ir.Type,
        encoding: ir.Attribute,
        *,
        mutable: bool = False,
        memory_space: ir.Attribute | None = None,
        alloc_shape: Sequence[int] | None = None,
    ) -> "MemDescType":
        """The type of a tensor in shared memory (or in ``memory_space``)."""
        return cls.get(
            ir.DenseI64ArrayAttr.get(list(shape)),
            element_type,
            encoding,
            memory_space or SharedMemoryAttr.get(),
            ir.BoolAttr.get(mutable),
            ir.DenseI64ArrayAttr.get(list(alloc_shape or shape)),
        )

    @property
    def shape(self) -> list[int]:
        """Sizes of the dimensions."""
        return list(ir.DenseI64ArrayAttr(self.params[0]))

    @property
    def element_type(self) -> ir.Type:
        """The type of an element."""
        return ir.TypeAttr(self.params[1]).value

    @property
    def encoding(self) -> ir.Attribute:
        """The shared-memory encoding."""
        return self.params[2]

    @property
    def memory_space(self) -> ir.Attribute:
        """``#ttg.shared_memory``, or a space of a vendor's dialect."""
        return self.params[3]

    @property
    def mutable(self) -> bool:
        """True if the memory may be written after its allocation."""
        return ir.BoolAttr(self.params[4]).value

    @property
    def alloc_shape(self) -> list[int]:
        """The shape of the whole buffer."""
        return list(ir.DenseI64ArrayAttr(self.params[5]))
