"""From a kernel of TTIR to a function of upstream dialects."""

from __future__ import annotations

from tri_core import mlir
from tri_core.dialects import tt
from tri_core.errors import InternalError
from tri_core.ir.views import cast, isa
from tri_core.linalg import control, elementwise, memory, reductions, shapes
from tri_core.linalg.state import RULES, Lowering, Pointer, is_pointer
from tri_core.linalg.strides import Strided
from tri_core.mlir import func, ir

__all__ = ["PROGRAM_ARGUMENTS", "to_linalg"]

#: what functions take behind the kernel's parameters, i32: counts of programs, and numbers of the program
PROGRAM_ARGUMENTS = ("programs_x", "programs_y", "programs_z", "program_x", "program_y", "program_z")
_AXES = 3
#: modules whose rules this one needs
_RULES = (control, elementwise, memory, reductions, shapes)
#: upstream passes that take away what addresses left behind
_CLEANUP = ("canonicalize", "cse", "canonicalize")


def to_linalg(module: ir.Module) -> ir.Module:
    """A module with the kernel of ``module``, TTIR as the stage ``ttir`` leaves it, as a ``func.func`` of upstream dialects.

    A pointer becomes an unranked memref, whose value has one dimension; behind the kernel's parameters come those of
    :data:`PROGRAM_ARGUMENTS`.  Unsupported at the op's line for what these dialects have no form for.
    """
    kernel = _kernel(module)
    with module.operation.location:
        made = ir.Module.create()
    with kernel.location, ir.InsertionPoint(made.body):
        _function(kernel)
    mlir.run_passes(made, _CLEANUP)
    mlir.verify(made)
    return made


def _kernel(module: ir.Module) -> ir.Operation:
    functions = [view.operation for view in module.body.operations if isa(view.operation, tt.FuncOp)]
    if len(functions) != 1:
        raise InternalError(
            f"a kernel module has one function behind the stage ttir; this one has {len(functions)}"
        )
    return functions[0]


def _function(kernel: ir.Operation) -> None:
    block = kernel.regions[0].blocks[0]
    i32 = ir.IntegerType.get_signless(32)
    types = [*(_parameter(value) for value in block.arguments), *[i32] * len(PROGRAM_ARGUMENTS)]
    name = ir.StringAttr(cast(kernel, tt.FuncOp).sym_name).value
    made = func.FuncOp(name, ir.FunctionType.get(types, []))
    body = made.regions[0].blocks.append(*types)
    count = len(block.arguments)
    lowering = Lowering(programs=list(body.arguments)[count:])
    for value, given in zip(block.arguments, list(body.arguments)[:count], strict=True):
        if is_pointer(value):
            lowering.pointers[value] = Pointer(given, Strided(0))
        else:
            lowering.values[value] = given
    with ir.InsertionPoint(body):
        end = lowering.block(block)
        with end.location:
            func.ReturnOp([])


def _parameter(value: ir.Value) -> ir.Type:
    if not is_pointer(value):
        return value.type
    return ir.UnrankedMemRefType.get(value.type.pointee_type, None)


@RULES.on(tt.GetNumProgramsOp)
def _count(lowering: Lowering, op: ir.Operation) -> None:
    axis = ir.IntegerAttr(cast(op, tt.GetNumProgramsOp).axis).value
    lowering.values[op.results[0]] = lowering.programs[axis]


@RULES.on(tt.GetProgramIdOp)
def _number(lowering: Lowering, op: ir.Operation) -> None:
    axis = ir.IntegerAttr(cast(op, tt.GetProgramIdOp).axis).value
    lowering.values[op.results[0]] = lowering.programs[_AXES + axis]
