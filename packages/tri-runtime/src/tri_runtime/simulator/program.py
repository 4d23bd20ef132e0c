"""A kernel made ready to run: every op decoded once, to a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.errors import LaunchError, Unsupported
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir, llvm
from tri_runtime.simulator.cta import CTA, Step
from tri_runtime.simulator.exact import EXACT_PURE, EXACT_SPECIAL, as_literal
from tri_runtime.simulator.numbering import External, Numbering
from tri_runtime.simulator.ops import PURE
from tri_runtime.simulator.scene import Site
from tri_runtime.simulator.steps import SPECIAL
from tri_runtime.simulator.subword import WORD_ATTRIBUTE
from tri_runtime.simulator.values import shape_of, to_bf16

__all__ = ["External", "Program", "Step", "find_kernel", "symbols_of"]

Array = npt.NDArray[Any]


def find_kernel(module: ir.Module, name: str) -> ir.Operation:
    """The function ``name`` of ``module``; LaunchError when there is none."""
    for op in module.body.operations:
        if (
            isa(op.operation, llvm.LLVMFuncOp)
            and ir.StringAttr(op.operation.attributes["sym_name"]).value == name
        ):
            return op.operation
    raise LaunchError(f"the module has no function {name!r}")


def symbols_of(module: ir.Module) -> tuple[str, ...]:
    """The names of the globals of ``module``."""
    ops = [op.operation for op in module.body.operations]
    return tuple(ir.StringAttr(op.attributes["sym_name"]).value for op in ops if isa(op, llvm.GlobalOp))


@dataclass
class Program(Numbering):
    """A numbered function whose blocks are lists of steps; ``symbols``: the globals of its module.

    ``exact``: floats are integers modulo a power of two (:mod:`tri_core.ring`).
    """

    symbols: tuple[str, ...] = ()
    exact: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        entry = self.blocks[0].arguments
        self.parameters = [self.slots[a] for a in entry]
        self.types = [a.type for a in entry]
        self.steps = [[self._decode(op) for op in block.operations] for block in self.blocks]
        self.collectives = [
            [i for i, op in enumerate(block.operations) if getattr(op.operation.opview, "collective", False)]
            for block in self.blocks
        ]

    def given(self, arguments: Sequence[int | float], num_threads: int) -> list[Array]:
        """``arguments`` as the values of parameters, for each thread."""
        made = [_argument(t, a) for t, a in zip(self.types, arguments, strict=True)]
        if self.exact:
            made = [as_literal(scalar, t) for t, scalar in zip(self.types, made, strict=True)]
        return [np.broadcast_to(scalar, (num_threads,)) for scalar in made]

    def _decode(self, op: ir.OpView) -> Step:
        self.sites.append(Site(op.name, op.location))
        inputs = [self.slots[o] for o in op.operands]
        outputs = [self.slots[r] for r in op.results]
        block = self.order[op.operation.block]
        try:
            pure = (EXACT_PURE if self.exact else PURE).get(op.name)
            if pure is not None:
                self.flow.computes(block, inputs, outputs)
                return _pure(pure(op), inputs, outputs[0], _is_local(op))
            if not op.operation.successors:
                self.flow.acts(block, inputs, outputs)
            special = (EXACT_SPECIAL if self.exact else SPECIAL).get(op.name)
            if special is not None:
                return special(self, op, inputs, outputs)
            view = op.operation.opview
            if hasattr(view, "simulate"):
                simulate = view.simulate_exactly if self.exact else view.simulate
                return self.observed(_machine(simulate, inputs, outputs))
        except Unsupported as error:
            error.location = error.location or source_location(op.location)
            raise
        raise Unsupported(f"the simulator cannot run {op.name}", location=source_location(op.location))


def _argument(type_: ir.Type, value: float) -> Array:
    shape = shape_of(type_)
    with np.errstate(over="ignore"):  # beyond the type a float is infinite
        return to_bf16(np.array(value)) if shape.bf16 else np.array(value).astype(shape.dtype)


def _is_local(op: ir.OpView) -> bool:
    """True if the result of ``op`` has no use outside of its block: threads that are elsewhere never see it."""
    block = op.operation.block
    users = [use.owner.operation for use in op.results[0].uses]
    return all(user.block == block and WORD_ATTRIBUTE not in user.attributes for user in users)


def _pure(function: Callable[..., Any], inputs: list[int], output: int, local: bool) -> Step:
    match inputs:
        case [a]:
            return _pure_1(function, a, output, local)
        case [a, b]:
            return _pure_2(function, a, b, output, local)
        case _:
            return _pure_n(function, inputs, output, local)


def _pure_1(function: Callable[..., Any], a: int, output: int, local: bool) -> Step:
    def step(cta: CTA) -> None:
        values = cta.values
        made = function(values[a])
        if cta.whole or (local and not cta.is_apart):
            values[output] = made
        else:
            cta.write(output, made)

    return step


def _pure_2(function: Callable[..., Any], a: int, b: int, output: int, local: bool) -> Step:
    def step(cta: CTA) -> None:
        values = cta.values
        made = function(values[a], values[b])
        if cta.whole or (local and not cta.is_apart):
            values[output] = made
        else:
            cta.write(output, made)

    return step


def _pure_n(function: Callable[..., Any], inputs: list[int], output: int, local: bool) -> Step:
    def step(cta: CTA) -> None:
        values = cta.values
        made = function(*[values[i] for i in inputs])
        if cta.whole or (local and not cta.is_apart):
            values[output] = made
        else:
            cta.write(output, made)

    return step


def _machine(simulate: Callable[..., Any], inputs: list[int], outputs: list[int]) -> Step:
    def step(cta: CTA) -> object:
        values = cta.values
        made = simulate(cta, [values[i] for i in inputs])
        for slot, value in zip(outputs, made, strict=True):
            cta.write(slot, np.asarray(value))
        return cta.take_wait()

    return step
