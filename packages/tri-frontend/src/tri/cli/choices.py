"""``tri explain`` with a target, signature or options: what the compiler chose for the kernel, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tri.cli.sources import read_source
from tri.compilation import compile as compile_source
from tri_core import knobs
from tri_core.remarks import remarks

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel

__all__ = ["choices", "show_choices"]


def show_choices(source: str, signature: str, target: str | None, options: Mapping[str, Any]) -> None:
    """Compile ``FILE.py:kernel``, or a file of IR, anew; print what :func:`choices` says of it, and what passes left as it is."""
    # a kernel of the cache was compiled when nobody asked
    with knobs.scope(ALWAYS_COMPILE=True), remarks() as found:
        kernel = compile_source(read_source(source, signature), target, dict(options))
    console = Console()
    console.print(f"{kernel.name} for {kernel.metadata.target}", markup=False, highlight=False)
    kept = choices(kernel)
    said = [str(remark) for remark in found if remark.said not in kept]
    for line in [*kept, *said] or ["nothing was chosen that has a remark"]:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def choices(kernel: CompiledKernel) -> list[str]:
    """The schedule, where the backend chose one, and each remark of the passes and stages, in their order."""
    schedule = kernel.metadata.attrs.get("schedule")
    return [*([] if schedule is None else [f"schedule: {schedule}"]), *kernel.resources.remarks]
