"""Buffers that pipelined loads are copied to, and their readers."""

from __future__ import annotations

import math

from tri_core.dialects.tt import TransOp
from tri_core.ir.traits import source_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.analysis.pipelined_loads import is_dot_buffer
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import number_of_module
from tri_gpu_dialect.encodings import Blocked, DotOperand, SharedEncoding, SwizzledShared, decode
from tri_gpu_dialect.layouts import BLOCK, Banks, LinearLayout
from tri_gpu_dialect.layouts.shared import pad_offset
from tri_gpu_dialect.plans import views
from tri_gpu_dialect.plans.operand_memory import is_read_in_rows
from tri_gpu_dialect.policies.operands import InRows, OperandLayout, Written
from tri_gpu_dialect.transforms.memory.stage_matrix_operands import is_matrix_operand
from tri_gpu_dialect.types import tensor_info

__all__ = ["CopyBuffer", "chosen_encoding", "readers", "row_spread", "stays_in_block", "transposed"]

_IN_ROWS = InRows()


@dataclass(frozen=True)
class CopyBuffer:
    """Destination of a load: one stage of it, and a flag for dots that read it in place.

    ``spread``: how threads share the copies of a row of elements, which a load may have in many copies; None: as they load it.
    """

    encoding: SharedEncoding
    bytes: int
    is_read_in_place: bool
    spread: Blocked | None = None

    @classmethod
    def of(cls, load: ir.Operation, banks: Banks, operands: OperandLayout = _IN_ROWS) -> CopyBuffer:
        """The stage for ``load`` in memory of ``banks``, such that its readers find their elements in few accesses.

        ``operands``: the choice where its readers read by element.
        """
        result = load.results[0]
        info = tensor_info(result.type)
        assert info is not None
        if info.rank == 1:
            spread = row_spread(load)
            return cls(
                SwizzledShared(1, 1, 1, (0,)),
                info.shape[0] * info.bitwidth // 8,
                False,
                None if info.encoding == spread else spread,
            )
        own = layouts.of(result.type)
        chosen = chosen_encoding(load)
        by_element = [op for op in readers(load) if not is_read_in_rows(encoding_of(op.results[0]))]
        wanted = tuple(_seen_from(load, reader) for reader in by_element) or (own,)
        tensor = Written(info.shape, info.bitwidth, own, banks)
        encoding = chosen or operands.in_stages(
            tensor, wanted, [encoding_of(op.results[0]) for op in by_element]
        )
        size = pad_offset(math.prod(encoding.share(info.shape)), encoding.padding) * info.bitwidth // 8
        return cls(encoding, size, is_read_in_place=chosen is not None)


def row_spread(load: ir.Operation) -> Blocked:
    """The layout for the copies of a row of elements: neighbouring lanes copy neighbours, each of them once."""
    warps, lanes = (number_of_module(load, f"ttg.{name}") for name in ("num-warps", "threads-per-warp"))
    return Blocked((1,), (lanes,), (warps,), (0,))


def chosen_encoding(load: ir.Operation) -> SharedEncoding | None:
    """The encoding of a stage that dots read ``load`` from, if some do."""
    return next((_buffer_encoding(op) for op in _near(load) if is_dot_buffer(op)), None)


def _buffer_encoding(alloc: ir.Operation) -> SharedEncoding:
    """The encoding of the buffer that ``alloc`` fills with a load or its transpose, for the load."""
    encoding = decode(alloc.results[0].type.encoding)
    assert isinstance(encoding, SharedEncoding)
    trans = transposed(alloc)
    return encoding if trans is None else encoding.permuted(_inverse(trans))


def _near(load: ir.Operation) -> list[ir.Operation]:
    """The users of ``load`` (or of its transpose), in its block."""
    found = []
    for use in load.results[0].uses:
        user = use.owner.operation
        inner = [u.owner.operation for u in user.results[0].uses] if isa(user, TransOp) else [user]
        found += [op for op in inner if user.block == op.block == load.block]
    return found


def readers(load: ir.Operation) -> list[ir.Operation]:
    """Readers of a stage of ``load``, each with its own way of reading.

    Conversions (perhaps of its transpose) to operands of matrix instructions or of multiply-additions, and any of a row whose elements have one
    thread each; buffers for dots, if they are like the stage.
    """
    chosen, any_layout = chosen_encoding(load), _is_spread_row(load)
    return [
        op
        for op in _near(load)
        if (
            isa(op, ConvertLayoutOp)
            and (any_layout or is_matrix_operand(op.results[0]) or _is_multiplied(op.results[0]))
        )
        or (is_dot_buffer(op) and _buffer_encoding(op) == chosen)
    ]


def _is_spread_row(load: ir.Operation) -> bool:
    """True if the result of ``load`` is a row in the layout of :func:`row_spread`."""
    info = tensor_info(load.results[0].type)
    return info is not None and info.rank == 1 and info.encoding == row_spread(load)


def _is_multiplied(value: ir.Value) -> bool:
    """True if ``value`` has the layout of an operand of a dot by multiply-adds."""
    encoding = encoding_of(value)
    return isinstance(encoding, DotOperand) and isinstance(encoding.parent, Blocked)


def stays_in_block(load: ir.Operation) -> bool:
    """True if each CTA of a cluster loads the elements that it reads."""
    own = layouts.of(load.results[0].type)
    begins = own.bases.get(BLOCK, ())
    if not begins:
        return True
    chosen = chosen_encoding(load)
    if chosen is not None and chosen.part(tuple(load.results[0].type.shape))[1] != begins:
        return False
    return all(
        is_dot_buffer(reader) or _seen_from(load, reader).bases.get(BLOCK, ()) == begins
        for reader in readers(load)
    )


def transposed(reader: ir.Operation) -> ir.Operation | None:
    """The ``tt.trans`` between a load and a reader of :func:`readers`."""
    owner = source_of(reader).owner.operation
    return owner if isa(owner, TransOp) else None


def _seen_from(load: ir.Operation, reader: ir.Operation) -> LinearLayout:
    """The layout that ``reader`` wants, in the coordinates of ``load``."""
    layout = layouts.of(reader.results[0].type)
    trans = transposed(reader)
    if trans is None:
        return layout
    return views.permuted(layout, _inverse(trans))


def _inverse(trans: ir.Operation) -> tuple[int, ...]:
    """The order of the transpose that undoes ``trans``."""
    order = list(ir.DenseI32ArrayAttr(trans.attributes["order"]))
    return tuple(order.index(d) for d in range(len(order)))
