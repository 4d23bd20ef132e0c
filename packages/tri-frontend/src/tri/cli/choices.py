"""``tri explain`` with a target, signature or options: what the compiler chose for the kernel, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from tri.cli.sources import read_source
from tri.compilation import compile as compile_source
from tri.kernel_remarks import kernel_remarks
from tri_core import knobs
from tri_core.remarks import remarks

__all__ = ["show_choices"]


def show_choices(source: str, signature: str, target: str | None, options: Mapping[str, Any]) -> None:
    """Compile ``FILE.py:kernel``, or a file of IR, anew; print its remarks."""
    # a kernel of the cache was compiled when nobody asked
    with knobs.scope(ALWAYS_COMPILE=True), remarks() as found:
        kernel = compile_source(read_source(source, signature), target, dict(options))
    console = Console()
    console.print(f"{kernel.name} for {kernel.metadata.target}", markup=False, highlight=False)
    for line in kernel_remarks(kernel, found) or ["nothing was chosen that has a remark"]:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
