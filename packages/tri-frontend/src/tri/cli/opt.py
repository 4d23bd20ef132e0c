"""``tri opt``: passes on a file of IR."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tri_core.files import decode, read_text, write

__all__ = ["opt"]


def opt(
    file: Annotated[str, typer.Argument(help="a module of tt or ttg; - is the standard input")] = "-",
    passes: Annotated[
        str,
        typer.Option("--passes", "-p", help="'name,name{option=value}'; 'mlir:name' is a pass of MLIR"),
    ] = "",
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="backend:arch whose pipeline gives passes their options"),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-O", help="a compile option: num_warps=8")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="write to a file")] = None,
    print_after_all: Annotated[
        bool, typer.Option("--print-after-all", help="show the module after each pass, on standard error")
    ] = False,
    locations: Annotated[bool, typer.Option("--locations", help="print locations")] = False,
    list_passes: Annotated[bool, typer.Option("--list-passes", help="list the passes and end")] = False,
    bisect: Annotated[
        str,
        typer.Option(
            "--bisect", help="a command that fails where a result is wrong: find the pass that does it"
        ),
    ] = "",
) -> None:
    """Read a module, run passes on it and print it; without passes, check and print it.

    ``--bisect 'python check.py'`` runs a program again and again with fewer passes, and names the first one with which it fails.
    """
    if bisect:
        _bisect(bisect)
        return
    from tri.cli.sources import parse_options
    from tri_core.compiler.optimize import known_passes, optimize

    if list_passes:
        for name, options in known_passes().items():
            typer.echo(f"{name}{{{options}}}" if options else name)
        return
    text = _read(file)

    def show(name: str, printed: str) -> None:
        typer.echo(f"// after {name}\n{printed}", err=True)

    made = optimize(
        text,
        passes,
        path="<stdin>" if file == "-" else file,
        target=target,
        options=parse_options(option or []),
        after=show if print_after_all else None,
        locations=locations,
    )
    if output is not None:
        write(output, made)
    else:
        typer.echo(made, nl=False)


def _bisect(command: str) -> None:
    """Print the pass with which ``command`` fails first."""
    from tri_core.compiler.bisection import bisect

    for found in bisect(shlex.split(command), tell=lambda text: typer.echo(text, err=True)):
        typer.echo(
            f"{found.name} (pass {found.number}, of stage {found.stage}) of {found.kernel} for {found.target}"
        )


def _read(file: str) -> str:
    if file == "-":
        return decode(sys.stdin.buffer.read(), "<stdin>")
    return read_text(file, "give a file such as kernel.ttir, or - for standard input")
