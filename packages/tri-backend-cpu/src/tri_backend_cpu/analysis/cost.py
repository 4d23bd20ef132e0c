"""What it costs to compute an element of a value again, in simple vector instructions, roughly."""

from __future__ import annotations

from tri_backend_cpu.graph import Op, Value
from tri_backend_cpu.vector_math import FUNCTIONS
from tri_core.ir.traits import DataMovement, maps_elements

__all__ = ["DEAR", "CostModel"]

#: from here on a value is rather kept than computed twice
DEAR = 12

_COSTS: dict[str, int] = {
    **dict.fromkeys(FUNCTIONS, 16),
    **dict.fromkeys(("arith.divf", "tt.precise_divf", "arith.remf"), 6),
    **dict.fromkeys(("math.sqrt", "tt.precise_sqrt"), 6),
    **dict.fromkeys(("arith.divsi", "arith.divui", "arith.remsi", "arith.remui"), 8),
    **dict.fromkeys(("arith.extf", "arith.truncf"), 2),
    "tt.fp_to_fp": 8,
    "tt.gather": DEAR,
    "tt.map_elementwise": DEAR,
    "tt.load": 4,
}
#: ops without operands, or parts of a result: nothing is computed for them
_FREE = {"arith.constant", "tt.make_range", "tt.split"}


def _is_free(name: str) -> bool:
    """Whether ops called ``name`` cost nothing where they stand: they are folded into addresses and constants."""
    return name in _FREE or DataMovement.declared_by(name)


def _is_opaque(op: Op) -> bool:
    """Whether results of ``op`` are no function of indices and scalars."""
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
        if value.op is None or _is_free(value.op.name):
            return 0
        return _COSTS.get(value.op.name, 1)

    def compute(self, value: Value) -> int:
        """Instructions to compute ``value`` from what was loaded, or defined by steps."""
        found = self._cost.get(value)
        if found is None:
            cost = self.own(value)
            if value.op is not None and not _is_opaque(value.op):
                loaded = (v for v in value.op.operands if v.op is not None and v.is_tensor)
                cost += sum(self.compute(v) for v in loaded if v.op and v.op.name != "tt.load")
            found = self._cost[value] = min(cost, 1000)
        return found

    def is_index(self, value: Value) -> bool:
        """Whether ``value`` is an integer or pointer computed from indices and scalars alone."""
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
