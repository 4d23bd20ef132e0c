"""What a policy says about loads of pipelined loops: the protocol of the strategies by which they reach their use."""

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
    """How a load of a pipelined loop reaches its use; :mod:`tri_gpu_dialect.transforms.pipeline.strategies` has those that there are."""

    def check(self, target: Target | None) -> None:
        """Raise PluginError, with the field and a remedy, where the memories of ``target`` (None: unknown) cannot serve it."""

    def suits(self, load: ir.Operation, axes: AxisInfos, rules: LayoutRules) -> bool:
        """Whether ``load`` can be brought to its use so; ``axes``: what is known of the function's values; ``rules``: the
        target's of layouts."""

    def pipeline(self, asked: Any) -> None:
        """Rewrite the loop of ``asked``, or say in a remark why not, or why in fewer stages than were asked for.

        ``asked`` is a :class:`tri_gpu_dialect.transforms.pipeline.pipelined_loop.PipelinedLoop`, which stands above policies.
        """
