"""The schedule of a kernel of dots, chosen by cost where no option and no loop says what it is.

Whether warps of their own copy blocks has to be known while accesses are still those of the source: then blocks of pointers become
blocks of descriptors, and loops of dots keep their descriptors.  So the pass rewrites the kernel for such warps, estimates, and
puts everything back if it is better as it was.

    tt.warp_specialize      of the loops of dots: as if ``tl.range(warp_specialize=True)`` had been written
    tt.persistent           of the module: ``make-persistent`` puts the kernel into a loop over programs
    tt.schedule             of the module: what was chosen, and why
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from tri_backend_nvidia.schedule.costs import Schedule
from tri_backend_nvidia.schedule.policy import HopperPolicy
from tri_backend_nvidia.schedule.work import loops_of_dots
from tri_core.api import Pass, StageContext
from tri_core.ir.markers import CHOSEN, SCHEDULE
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.async_units.analysis.slicing import Refusal, slice_function
from tri_gpu_dialect.edit import functions
from tri_gpu_dialect.policies.async_units import asks_to_specialize

if TYPE_CHECKING:
    from tri_core.pipeline import Pass as AnyPass

__all__ = ["ChooseSchedule"]

logger = logging.getLogger(__name__)

#: the knob that turns the choice off: kernels are then as their options and loops say
_KNOB, _OFF = "NVIDIA_SCHEDULE", "written"
_WARP_SPECIALIZE = "tt.warp_specialize"


@dataclass(frozen=True)
class ChooseSchedule(Pass):
    """See the module; ``policy`` estimates, ``partitions`` rewrite a kernel for warps that copy, ``plain`` one that has none.

    Without ``partitions`` blocks are those of the source alone.
    """

    name: ClassVar[str] = "choose-schedule"
    required: ClassVar[bool] = True

    policy: HopperPolicy = field(default_factory=HopperPolicy)
    partitions: Sequence[AnyPass] = ()
    plain: Sequence[AnyPass] = ()

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Choose, where the kernel of ``module`` has loops of dots that say nothing."""
        kernels = [f for f in functions(module) if loops_of_dots(f)]
        if not kernels or any(asks_to_specialize(each) is not None for each in kernels):
            return
        if len(kernels) > 1 or (context is not None and context.knobs.get(_KNOB) == _OFF):
            why = "the module has several kernels" if len(kernels) > 1 else f"{_KNOB} says so"
            declined(self.name, kernels[0], "not warp-specialized: {}", why)
            self._leave(module, context)
            return
        before = module.operation.clone()
        for each in self.partitions:
            each.apply(module, context)
        schedule = self._judge(module)
        if not schedule.specialize:
            declined(self.name, kernels[0], "{}", schedule.reason)
            _restore(module, before)
            self._leave(module, context)
        _note(module, schedule)

    def _judge(self, module: ir.Module) -> Schedule:
        function = next((f for f in functions(module) if loops_of_dots(f)), None)
        if function is None:
            return Schedule(False, False, "not warp-specialized: no loop has a dot whose result is used")
        schedule = self.policy.schedule(function)
        if not schedule.specialize:
            return schedule
        slices = slice_function(function)
        if slices is None or isinstance(slices, Refusal):
            why = "no dot is fed by a copy" if slices is None else slices.reason
            return Schedule(False, False, f"not warp-specialized: {why}")
        return schedule

    def _leave(self, module: ir.Module, context: StageContext) -> None:
        for each in self.plain:
            each.apply(module, context)


def _note(module: ir.Module, schedule: Schedule) -> None:
    """Mark ``module`` for the passes that follow, and for people."""
    attributes = module.operation.attributes
    logger.info("schedule: %s", schedule.reason)
    attributes[SCHEDULE] = ir.StringAttr.get(schedule.reason)
    if schedule.persistent:
        attributes[CHOSEN] = ir.UnitAttr.get()
    if schedule.specialize:
        for loop in (loop for f in functions(module) for loop in loops_of_dots(f)):
            loop.attributes[_WARP_SPECIALIZE] = ir.UnitAttr.get()


def _restore(module: ir.Module, before: ir.Operation) -> None:
    """Give ``module`` the functions of ``before``."""
    for op in [view.operation for view in module.body]:
        op.erase()
    for op in [view.operation for view in before.regions[0].blocks[0]]:
        op.detach_from_parent()
        module.body.append(op)
