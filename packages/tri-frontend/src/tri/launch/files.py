"""Kernels from files of IR, which can be launched: ``tri.compile("kernel.ttir")[grid](...)``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tri_core.compiler import IRSource
from tri_core.errors import LaunchError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel

__all__ = ["FileSource"]

_HEADER = re.compile(r"\btt\.func (?=public )")


@dataclass(frozen=True)
class FileSource(IRSource):
    """A file of IR whose kernel takes its parameters in order."""

    def launch(self, kernel: CompiledKernel, grid: Any, args: Sequence[Any], stream: Any = None) -> None:
        """Launch ``kernel``, compiled from this file, over ``grid``; LaunchError when the arguments do not fit."""
        from tri.launch.compiled import run

        parameters = kernel.metadata.signature.parameters
        if len(args) != len(parameters):
            shown = ", ".join(f"{p.name}: {p.type}" for p in parameters)
            raise LaunchError(
                f"{kernel.name} takes {len(parameters)} arguments, {len(args)} were given",
                remedy=f"its parameters are ({shown})",
            )
        names = [p.name for p in parameters]
        given = dict(zip(names, args, strict=True))
        run(kernel, grid, given, dict(zip(names, self._facts(len(names)), strict=True)), stream)

    def _facts(self, count: int) -> Sequence[Sequence[Sequence[Any]]]:
        """Alignment facts of each argument in the text."""
        from tri_core.text.functions import divisibilities
        from tri_core.text.scan import Cursor

        found = _HEADER.search(self.content) if isinstance(self.content, str) else None
        if found is None:
            return [()] * count
        numbers = divisibilities(Cursor(str(self.content), found.end(), self.path))
        return [[("tt.divisibility", n)] if n else () for n in numbers]
