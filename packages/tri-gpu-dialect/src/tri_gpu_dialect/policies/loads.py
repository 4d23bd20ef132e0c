"""Policy for loads of pipelined loops: the protocol of the strategies that bring them to their use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from tri_core.api import Target
    from tri_core.mlir import ir
    from tri_gpu_dialect.analysis import AxisInfos
    from tri_gpu_dialect.analysis.layout_rules import LayoutRules

__all__ = ["LoadStrategy"]


@runtime_checkable
class LoadStrategy(Protocol):
    """Strategy that brings a load of a pipelined loop to its use; implementations:
    :mod:`tri_gpu_dialect.transforms.pipeline.strategies`.
    """

    def check(self, target: Target | None) -> None:
        """Raise PluginError, with the field and a remedy, where the memories of ``target`` (None: unknown) cannot serve it."""

    def suits(self, load: ir.Operation, axes: AxisInfos, rules: LayoutRules) -> bool:
        """True if the strategy supports ``load``; ``axes``: the function's axis information; ``rules``: the
        target's of layouts.
        """

    def pipeline(self, asked: Any) -> None:
        """Rewrite the loop of ``asked``, or say in a remark why not, or why in fewer stages than were asked for.

        ``asked`` is a :class:`tri_gpu_dialect.transforms.pipeline.pipelined_loop.PipelinedLoop`, which stands above policies.
        """
