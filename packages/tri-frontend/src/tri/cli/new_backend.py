"""``tri new-backend NAME``: a package to start a backend from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["new_backend"]


def new_backend(
    name: Annotated[
        str, typer.Argument(help="what users write in tri.target: lower-case letters and digits")
    ],
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="where the folder tri-backend-NAME is made")
    ] = Path(),
    tier: Annotated[
        str,
        typer.Option(
            "--tier",
            "-t",
            help="where kernels leave tri: ttir (tensors), ttgir (layouts and machine ops of a GPU), llvm (LLVM IR of a CPU)",
        ),
    ] = "ttgir",
) -> None:
    """Write tri-backend-NAME: a backend of a made-up device, complete with tests and CI, to make your own of."""
    from tri.scaffolding import new_backend as write

    folder = write(name, directory, tier)
    typer.echo(f"{folder} is a working backend: cd there, and run `nox` (pip install nox) for its checks.")
    typer.echo("docs/backends.md of tri's repository says how to make it that of your device.")
