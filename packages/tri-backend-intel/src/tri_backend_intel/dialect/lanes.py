"""Per-lane computation on a sub-group's elements of pieces: an op on the level of sub-groups and below."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

import enum
from collections.abc import Sequence
from typing import Any

from tri_backend_intel.dialect.ttig import TTIG
from tri_core.mlir import ext

__all__ = ["Dealt", "LanesOp"]


class Dealt(enum.IntEnum):
    """Distribution of a value over the lanes."""

    #: a number, or a vector, that is a lane's own already
    OWN = 0
    #: vector<16xT>: a lane has one element
    ROW = 1
    #: vector<RxLANESxT>: a lane has a column
    PIECE = 2
    #: vector<RxT>: all lanes have all of it
    COLUMN = 3


class LanesOp(TTIG.Operation, name="lanes"):
    """Op of lanes by the rule that ``does`` names in ``xegpu.lane_rules``.

    Before the level of lanes operands and results are vectors of the sub-group, dealt as ``dealt_in`` and ``dealt_out``
    (:class:`Dealt`) say; after it, what a lane has of them, in one dimension.  Other attributes are the rule's.
    """

    outputs: Sequence[ext.Result[Any]]
    inputs: Sequence[ext.Operand[Any]]
    does: Any
    dealt_in: Any
    dealt_out: Any
