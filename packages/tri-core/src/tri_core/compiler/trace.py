"""A compile with everything in between: the module after each pass."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import field
from typing import TYPE_CHECKING

from tri_core.compiler.kernel import CompiledKernel
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.mlir import ir

__all__ = ["PassListener", "Recorder", "Snapshot", "Trace"]

#: called with stage, name of the pass (empty: the module as built) and module
PassListener = Callable[[str, str, "ir.Module"], None]


@dataclass(frozen=True)
class Snapshot:
    """The module of ``stage`` after ``pass_name``, or as it was built if that is empty; text with locations."""

    stage: str
    pass_name: str
    text: str


@dataclass(frozen=True)
class Trace:
    """A compiled kernel, and its modules after each pass in the order of the compile."""

    kernel: CompiledKernel
    snapshots: tuple[Snapshot, ...]


@dataclass
class Recorder:
    """Prints every module of ``stages`` that it is given; the module must be valid."""

    stages: Collection[str]
    snapshots: list[Snapshot] = field(default_factory=list)

    def __call__(self, stage: str, name: str, module: ir.Module) -> None:
        """Keep the text of ``module``."""
        from tri_core.text import print_module

        if stage in self.stages:
            self.snapshots.append(Snapshot(stage, name, print_module(module)))
