"""``gluon.nvidia.hopper``: tensor descriptors with a layout, made on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tri.experimental.gluon.descriptors import layout_text
from tri.language.types import parse_type
from tri.tools.tensor_descriptor import TensorDescriptor as PlainDescriptor
from tri_backend_nvidia.language.gluon.layouts import NVMMASharedLayout
from tri_core.errors import DescriptorError, Unsupported

__all__ = ["NVMMASharedLayout", "TensorDescriptor"]

#: names that are not here yet, and what to do instead
__later__ = {"TensorDescriptorIm2Col": "describe tiles with TensorDescriptor"}


class TensorDescriptor(PlainDescriptor):
    """The tensor at ``base`` as :class:`tri.tools.tensor_descriptor.TensorDescriptor`, whose blocks lie in ``layout``.

    DescriptorError for a layout of another rank or element width, or one whose swizzle is wider than rows of a block.
    """

    def __init__(
        self,
        base: Any,
        shape: Sequence[int],
        strides: Sequence[int],
        block_shape: Sequence[int],
        layout: NVMMASharedLayout,
        padding: str = "zero",
        round_f32_to_tf32: bool = False,
    ) -> None:
        self.layout = layout
        if round_f32_to_tf32:
            raise Unsupported("round_f32_to_tf32 of a Gluon descriptor", remedy="round in the kernel")
        super().__init__(base, shape, strides, block_shape, padding)
        bits = parse_type(self._read()[1]).primitive_bitwidth
        if not isinstance(layout, NVMMASharedLayout) or layout.rank != len(block_shape):
            raise DescriptorError(
                f"the layout is {layout!r}; an NVMMASharedLayout of rank {len(block_shape)} is expected",
                remedy="use NVMMASharedLayout.get_default_for(block_shape, dtype)",
            )
        row = block_shape[-1] * bits // 8
        if layout.element_bitwidth != bits or row < layout.swizzle_byte_width:
            raise DescriptorError(
                f"{layout} does not fit blocks of {list(block_shape)} elements of {bits} bits",
                remedy="use NVMMASharedLayout.get_default_for(block_shape, dtype)",
            )

    @property
    def layout_text(self) -> str:
        """The layout as the IR writes it."""
        return layout_text(self.layout)

    @property
    def mode(self) -> str:
        """The way of copying: tiled."""
        return "tiled"

    @staticmethod
    def from_tensor(  # type: ignore[override]  # as Triton has it: a layout behind the block
        tensor: Any,
        block_shape: Sequence[int],
        layout: NVMMASharedLayout,
        padding: str = "zero",
        round_f32_to_tf32: bool = False,
    ) -> TensorDescriptor:
        """The descriptor of a whole array with its own shape and strides."""
        plain = PlainDescriptor.from_tensor(tensor, block_shape, padding)
        return TensorDescriptor(
            tensor, plain.shape, plain.strides, block_shape, layout, padding, round_f32_to_tf32
        )
