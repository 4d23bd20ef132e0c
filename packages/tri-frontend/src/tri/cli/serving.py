"""``tri record`` and ``tri warm``: what a program launches, and its kernels in one file."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from tri_core.errors import OptionError
from tri_core.files import make_folder

if TYPE_CHECKING:
    from tri.serving.manifest import Manifest
    from tri.serving.warming import Warmed

__all__ = ["record", "warm"]

#: a shell's status of a program that cannot be run
_NOT_FOUND = 127


def record(
    command: Annotated[list[str], typer.Argument(help="the program and its arguments, behind --")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="the manifest, to which lines are added")
    ] = Path("kernels.jsonl"),
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle", help="also compile all that the run launches anew, and write it to this bundle"
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", help="a file with the key to sign the bundle by")
    ] = None,
) -> None:
    """Run a program and record the versions of kernels that it launches: tri record -- python serve.py."""
    from tri.serving.manifest import Manifest

    make_folder(output.absolute().parent)
    environment = {**os.environ, "TRI_RECORD": str(output.absolute())}
    with tempfile.TemporaryDirectory() as folder:
        if bundle is not None:
            # a cache of its own: what is in it at last is what the run launched
            environment |= {"TRI_CACHE_DIR": folder, "TRI_CACHE_LAYERS": ""}
        try:
            status = subprocess.run(command, env=environment, check=False).returncode
        except OSError as error:
            raise OptionError(
                f"{command[0]} cannot be run ({error.strerror})", remedy="write -- before the program"
            ) from error
        if bundle is not None:
            from tri_core.compiler.stored import pack

            count = pack(Path(folder), bundle, key)
            typer.echo(f"{bundle}: {count} kernels", err=True)
    if output.exists():
        _show(Manifest.read(output), output)
    else:
        typer.echo("nothing was launched that was to be compiled", err=True)
    if status:
        raise typer.Exit(status if status > 0 else 128 - status)


def _show(manifest: Manifest, path: Path) -> None:
    typer.echo(
        f"{path}: {len(manifest.versions)} versions of kernels, {len(manifest.choices)} choices of tuners",
        err=True,
    )
    for line in manifest.left_out:
        typer.echo(f"left out: {line.name} for {line.target}: {line.why}", err=True)


def warm(
    manifests: Annotated[list[Path], typer.Argument(help="what tri record wrote")],
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", help="compile for backend:arch; for what was recorded if left out"),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="the bundle")] = Path("kernels.tribundle"),
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="processes that compile")] = os.cpu_count()
    or 1,
    key: Annotated[
        Path | None, typer.Option("--key", help="a file with the key to sign the bundle by")
    ] = None,
) -> None:
    """Compile what manifests say into a bundle; no device is needed."""
    from tri.serving import warming
    from tri.serving.manifest import Manifest

    manifest = Manifest.read(*manifests)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("compiling", total=None)
        warmed = warming.warm(
            manifest,
            output,
            targets=target or (),
            jobs=jobs,
            key=key,
            step=lambda done, count: bar.update(task, completed=done, total=count),
        )
    _report(warmed, output)


def _report(warmed: Warmed, output: Path) -> None:
    for text in warmed.warnings:
        typer.echo(f"warning: {text}", err=True)
    for failure in warmed.failures:
        typer.echo(f"failed: {failure.name} for {failure.target}: {failure.error}", err=True)
    typer.echo(f"{output}: {len(warmed.kernels)} kernels, {warmed.bytes / 2**20:.1f} MiB")
    if warmed.failures:
        raise typer.Exit(1)
