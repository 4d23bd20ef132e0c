"""``tri explain --timing``: how long each stage of a compile takes, and each pass of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tri.cli.sources import read_source
from tri.compilation import compile as compile_source
from tri_core import knobs
from tri_core.files import write
from tri_core.timing import Span, chrome_trace, spans

__all__ = ["show_timing"]


def show_timing(
    source: str, signature: str, target: str | None, options: Mapping[str, Any], trace: Path | None
) -> None:
    """Compile ``FILE.py:kernel`` anew and print its times; to ``trace`` goes what chrome://tracing and Perfetto read."""
    kernel_source = read_source(source, signature)
    with knobs.scope(ALWAYS_COMPILE=True), spans() as found:
        kernel = compile_source(kernel_source, target, dict(options))
    Console().print(_table(f"{kernel.name} for {kernel.metadata.target}", found))
    if trace is not None:
        write(trace, chrome_trace(found, kernel.name).encode())


def _table(title: str, found: list[Span]) -> Table:
    stages = [each for each in found if not each.pass_name]
    whole = sum(each.seconds for each in stages) or 1.0
    table = Table(title=title)
    for name in ("stage", "pass", "ms", "share"):
        table.add_column(name, justify="left" if name in ("stage", "pass") else "right")
    for stage in stages:
        table.add_row(stage.stage, "", *_figures(stage, whole), style="bold")
        for each in (e for e in found if e.pass_name and e.stage == stage.stage):
            table.add_row("", each.pass_name, *_figures(each, whole))
    table.add_row("", "all", f"{1e3 * whole:.1f}", "100 %")
    return table


def _figures(each: Span, whole: float) -> tuple[str, str]:
    return f"{1e3 * each.seconds:.1f}", f"{100 * each.seconds / whole:.0f} %"
