"""``tri cache``: what it holds, what of it is whole, and how it goes to other machines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tri_core.errors import OptionError

__all__ = ["app"]

app = typer.Typer(help="The cache of compiled kernels.", no_args_is_help=True)

_DAY = 86400.0
_Key = Annotated[Path | None, typer.Option("--key", help="a file with the key that bundles are signed by")]


def _files() -> list[Path]:
    from tri_core.compiler.stored import entry_files

    return list(entry_files(_directory()))


@app.command()
def path() -> None:
    """Print where the cache is."""
    from tri_core.cache import default_store

    typer.echo(default_store().directory)


@app.command(name="size")
@app.command(name="du")
def size() -> None:
    """Print how much the cache holds, and its bound."""
    from tri_core.cache import default_store

    files = _files()
    used = sum(p.stat().st_size for p in files)
    typer.echo(f"{len(files)} entries, {used / 2**20:.1f} MiB of {default_store().max_bytes / 2**20:.0f} MiB")


@app.command(name="ls")
def list_kernels() -> None:
    """List the kernels, those that were used last first."""
    from tri_core.compiler.stored import kernels

    table = Table(box=None, pad_edge=False)
    for column in ("kernel", "target", "KiB", "used", "key"):
        table.add_column(column, overflow="fold")
    for kernel in sorted(kernels(_directory()), key=lambda k: k.used, reverse=True):
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(kernel.used))
        table.add_row(kernel.name, kernel.target, f"{kernel.bytes / 1024:.0f}", used, kernel.key[:12])
    Console().print(table)


@app.command()
def verify() -> None:
    """Read every entry; name those that are damaged or another key's, and leave with status 1 where there are any."""
    from tri_core.compiler.stored import damaged

    found = list(damaged(_directory()))
    for file in found:
        typer.echo(f"damaged: {file}")
    typer.echo(f"{len(_files()) - len(found)} entries are whole")
    if found:
        raise typer.Exit(1)


@app.command()
def prune(
    days: Annotated[
        float | None, typer.Option("--days", help="remove what was not used for so many days")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="remove the longest unused until so much is left: 500M")
    ] = None,
) -> None:
    """Remove entries that were not used for long."""
    from tri_core.cache.sweep import sweep
    from tri_core.knobs import parse_size

    if days is None and to is None:
        raise OptionError("nothing says what to remove", remedy="give --days or --to")
    before = len(_files())
    if days is not None:
        for file in _unused(days):
            file.unlink(missing_ok=True)
    if to is not None:
        try:
            bound = parse_size(to)
        except ValueError as error:
            raise OptionError(f"--to {to}: {error}") from error
        sweep(_directory(), bound)
    typer.echo(f"removed {before - len(_files())} entries")


def _unused(days: float) -> Iterator[Path]:
    oldest = time.time() - days * _DAY
    return (file for file in _files() if file.stat().st_mtime < oldest)


@app.command(name="export")
def export_bundle(output: Annotated[Path, typer.Argument(help="the bundle")], key: _Key = None) -> None:
    """Write all kernels of the cache to a bundle, for TRI_BUNDLE or another machine's tri cache import."""
    from tri_core.compiler.stored import pack

    typer.echo(f"{output}: {pack(_directory(), output, key)} kernels")


@app.command(name="import")
def import_bundle(
    bundle: Annotated[Path, typer.Argument(help="what tri cache export, or tri warm, wrote")],
    key: _Key = None,
) -> None:
    """Put the entries of a bundle into the cache."""
    from tri_core.cache import default_store
    from tri_core.cache.default import open_bundle

    given, store = open_bundle(bundle, key), default_store()
    kept = sum(payload is not None and store.put(name, payload) for name, payload in given.entries())
    typer.echo(f"{kept} of {len(given)} entries are in the cache")
    if kept < len(given):
        raise typer.Exit(1)


_Url = Annotated[str | None, typer.Argument(help="the remote cache; that of TRI_CACHE_REMOTE by default")]


@app.command()
def push(url: _Url = None) -> None:
    """Write all entries of the cache to a remote one, signed by the key of TRI_CACHE_KEY or TRI_CACHE_KEY_FILE."""
    from tri_core.cache.default import open_remote
    from tri_core.compiler.stored import payloads

    remote, count = open_remote(url), 0
    for name, payload in payloads(_directory()):
        remote.push(name, payload)
        count += 1
    typer.echo(f"{count} entries are in {remote.url}")


@app.command()
def pull(url: _Url = None) -> None:
    """Put the entries of a remote cache into this one; name those that the key does not vouch for, and leave with status 1 then."""
    from tri_core.cache import default_store
    from tri_core.cache.default import open_remote

    remote, store = open_remote(url), default_store()
    kept = count = 0
    for name, payload in remote.pull():
        count += 1
        if isinstance(payload, bytes):
            kept += store.keep(name, payload)
        else:
            typer.echo(f"left out: {name} {payload}")
    typer.echo(f"{kept} of {count} entries are in the cache")
    if kept < count:
        raise typer.Exit(1)


@app.command()
def clear() -> None:
    """Remove every kernel from the cache."""
    from tri_core.cache import default_store

    count = len(_files())
    default_store().clear()
    typer.echo(f"removed {count} entries")


def _directory() -> Path:
    from tri_core.cache import default_store

    return default_store().directory
