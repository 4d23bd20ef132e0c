"""Layout of DPAS operands in shared local memory without block loads: as their readers' registers and lanes."""

from __future__ import annotations

from collections.abc import Iterable

from tri_backend_intel.dialect.encoding import Dpas
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import DotOperand, Encoding, SharedEncoding
from tri_gpu_dialect.encodings.shared import SharedLinear
from tri_gpu_dialect.layouts import BLOCK, LANE, OFFSET, REGISTER, LinearLayout, gf2
from tri_gpu_dialect.plans.shared_cycles import cycles
from tri_gpu_dialect.policies.operands import InRows, Written

__all__ = ["AsRead", "as_read", "in_fragments", "rows_read"]


@dataclass(frozen=True)
class AsRead(InRows):
    """Layout by the reader's registers and lanes of operands that no loop keeps in stages: a narrow read
    takes as many registers as a wide one.

    The reader has the widest vectors of its first registers, one lane's behind the other's; swizzled where that costs the
    writer fewer cycles.
    """

    def once(self, tensor: Written, reader: LinearLayout, operand: Encoding | None) -> SharedEncoding:
        """Rows where the work-groups of a cluster split the tensor."""
        writer, bits = tensor.writer, tensor.bits
        if any(map(any, writer.bases.get(BLOCK, ()))):
            return super().once(tensor, reader, operand)
        rows = rows_read(operand, bits)
        if rows and _rows_of(writer, reader):
            return SharedLinear.of(in_fragments(reader, rows))
        made = [as_read(writer, reader, bits, swizzled=swizzled) for swizzled in (False, True)]
        return SharedLinear.of(min(made, key=lambda memory: cycles(writer, memory, bits, tensor.banks)))


def rows_read(operand: Encoding | None, bits: int) -> int:
    """The number of rows of a fragment that a sub-group reads at once, an element of ``bits`` for each lane; 0 where it reads none so."""
    if not isinstance(operand, DotOperand) or not isinstance(operand.parent, Dpas) or operand.op_idx:
        return 0
    dpas = operand.parent
    return (
        dpas.repeat_count
        if bits == 16 and dpas.depth == dpas.execution_size == 16 and dpas.repeat_count > 1
        else 0
    )


def in_fragments(reader: LinearLayout, rows: int) -> LinearLayout:
    """``offset -> coordinates``: a row over the lanes of ``reader``, ``rows`` of them after each other, then what is left."""
    lanes, registers = (_columns(reader, (name,)) for name in (LANE, REGISTER))
    near = [*lanes, *registers[: rows.bit_length() - 1]]
    columns = gf2.complement([], 0, [*near, *(c for c in _columns(reader, reader.in_dims) if c not in near)])
    return LinearLayout(((OFFSET, len(columns)),), reader.outs, tuple(columns))


def as_read(writer: LinearLayout, reader: LinearLayout, bits: int, *, swizzled: bool) -> LinearLayout:
    """``offset -> coordinates`` in the order of ``reader``: registers up to 128 bits, lanes, what is left.

    ``swizzled``: lanes of ``writer`` that are far from each other are in different places of the reader's lanes.
    """
    registers, lanes, others = (_columns(reader, names) for names in ((REGISTER,), (LANE,), reader.in_dims))
    vector = registers[: max(128 // bits, 1).bit_length() - 1]
    near = [*vector, *(column for column in lanes if column not in vector)]
    own = [column for column in _columns(writer, (LANE,)) if column not in near]
    far = list(
        dict.fromkeys([*own, *(c for c in others if c not in near), *_columns(writer, writer.in_dims)])
    )
    columns = gf2.complement([], 0, [*near, *far])
    if swizzled:
        places = dict(zip(own, near[len(vector) :], strict=False))
        columns = [column ^ places.get(column, 0) for column in columns]
    return LinearLayout(((OFFSET, len(columns)),), reader.outs, tuple(columns))


def _rows_of(writer: LinearLayout, reader: LinearLayout) -> bool:
    """True where a thread of ``writer`` has neighbours in a row and a warp more of it; results of dots, by columns, have not.

    Gradients of queries and keys are 327 and 539 instructions a step; with all of A in fragments 631 were counted for keys.
    """
    lanes = _columns(reader, (LANE,))
    return _columns(writer, (REGISTER,))[:1] == lanes[:1] and not set(lanes).isdisjoint(
        _columns(writer, (LANE,))
    )


def _columns(layout: LinearLayout, dims: Iterable[str]) -> list[int]:
    """The coordinates of the inputs' bits, each once, those that change nothing left out."""
    found = (c for dim in dims if dim != BLOCK and layout.has_in(dim) for c in layout.packed(dim) if c)
    return list(dict.fromkeys(found))
