"""The choices of the optimizer for GPUs whose schedules are known."""

from __future__ import annotations

from dataclasses import field

from tri_backend_nvidia.schedule.costs import Machine, Resources, Schedule, choose
from tri_backend_nvidia.schedule.work import Unknown, work_of
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.policies.gpu import DefaultPolicy

__all__ = ["HopperPolicy"]

_MOST_REGISTERS = 255


@dataclass(frozen=True)
class HopperPolicy(DefaultPolicy):
    """As :class:`DefaultPolicy`, with schedules chosen by cost for ``warps`` and ``stages`` on ``machine``."""

    machine: Machine = field(default_factory=Machine)
    warps: int = 4
    stages: int = 3

    def schedule(self, function: ir.Operation) -> Schedule:
        """Best schedule for ``function``, whose blocks come by descriptors."""
        work = work_of(function)
        if isinstance(work, Unknown):
            return Schedule(False, False, f"not warp-specialized: {work.reason}")
        producer = self.async_units.producer
        given = producer.registers if producer is not None else None
        registers = _MOST_REGISTERS if given is None else given[0]
        stages = self.stages if work.stages is None else work.stages
        has = Resources(warps=self.warps, stages=max(stages, 1), registers=registers)
        return choose(work, has, self.machine, persistent=self.async_units.persistent is None)
