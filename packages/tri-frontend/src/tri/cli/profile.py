"""``tri profile``: what the kernels of a script do, and how long they take."""

from __future__ import annotations

import contextlib
import json
import runpy
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tri_core.errors import TriError

if TYPE_CHECKING:
    from tri.profiling import Profile

__all__ = ["profile"]


def profile(
    script: Annotated[Path, typer.Argument(help="the Python program")],
    arguments: Annotated[list[str] | None, typer.Argument(help="its arguments")] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="backend:arch, where the script chooses none")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="write the profile as JSON to this file")
    ] = None,
    trace_file: Annotated[
        Path | None, typer.Option("--trace", help="write a flame chart for Perfetto to this file")
    ] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="write a page with the roofline to this file")
    ] = None,
) -> None:
    """Run a script and show, for each kernel and source line: launches, time, bytes, FLOPs, share of the roofline.

    Options stand before the script; what follows it is the script's own.  The exit status is the script's.
    """
    from rich.console import Console

    from tri.profiling import profile as profiled
    from tri.profiling import render, tables, trace
    from tri_core.files import read_text, write

    read_text(script)
    around = _chosen(target)  # a target that does not exist is told of before the script runs
    with profiled(script.name) as recorder, around:
        status, failure = _run(script, arguments or [])
        made = replace(recorder.finished(), failure=failure)
    console = Console(stderr=True)
    if not made.kernels:
        console.print(_nothing(script), markup=False, highlight=False, soft_wrap=True)
    for table in tables(made):
        console.print(table)
    _show_notes(made, console)
    if json_file is not None:
        write(json_file, json.dumps(made.to_json(), indent=1).encode())
    if trace_file is not None:
        write(trace_file, trace(made).encode())
    if html_file is not None:
        write(html_file, render(made).encode())
    if status:
        raise typer.Exit(status)


def _chosen(target: str | None) -> contextlib.AbstractContextManager[Any]:
    if target is None:
        return contextlib.nullcontext()
    import tri
    from tri_core.target_selection import resolve

    resolve(target)
    return tri.target(target)


def _nothing(script: Path) -> str:
    return (
        f"{script} launched no compiled kernel"
        " (kernels that run as Python, under TRI_INTERPRET, and other processes are not seen)"
    )


def _show_notes(made: Profile, console: Any) -> None:
    for kernel in made.kernels:
        for note in kernel.notes:
            console.print(f"{kernel.name}: {note}", markup=False, highlight=False, soft_wrap=True)
        for loop in kernel.loops:
            console.print(f"{kernel.name}: loop {loop}", markup=False, highlight=False, soft_wrap=True)


def _run(script: Path, arguments: list[str]) -> tuple[int, str]:
    """The exit status of ``script``, run as Python runs it, and what it failed with; its traceback is printed as Python's."""
    before_argv, before_path = sys.argv, list(sys.path)
    sys.argv, sys.path[:0] = [str(script), *arguments], [str(script.resolve().parent)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as ended:
        return _status(ended)
    except BaseException as error:
        _show(error, script)
        return 130 if isinstance(error, KeyboardInterrupt) else 1, _last_line(error)
    finally:
        sys.argv, sys.path[:] = before_argv, before_path
    return 0, ""


def _status(ended: SystemExit) -> tuple[int, str]:
    if ended.code is None or isinstance(ended.code, int):
        return (ended.code or 0), f"it exited with {ended.code}" if ended.code else ""
    sys.stderr.write(f"{ended.code}\n")
    return 1, str(ended.code)


def _show(error: BaseException, script: Path) -> None:
    """Print ``error`` from the script's first frame on."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != str(script):
        frames = frames.tb_next
    error = error.with_traceback(frames if frames is not None else error.__traceback__)
    sys.excepthook(type(error), error, error.__traceback__)


def _last_line(error: BaseException) -> str:
    if isinstance(error, TriError):
        return str(error)
    return "".join(traceback.format_exception_only(error)).strip()
