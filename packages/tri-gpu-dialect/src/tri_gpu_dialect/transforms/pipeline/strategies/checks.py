"""Refusals that strategies share."""

from __future__ import annotations

from tri_core.api import Target
from tri_core.errors import PluginError

__all__ = ["check_shared", "check_stages", "refused"]


def refused(message: str, remedy: str) -> PluginError:
    """The error of a policy whose strategy is not to be had."""
    return PluginError(message, remedy=remedy, plugin="tri_gpu_dialect")


def check_shared(strategy: str, target: Target | None) -> None:
    """Refuse ``strategy``, which needs shared memory, for a ``target`` that has none."""
    if target is not None and target.spec.limits.get("shared") == 0:
        raise refused(
            f"PipelinePolicy.loads is {strategy}, and {target} has no shared memory (TargetSpec.limits['shared'] is 0)",
            "give InRegisters(), or None, for targets without shared memory",
        )


def check_stages(strategy: str, stages: int) -> None:
    """Refuse fewer than two ``stages``."""
    if stages < 2:
        raise refused(
            f"{strategy}.stages is {stages}; 2 at least are expected",
            "give None for loops that are not pipelined",
        )
