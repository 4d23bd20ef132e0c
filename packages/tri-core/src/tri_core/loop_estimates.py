"""Estimates of a compiled kernel's loops by its backend, without a device: cycles of an iteration and their
breakdown.

Asked by :attr:`tri_core.compiler.CompiledKernel.loop_estimates`, shown by ``tri explore`` and ``tri compile --resources``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tri_core.lazy_dataclasses import dataclass

__all__ = ["LoopEstimate", "LoopEstimates"]


@dataclass(frozen=True, kw_only=True)
class LoopEstimate:
    """One iteration of an innermost loop in its steady state.

    ``name``: the loop's label in the text of ``stage``, at ``line`` (from 1); ``instructions`` of an iteration; ``cycles`` that it takes;
    ``busy``: shares of these (0 to 1) in which a unit of the hardware works, by the unit's name; ``spent``: cycles from the issue of an instruction
    to when its thread may issue the next, by the kind of instruction.
    """

    name: str
    stage: str
    line: int
    instructions: int
    cycles: float
    busy: Mapping[str, float] = field(default_factory=dict)
    spent: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [f"{self.cycles:.0f} cycles, {self.instructions} instructions"]
        parts += [f"{unit} busy {100 * share:.0f} %" for unit, share in self.busy.items()]
        most = sorted(((kind, c) for kind, c in self.spent.items() if c >= 1), key=lambda kind: -kind[1])
        if most:
            parts.append("of which " + ", ".join(f"{kind} {cycles:.0f}" for kind, cycles in most))
        return f"{'; '.join(parts)} ({self.stage}, line {self.line})"


@dataclass(frozen=True, kw_only=True)
class LoopEstimates:
    """Those of a kernel, in the order of its code, and what they assume, a sentence each; no loops where there is none or no estimate."""

    loops: tuple[LoopEstimate, ...] = ()
    assumptions: tuple[str, ...] = ()
