"""``tri compile --aot``: kernels for C programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from tri.cli.sources import read_kernel

__all__ = ["build_for_c"]


def build_for_c(
    source: str,
    signature: str,
    target: str | None,
    options: Mapping[str, Any],
    grid: str,
    name: str | None,
    folder: Path,
) -> None:
    """Build ``FILE.py:kernel`` and print the files and how to use them."""
    from tri.aot import build

    manifest = build(
        read_kernel(source), signature, target=target, options=options, grid=grid, name=name, folder=folder
    )
    for file in (*manifest.files.values(), f"{manifest.function}.json"):
        typer.echo(folder / file)
    typer.echo(f"build with: {manifest.build.replace('KERNEL', manifest.function)}")
