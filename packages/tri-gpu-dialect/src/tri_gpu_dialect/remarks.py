"""Remarks: deviations of a compile from what was requested, kept on the module, shown by tools, and logged."""

from __future__ import annotations

import logging

from tri_core.ir.markers import SCHEDULE
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.dialect.markers import REMARKS

__all__ = ["add_remark", "remarks_of", "schedule_of"]

logger = logging.getLogger(__name__)

#: what the stage before says of itself
_EARLIER = ("tt.descriptors_by_pointer", "tt.dot_scaled_decomposed")


def add_remark(pass_name: str, op: ir.Operation, text: str) -> None:
    """Keep ``text``, with the place of ``op`` before it, on the module that ``op`` is in; once.

    For what is done otherwise than it was asked for: that is kept with the kernel.  :func:`tri_core.remarks.declined` tells those who
    ask, and costs nothing else.
    """
    declined(pass_name, op, "{}", text)
    place = source_location(op.location)
    said = f"{place.file}:{place.line}: {text}" if place is not None else text
    top = op
    while top.parent is not None:
        top = top.parent.operation
    known = _texts(top, REMARKS)
    if said not in known:
        logger.info("%s", said)
        top.attributes[REMARKS] = ir.ArrayAttr.get([ir.StringAttr.get(t) for t in (*known, said)])


def remarks_of(module: ir.Module) -> list[str]:
    """All remarks on ``module``, in the order in which they were made."""
    return [text for name in (*_EARLIER, REMARKS) for text in _texts(module.operation, name)]


def schedule_of(module: ir.Module) -> str | None:
    """Chosen schedule of the kernel and the reason, if one was chosen."""
    attributes = module.operation.attributes
    return ir.StringAttr(attributes[SCHEDULE]).value if SCHEDULE in attributes else None


def _texts(top: ir.Operation, name: str) -> list[str]:
    if name not in top.attributes:
        return []
    return [ir.StringAttr(text).value for text in ir.ArrayAttr(top.attributes[name])]
