"""The blocks that operands of DPAS are loaded in: as large as the hardware has them.

Source: SPV_INTEL_2d_block_io; the shapes are those that the driver's compiler takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.dialect.blocks import Form
from tri_backend_intel.dialect.encoding import Dpas
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import DotOperand

__all__ = ["ROWS", "ROW_BITS", "BlockShape", "block_shape", "extent_of"]

#: of a block: bits of a row, rows; a transposed one has rows of 8 times 32 bits
ROW_BITS, ROWS, _TRANSPOSED = 512, 32, 8


@dataclass(frozen=True)
class BlockShape:
    """A block: ``count`` times ``rows`` rows of ``width`` elements of ``bits``, each of which holds ``per`` of the tensor."""

    form: Form
    bits: int
    per: int
    width: int
    rows: int
    count: int
    lanes: int

    @property
    def columns(self) -> int:
        """Of the tensor."""
        return self.width * self.per * self.count

    @property
    def results(self) -> int:
        """Elements of the tensor that a lane has."""
        return self.rows * self.width // self.lanes * self.count * self.per

    def result(self, row: int, column: int) -> int:
        """The number of the result that an element of the block is, for the lane that has it."""
        if self.form is Form.TRANSPOSED:
            word, inner = divmod(column, self.per)
            return word * self.rows // self.lanes * self.per + inner
        block, inner = divmod(column, self.width * self.per)
        first = (block * self.rows + row) * self.width // self.lanes
        return first * self.per + inner % self.per


def block_shape(encoding: DotOperand, bits: int, extent: tuple[int, int], *, transposed: bool) -> BlockShape:
    """The largest block of an operand, of which a warp has registers ``extent`` down and across."""
    parent = encoding.parent
    assert isinstance(parent, Dpas)
    lanes, (down, across) = parent.execution_size, extent
    rows = min(_power(down), ROWS)
    if transposed:  # lanes are rows in memory, of which B has columns and A has k; with fewer k than lanes several of its rows
        width = max(min(_TRANSPOSED, _power(down * bits // 32)), 1)
        tall = lanes if encoding.op_idx else min(parent.depth, lanes)
        return BlockShape(Form.TRANSPOSED, 32, 32 // bits, width, tall, 1, lanes)
    most = max(ROW_BITS // bits // lanes, 1)
    if encoding.op_idx:
        form = Form.VNNI if bits < 32 else Form.PLAIN
        return BlockShape(form, bits, 1, lanes, rows, min(_power(-(-across // lanes)), most), lanes)
    width = min(parent.depth // parent.left_width, lanes)
    per = parent.left_width
    count = max(min(_power(across // (width * per)), ROW_BITS // (bits * per * width)), 1)
    return BlockShape(Form.PLAIN, bits * per, per, width, rows, count, lanes)


def _power(number: int) -> int:
    """The largest power of two that is at most ``number``, and 1."""
    return 1 << max(number.bit_length() - 1, 0)


def extent_of(encoding: DotOperand, size: Sequence[int], places: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Extent of a warp's elements from its first one, in lanes and registers."""
    parent = encoding.parent
    assert isinstance(parent, Dpas)
    fragment = parent.fragment(encoding.op_idx, 0)
    reach = [max(axis) for axis in zip(*places, strict=True)]
    for basis in fragment.bases["lane"]:
        reach = [have | own for have, own in zip(reach, basis, strict=True)]
    down, across = (min(r + 1, s) for r, s in zip(reach, size, strict=True))
    return down, across
