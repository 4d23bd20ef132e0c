"""``tri explore``: the stages of a kernel side by side on a page."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["explore"]


def explore(
    source: Annotated[
        str,
        typer.Argument(help="FILE.py:kernel, FILE.py with one kernel, or a file of IR such as kernel.ttir"),
    ],
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", help="backend:arch, the default target if left out; may be repeated"),
    ] = None,
    signature: Annotated[
        list[str] | None,
        typer.Option("--signature", "-s", help="the parameters as for tri compile; may be repeated"),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-O", help="a compile option: num_warps=8")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="the page; the kernel's name.html if left out")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="show the page in a browser")] = False,
) -> None:
    """Write a page with the source, the IR after each pass and the machine code of a kernel, lines linked.

    Every signature is compiled for every target; each is a tab.
    """
    from rich.progress import track

    from tri.cli.sources import parse_options, read_source
    from tri.explore import Page, render
    from tri.explore import explore as explore_kernel
    from tri_core.files import write

    options = parse_options(option or [])
    targets: list[str | None] = [*target] if target else [None]
    wanted = [(s, t) for s in signature or [""] for t in targets]
    tabs = [
        explore_kernel(read_source(source, s), t, options)
        for s, t in track(wanted, "compiling", transient=True, disable=len(wanted) == 1)
    ]
    path = output or Path(f"{tabs[0].name}.html")
    title = f"{tabs[0].name} in {Path(source.rpartition(':')[0] or source).name}"
    write(path, render(Page(title, tuple(tabs))))
    typer.echo(path)
    if open_:
        webbrowser.open(path.resolve().as_uri())
