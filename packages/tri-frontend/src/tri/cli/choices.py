"""``tri explain`` with a target, signature or options: what the compiler chose for the kernel, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tri.cli.sources import read_source
from tri.compilation import compile as compile_source

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel

__all__ = ["choices", "show_choices"]


def show_choices(source: str, signature: str, target: str | None, options: Mapping[str, Any]) -> None:
    """Compile ``FILE.py:kernel``, or a file of IR, and print what :func:`choices` says of it."""
    kernel = compile_source(read_source(source, signature), target, dict(options))
    console = Console()
    console.print(f"{kernel.name} for {kernel.metadata.target}", markup=False, highlight=False)
    for line in choices(kernel) or ["nothing was chosen that has a remark"]:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def choices(kernel: CompiledKernel) -> list[str]:
    """The schedule, where the backend chose one, and each remark of the passes and stages, in their order."""
    schedule = kernel.metadata.attrs.get("schedule")
    return [*([] if schedule is None else [f"schedule: {schedule}"]), *kernel.resources.remarks]
