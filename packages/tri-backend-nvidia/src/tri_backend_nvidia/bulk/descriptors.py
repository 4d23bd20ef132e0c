"""Descriptors as tensor maps: pointers at 128 bytes that the copy engine reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tri_backend_nvidia.bulk.boxes import Boxes, boxes
from tri_core.dialects.tt import TensorDescType
from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import SharedEncoding, decode
from tri_gpu_dialect.layouts import layout_for

__all__ = ["MapPointer", "descriptor_boxes"]


@dataclass(frozen=True)
class MapPointer:
    """A descriptor: ``pointer`` at its tensor map."""

    pointer: ir.Value

    def parts(self) -> list[ir.Value]:
        """The pointer."""
        return [self.pointer]

    def rebuilt(self, parts: list[ir.Value]) -> MapPointer:
        """Another pointer."""
        return replace(self, pointer=parts[0])


def descriptor_boxes(type_: TensorDescType) -> Boxes:
    """How blocks of a descriptor of ``type_`` lie in shared memory, as its block's encoding says.

    Unsupported where the copy engine cannot bring them so.
    """
    block = type_.block_type
    encoding = None if block.encoding is None else decode(block.encoding)
    if not isinstance(encoding, SharedEncoding):
        raise Unsupported(f"{type_} does not say how its blocks lie in shared memory")
    found = boxes(layout_for(encoding, tuple(block.shape)), block.element_type.width // 8)
    if found is None or encoding.padding:
        raise Unsupported(
            f"blocks of {type_} cannot be copied to or from shared memory in bulk",
            remedy="use a row-major encoding, swizzled by the width of its rows",
        )
    return found
