"""Records of the layouts that NVIDIA's matrix instructions have: results in registers, operands in shared memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tri.experimental.gluon.layouts import DistributedLayout, SharedLayout, stands_for
from tri.language import constexpr_function
from tri_backend_nvidia.mma import NvidiaMma, NvmmaShared
from tri_backend_nvidia.mma.memory import FourBitShared
from tri_core.api import Unsupported

__all__ = ["NVMMADistributedLayout", "NVMMASharedLayout"]


@dataclass(frozen=True)
class NVMMADistributedLayout(DistributedLayout):
    """Results of ``mma.sync`` (version [2, 0]) or ``wgmma`` ([3, 0]), ``instr_shape`` ending in m and n, or being m, n, k."""

    version: Any
    warps_per_cta: Any
    instr_shape: Any
    cga_layout: Any = ()

    def encoding(self) -> NvidiaMma:
        """``#ttng.nvidia_mma``."""
        if len(self.version) != 2:
            raise ValueError(f"version {self.version}; a major and a minor number are expected")
        major, minor = self.version
        return NvidiaMma(major, minor, self.warps_per_cta, self.instr_shape, self.cga_layout)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.warps_per_cta)


@stands_for(NvidiaMma)
def _result(e: NvidiaMma) -> NVMMADistributedLayout:
    if e.column_bits:
        raise Unsupported(f"Gluon has no layout for {e}", remedy="compute the dot itself, not its transpose")
    return NVMMADistributedLayout(
        (e.version_major, e.version_minor), e.warps_per_cta, e.instr_shape, e.cga_layout
    )


@dataclass(frozen=True)
class NVMMASharedLayout(SharedLayout):
    """Panels of rows of ``swizzle_byte_width`` bytes, 0 for no swizzle; rows run along the last dimension unless ``transposed``."""

    swizzle_byte_width: Any
    element_bitwidth: Any
    rank: Any = 2
    transposed: Any = False
    fp4_padded: Any = False
    cga_layout: Any = ()

    def encoding(self) -> NvmmaShared | FourBitShared:
        """``#ttng.nvmma_shared``; with ``fp4_padded`` that of packed e2m1 beside 8-bit operands."""
        if self.fp4_padded:
            if self.element_bitwidth != 8:
                raise ValueError(
                    f"fp4_padded of {self.element_bitwidth} bits; bytes of two numbers are expected"
                )
            if self.cga_layout or self.rank != 2:
                raise Unsupported(
                    "NVMMASharedLayout with fp4_padded of several CTAs or ranks other than 2",
                    remedy="leave cga_layout out, and use rank 2",
                )
            return FourBitShared(self.swizzle_byte_width, bool(self.transposed))
        return NvmmaShared(
            self.swizzle_byte_width, bool(self.transposed), self.element_bitwidth, self.cga_layout
        )

    @staticmethod
    @constexpr_function
    def get_default_for(
        block_shape: Any, dtype: Any, transposed: Any = False, fp4_padded: Any = False, cga_layout: Any = None
    ) -> NVMMASharedLayout:
        """The widest swizzle whose rows a block of ``block_shape`` fills; 0 for fewer than eight rows."""
        blocks = tuple(map(tuple, cga_layout or ()))
        shape = tuple(int(n) // (1 << sum(1 for b in blocks if b[d])) for d, n in enumerate(block_shape))
        bits = dtype.primitive_bitwidth
        rows = shape[-1] if transposed else math.prod(shape[:-1])
        if fp4_padded:  # packed bytes, half of what a row of a panel has
            padded = FourBitShared.widest(shape, transposed=bool(transposed))
            widest = 0 if padded is None else padded.swizzling_byte_width
        else:
            widest = NvmmaShared.widest(shape, bits, transposed=bool(transposed)).swizzling_byte_width
        return NVMMASharedLayout(widest if rows >= 8 else 0, bits, len(shape), transposed, fp4_padded, blocks)


@stands_for(FourBitShared)
def _padded(e: FourBitShared) -> NVMMASharedLayout:
    return NVMMASharedLayout(e.swizzling_byte_width, 8, 2, e.transposed, fp4_padded=True)


@stands_for(NvmmaShared)
def _operand(e: NvmmaShared) -> NVMMASharedLayout:
    rank = len(e.cga_layout[0]) if e.cga_layout else 2
    return NVMMASharedLayout(
        e.swizzling_byte_width, e.element_bit_width, rank, e.transposed, cga_layout=e.cga_layout
    )
