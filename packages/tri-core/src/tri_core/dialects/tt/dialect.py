"""The dialect object of ``tt`` and its types."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from typing import Any

from tri_core.mlir import ext, ir

__all__ = ["TT", "PointerType", "TensorDescType"]


class TT(ext.Dialect, name="tt"):
    """The Triton dialect."""


class PointerType(TT.Type, name="ptr"):
    """``!tt.ptr<pointee, "global">``; the address space is ``"global"`` or ``"constant"``."""

    pointee: Any
    address_space: Any

    @classmethod
    def of(cls, pointee: ir.Type, address_space: str = "global") -> "PointerType":
        """The pointer type to ``pointee`` in ``address_space``."""
        return cls.get(pointee, ir.StringAttr.get(address_space))

    @property
    def pointee_type(self) -> ir.Type:
        """The type pointed to."""
        return ir.TypeAttr(self.params[0]).value


class TensorDescType(TT.Type, name="tensordesc"):
    """``!tt.tensordesc<tensor<...>>``: a descriptor of a tensor in memory, read and written in blocks."""

    block: Any

    @property
    def block_type(self) -> ir.RankedTensorType:
        """The ranked tensor type of one block."""
        return ir.RankedTensorType(ir.TypeAttr(self.params[0]).value)
