"""The generic lowering from TTGIR to LLVM IR.

A vendor brings three things: :class:`Primitives`, the hardware's words; :class:`MachineOp` classes, for
instructions that LLVM IR cannot say; and rules of its own in the :class:`LoweringTable`, for what it does
better than the generic rules.  :func:`llir_stage` makes the pipeline stage of them.
"""

from __future__ import annotations

from tri_gpu_dialect.lowering.builder import Builder
from tri_gpu_dialect.lowering.constant_offsets import add_rules as add_constant_offsets
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers, SharedTensor, Token
from tri_gpu_dialect.lowering.convert import (
    LoweredModule,
    PrimitivesFactory,
    TableFactory,
    llir_stage,
    lower,
    simulated_pipeline,
)
from tri_gpu_dialect.lowering.machine import EmitMachineOps, MachineOp, SimulatedCTA, SimulatedMemory
from tri_gpu_dialect.lowering.primitives import (
    Access,
    AtomicAccess,
    LaneMove,
    LaneReduction,
    LaneSwap,
    Primitives,
)
from tri_gpu_dialect.lowering.printing import fill_format, format_for_c, print_in_simulator
from tri_gpu_dialect.lowering.rules import generic_rule, generic_table
from tri_gpu_dialect.lowering.rules.swap_loops import element_in_word
from tri_gpu_dialect.lowering.table import Condition, LoweringTable, Rule, RuleEntry

__all__ = [
    "Access",
    "AtomicAccess",
    "Builder",
    "Condition",
    "EmitMachineOps",
    "LaneMove",
    "LaneReduction",
    "LaneSwap",
    "Lowered",
    "LoweredModule",
    "Lowering",
    "LoweringTable",
    "MachineOp",
    "Primitives",
    "PrimitivesFactory",
    "Registers",
    "Rule",
    "RuleEntry",
    "SharedTensor",
    "SimulatedCTA",
    "SimulatedMemory",
    "TableFactory",
    "Token",
    "add_constant_offsets",
    "element_in_word",
    "fill_format",
    "format_for_c",
    "generic_rule",
    "generic_table",
    "llir_stage",
    "lower",
    "print_in_simulator",
    "simulated_pipeline",
]
