"""Machine ops that would end the process are refused where they are declared."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from types import SimpleNamespace
from typing import Any

import pytest

from tri_core.errors import PluginError, Unsupported
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering.machine import MachineOp, machine_ops


class Made(ext.Dialect, name="made_up_machine"):
    """A dialect as somebody else may have it."""


@pytest.mark.parametrize("field", ["name", "operands", "results", "attributes", "location"])
def test_a_field_that_hides_an_attribute_of_every_op_is_refused(field: str) -> None:
    annotations = {"value": ext.Operand[Any], field: ir.StringAttr}
    with pytest.raises(PluginError, match=f"BadOp has a field '{field}', which every op has already"):
        type(MachineOp)("BadOp", (MachineOp,), {"__annotations__": annotations}, dialect=Made, name="bad")
    assert "made_up_machine.bad" not in machine_ops()


def test_other_fields_are_taken() -> None:
    class GoodOp(MachineOp, dialect=Made, name="good"):
        value: ext.Operand[Any]
        symbol: ir.StringAttr
        result: ext.Result[Any]

    assert machine_ops()["made_up_machine.good"] is GoodOp


@pytest.mark.parametrize("computes", [False, True])
def test_an_op_that_computes_with_floats_has_no_exact_meaning_unless_it_says_so(computes: bool) -> None:
    op: Any = SimpleNamespace(
        computes_floats=computes, OPERATION_NAME="made_up.double", simulate=lambda cta, operands: operands
    )
    if not computes:
        assert MachineOp.simulate_exactly(op, op, [3]) == [3]
        return
    with pytest.raises(Unsupported, match=r"no meaning for machine op made_up\.double"):
        MachineOp.simulate_exactly(op, op, [3])
