"""Cost of recomputing an element of a value, in simple vector instructions, roughly."""

from __future__ import annotations

from tri_backend_cpu.vector_math import FUNCTIONS
from tri_core.dialects import tt
from tri_core.ir.traits import DataMovement, maps_elements
from tri_core.ir.views import isa
from tri_core.mlir import arith
from tri_core.ttir import Op, Value

__all__ = ["DEAR", "CostModel"]

#: from here on a value is rather kept than computed twice
DEAR = 12

#: instructions by op; 1 of others
_COSTS: dict[str, int] = {
    **dict.fromkeys(FUNCTIONS, 16),
    "arith.divf": 6,
    "tt.precise_divf": 6,
    "arith.remf": 6,
    "math.sqrt": 6,
    "tt.precise_sqrt": 6,
    "arith.divsi": 8,
    "arith.divui": 8,
    "arith.remsi": 8,
    "arith.remui": 8,
    "arith.extf": 2,
    "arith.truncf": 2,
    "tt.fp_to_fp": 8,
    "tt.gather": DEAR,
    "tt.map_elementwise": DEAR,
    "tt.load": 4,
}


def _is_free(op: Op) -> bool:
    """True if ``op`` is free: no operands, a part of a result, or folded into an address."""
    return isa(op, arith.ConstantOp, tt.MakeRangeOp, tt.SplitOp) or DataMovement.declared_by(op.name)


def _is_opaque(op: Op) -> bool:
    """True if results of ``op`` are not functions of indices and scalars."""
    name = op.name
    known = maps_elements(name) or DataMovement.declared_by(name) or not op.operands
    return bool(op.blocks) or not known


class CostModel:
    """Costs of the values of one kernel."""

    def __init__(self) -> None:
        self._cost: dict[Value, int] = {}
        self._index: dict[Value, bool] = {}

    def own(self, value: Value) -> int:
        """Instructions of the op that defines ``value``."""
        if value.op is None or _is_free(value.op):
            return 0
        return _COSTS.get(value.op.name, 1)

    def compute(self, value: Value) -> int:
        """Instructions to compute ``value`` from what was loaded, or defined by steps."""
        found = self._cost.get(value)
        if found is None:
            cost = self.own(value)
            if value.op is not None and not _is_opaque(value.op):
                loaded = (v for v in value.op.operands if v.op is not None and v.is_tensor)
                cost += sum(self.compute(v) for v in loaded if v.op and not isa(v.op, tt.LoadOp))
            found = self._cost[value] = min(cost, 1000)
        return found

    def is_index(self, value: Value) -> bool:
        """True if ``value`` is an integer or pointer computed from indices and scalars alone."""
        found = self._index.get(value)
        if found is None:
            found = self._index[value] = self._computes_index(value)
        return found

    def _computes_index(self, value: Value) -> bool:
        if not value.is_tensor:
            return True
        op = value.op
        if value.dtype.is_float or op is None or _is_opaque(op):
            return False
        return all(self.is_index(v) for v in op.operands)
