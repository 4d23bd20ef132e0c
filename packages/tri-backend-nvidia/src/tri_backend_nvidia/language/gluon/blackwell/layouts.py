"""Layouts of tensor memory by Gluon's names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tri.experimental.gluon.layouts import Layout
from tri_backend_nvidia.tcgen05.encoding import BLOCK_M, WIDEST, TensorMemory
from tri_backend_nvidia.tcgen05.scales import TensorMemoryScales
from tri_backend_nvidia.tcgen05.tmem_operands import TensorMemoryOperand
from tri_core.api import Unsupported
from tri_gpu_dialect.encodings import Encoding

__all__ = ["TensorMemoryLayout", "TensorMemoryScalesLayout"]

#: bits of a column
_COLUMN_BITS = 32


@dataclass(frozen=True)
class TensorMemoryLayout(Layout):
    """Blocks of rows and columns, one instruction's each; neighbouring elements are ``col_stride`` columns of 32 bits apart, or share one.

    Elements of 32 bits are accumulators; narrower ones, packed (``col_stride`` 1), the left operand of a dot.
    """

    block: Any
    col_stride: Any
    cga_layout: Any = ()
    two_ctas: Any = False
    fp4_padded: Any = False

    def encoding(self) -> Encoding:
        """``#ttng.tensor_memory_encoding``, that of elements of 32 bits."""
        return self.encoding_of(_COLUMN_BITS, (BLOCK_M, WIDEST))

    def encoding_of(self, bits: int, shape: tuple[int, ...]) -> Encoding:
        """The encoding for elements of ``bits`` in a buffer whose last two dimensions are ``shape``; Unsupported where there is none."""
        if len(self.block) != 2 or any(n < 1 or n & (n - 1) for n in self.block):
            raise ValueError(f"block {self.block}; two powers of two are expected")
        if self.col_stride < 1 or self.col_stride & (self.col_stride - 1):
            raise ValueError(f"col_stride {self.col_stride}; a power of two is expected")
        if self.two_ctas or self.cga_layout:
            raise Unsupported(
                "tensor memory of several CTAs",
                remedy="leave cga_layout and two_ctas out: dots are of one CTA",
            )
        if self.fp4_padded:
            raise Unsupported("tensor memory with fp4_padded", remedy="keep the operand in shared memory")
        if self.block[0] != BLOCK_M:
            raise Unsupported(f"blocks of {self.block[0]} rows", remedy=f"use blocks of {BLOCK_M} rows")
        if self.col_stride != 1:
            raise Unsupported(
                f"col_stride {self.col_stride}", remedy="use 1, and accumulators of 32-bit elements"
            )
        if bits != _COLUMN_BITS:
            return TensorMemoryOperand(bits)
        return TensorMemory(self.block[0], min(self.block[1], shape[1]))

    @property
    def rank(self) -> int:
        """Rows and columns."""
        return 2


@dataclass(frozen=True)
class TensorMemoryScalesLayout(Layout):
    """Scales of a block-scaled dot: (rows, groups along k), a byte each."""

    cga_layout: Any = ()

    def encoding(self) -> TensorMemoryScales:
        """``#ttng.tensor_memory_scales_encoding``."""
        if self.cga_layout:
            raise Unsupported("tensor memory of several CTAs", remedy="leave cga_layout out")
        return TensorMemoryScales()

    def encoding_of(self, bits: int, shape: tuple[int, ...]) -> Encoding:
        """The same; ValueError for elements of more than a byte, or less than a copy takes."""
        if bits != 8:
            raise ValueError(f"scales of {bits} bits; 8 are expected")
        self.encoding().linear_layout(shape)
        return self.encoding()

    @property
    def rank(self) -> int:
        """Rows and groups."""
        return 2
