"""``#ttng.nvmma_shared`` (``#ttg.nvmma_shared`` in the text): tiles as ``wgmma`` and the copy engine read them.

A tile lies in *panels*, as wide as the swizzle along its contiguous dimension, one panel after the other.  In a panel,
one row follows the other, and the pieces of 16 bytes of a row are permuted by xor with the row's number: modulo 8
where rows have 128 bytes, every second row's modulo 4 (64 bytes), every fourth's modulo 2 (32 bytes).  So
eight rows are an *atom* in which 16 bytes of each row are in different banks.  PTX ISA, "Matrix Descriptor Format".
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from dataclasses import replace
from typing import Self

from tri_backend_nvidia.mma.encoding import TTNG
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import SharedEncoding, encoding
from tri_gpu_dialect.layouts import OFFSET, LinearLayout, dim_names
from tri_gpu_dialect.layouts.cluster import ClusterBases, permuted, put_above, ranked, share

__all__ = ["ATOM_ROWS", "SWIZZLES", "FourBitShared", "NvmmaShared", "SwizzledRows"]

Shape = tuple[int, ...]

#: rows after which a swizzle repeats
ATOM_ROWS = 8
#: bytes of a row of a panel, the widest first
SWIZZLES = (128, 64, 32)

_PIECE = 16
#: elements that one copy may have along a dimension: the width of a panel that is not swizzled
_BOX = 256


def _swaps(order: Shape) -> bool:
    """True if the last two dimensions change places, and no others."""
    rank = len(order)
    return rank > 1 and tuple(order) == (*range(rank - 2), rank - 1, rank - 2)


@encoding(TTNG, "nvmma_shared", keys={"cga_layout": "CGALayout"})
@dataclass(frozen=True)
class NvmmaShared(SharedEncoding):
    """Panels of rows of ``swizzling_byte_width`` bytes, 0 for no swizzle (then rows of up to 256 elements).

    Rows run along the last dimension, or along the one before it where ``transposed``.  Dimensions before these two
    are stages, one after the other.  ``cga_layout`` is as in :class:`tri_gpu_dialect.encodings.Blocked`: each CTA of a
    cluster has its part of the tensor in its own memory, in panels of its own.
    """

    swizzling_byte_width: int
    transposed: bool
    element_bit_width: int
    cga_layout: ClusterBases = ()

    def __post_init__(self) -> None:
        if self.swizzling_byte_width not in (*SWIZZLES, 0):
            raise ValueError(f"swizzlingByteWidth {self.swizzling_byte_width}; 0, 32, 64 or 128 is expected")
        if self.element_bit_width not in (8, 16, 32, 64):
            raise ValueError(f"elementBitWidth {self.element_bit_width}; 8, 16, 32 or 64 is expected")

    @classmethod
    def widest(cls, shape: Shape, bits: int, *, transposed: bool) -> Self:
        """The widest swizzle whose rows a tile of ``shape`` with elements of ``bits`` fills; 0 where none is."""
        contiguous = shape[-2] if transposed else shape[-1]
        fitting = [w for w in SWIZZLES if contiguous * bits >= w * 8] if len(shape) > 1 else []
        return cls(fitting[0] if fitting else 0, transposed, bits)

    def permuted(self, order: Shape) -> "NvmmaShared":
        """Rows run along the same elements; Unsupported unless the last two dimensions alone change places."""
        if not _swaps(order):
            return self if tuple(order) == tuple(range(len(order))) else super().permuted(order)  # type: ignore[return-value]  # raises
        return replace(self, transposed=not self.transposed, cga_layout=permuted(self.cga_layout, order))

    @property
    def blocks(self) -> int:
        """By the bases."""
        return 1 << len(self.cga_layout)

    def share(self, shape: Shape) -> Shape:
        """By the bases."""
        return share(shape, ranked(self.cga_layout, len(shape)))

    @property
    def alignment(self) -> int:
        """The hardware swizzles by address: a buffer starts with an atom."""
        return max(ATOM_ROWS * self.swizzling_byte_width, 128)

    @property
    def panel(self) -> int:
        """Elements of a row of a panel, at most."""
        return self.swizzling_byte_width * 8 // self.element_bit_width or _BOX

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """Columns of a panel, its rows, the panels, the stages; ValueError for rows narrower than the swizzle."""
        blocks = ranked(self.cga_layout, len(shape))
        own = self._of_one_block(share(shape, blocks))
        return put_above(own, shape, blocks) if blocks else own

    def _of_one_block(self, shape: Shape) -> LinearLayout:
        rank = len(shape)
        names = dim_names(rank)
        column = rank - 1 if rank < 2 or not self.transposed else rank - 2
        row = None if rank < 2 else 2 * rank - 3 - column
        if self.swizzling_byte_width and (row is None or shape[column] < self.panel):
            raise ValueError(f"{list(shape)} does not fill rows of {self.swizzling_byte_width} bytes")
        width = min(self.panel, shape[column])
        bases = [{column: 1 << i} for i in range(width.bit_length() - 1)]
        if row is not None:
            bases += [{row: 1 << i, column: self._moved(1 << i)} for i in range(shape[row].bit_length() - 1)]
        bases += [{column: width << i} for i in range((shape[column] // width).bit_length() - 1)]
        for d in reversed(range(rank - 2)):
            bases += [{d: 1 << i} for i in range(shape[d].bit_length() - 1)]
        columns = [tuple(basis.get(d, 0) for d in range(rank)) for basis in bases]
        return LinearLayout.from_bases({OFFSET: columns}, dict(zip(names, shape, strict=True)))

    def _moved(self, row: int) -> int:
        """By how many elements, to be xor-ed, the pieces of row ``row`` (a power of two) are moved."""
        if not self.swizzling_byte_width:
            return 0
        phases = self.swizzling_byte_width // _PIECE
        phase = row // (ATOM_ROWS // phases) % phases
        return phase * _PIECE * 8 // self.element_bit_width


#: packed bytes of e2m1 that a piece of 16 bytes has, with as many behind them that nobody reads
_HALF_PIECE = _PIECE // 2


@encoding(TTNG, "fp4_padded_shared")
@dataclass(frozen=True)
class FourBitShared(SharedEncoding):
    """Packed e2m1 as ``kind::mxf8f6f4`` reads it beside 8-bit elements: 8 bytes of each piece of 16, in swizzled panels.

    PTX ISA 9.0, "Packing formats of elements in shared memory".  Rows run along the last dimension, or the one before it
    where ``transposed``; they are those of :class:`NvmmaShared` with elements of 8 bits, twice as many.
    """

    swizzling_byte_width: int
    transposed: bool

    def __post_init__(self) -> None:
        if self.swizzling_byte_width not in SWIZZLES:
            raise ValueError(f"swizzlingByteWidth {self.swizzling_byte_width}; 32, 64 or 128 is expected")

    @classmethod
    def widest(cls, shape: Shape, *, transposed: bool) -> Self | None:
        """The widest swizzle whose rows a tile of ``shape``, in packed bytes, fills; None where none is."""
        contiguous = 2 * (shape[-2] if transposed else shape[-1])
        fitting = [w for w in SWIZZLES if contiguous >= w]
        return cls(fitting[0], transposed) if fitting else None

    def permuted(self, order: Shape) -> "FourBitShared":
        """Rows run along the same elements; Unsupported unless the last two dimensions alone change places."""
        if not _swaps(order):
            return self if tuple(order) == tuple(range(len(order))) else super().permuted(order)  # type: ignore[return-value]  # raises
        return replace(self, transposed=not self.transposed)

    @property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """8 bytes behind every 8."""
        return ((_HALF_PIECE, _HALF_PIECE),)

    @property
    def alignment(self) -> int:
        """A buffer starts with an atom."""
        return ATOM_ROWS * self.swizzling_byte_width

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """As of elements of 8 bits, without the bit of offsets that padding is."""
        column = len(shape) - (2 if self.transposed else 1)
        wide = tuple(2 * size if d == column else size for d, size in enumerate(shape))
        full = NvmmaShared(self.swizzling_byte_width, self.transposed, 8).linear_layout(wide)
        bit = _HALF_PIECE.bit_length() - 1
        bases = [
            tuple(_halved(v) if d == column else v for d, v in enumerate(basis))
            for i, basis in enumerate(full.bases[OFFSET])
            if i != bit
        ]
        return LinearLayout.from_bases({OFFSET: bases}, dict(zip(dim_names(len(shape)), shape, strict=True)))


def _halved(place: int) -> int:
    """A place in a padded row as one in the packed row."""
    return place & _HALF_PIECE - 1 | place // _PIECE * _HALF_PIECE


@dataclass(frozen=True)
class SwizzledRows:
    """Memory layout of operands with elements of ``bits`` for matrix instructions: rows along k, ``across``
    also along m or n.

    What :class:`tri_gpu_dialect.policies.async_dots.AsyncInstruction` calls ``memory``.
    """

    bits: int
    across: bool

    def __call__(self, index: int, shape: Shape, contiguous: int) -> NvmmaShared | None:
        """For operand ``index``; None: rows of that source cannot be read."""
        inner = 1 - index
        if contiguous != inner and not self.across:
            return None
        dims = [inner] if contiguous == inner else [1 - inner, inner]
        wanted = (NvmmaShared.widest(shape, self.bits, transposed=dim == 0) for dim in dims)
        return next((e for e in wanted if e.swizzling_byte_width), None)
