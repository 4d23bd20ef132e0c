"""One machine op, simulated."""

from __future__ import annotations

from tri_core.mlir import ir, session


def simulated(cta, name, operands, results, attributes, arguments):
    """Run the simulation of machine op ``name`` with operands of the given types and values."""
    with session():
        module = ir.Module.create()
        block = (
            ir.Operation.create("builtin.module", regions=1)
            .regions[0]
            .blocks.append(
                *[ir.Type.parse(t) for t in operands], arg_locs=[ir.Location.unknown()] * len(operands)
            )
        )
        with ir.InsertionPoint(block):
            op = ir.Operation.create(
                f"nvm.{name}",
                operands=list(block.arguments),
                results=[ir.Type.parse(t) for t in results],
                attributes={k: ir.StringAttr.get(v) for k, v in attributes.items()},
            )
            del module
            return op.opview.simulate(cta, arguments)
