"""Commands of ``tri``: plugins, targets, compile, opt, layout, explore, profile, record, warm, cache, new-backend."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

import tri
from tri.cli import serving
from tri.cli.cache import app as cache_app
from tri.cli.explore import explore
from tri.cli.layout import layout
from tri.cli.new_backend import new_backend
from tri.cli.opt import opt
from tri.cli.profile import profile
from tri.cli.verify import verify
from tri_core.errors import TriError
from tri_core.files import write

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel

__all__ = ["app", "main"]

app = typer.Typer(
    help="Kernels in Python for any GPU and for the CPU.",
    no_args_is_help=True,
    add_completion=False,
    invoke_without_command=True,
)
app.add_typer(cache_app, name="cache")
app.command(name="opt")(opt)
app.command(name="layout")(layout)
app.command(name="new-backend")(new_backend)
app.command(name="explore")(explore)
app.command(name="verify")(verify)
app.command(name="profile", context_settings={"allow_interspersed_args": False})(profile)
app.command(name="record")(serving.record)
app.command(name="warm")(serving.warm)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Say the version of tri, and leave.")
    ] = False,
) -> None:
    if version:
        typer.echo(f"tri {tri.__version__}")
        raise typer.Exit


_STATE_STYLE = {"active": "green", "quarantined": "red"}


def main() -> None:
    """Run the command line; a TriError, or a stream that fails, is one message and exit status 1."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may not know the letters of a name
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, where a full disk can still be reported
    except TriError as error:
        _fail(str(error))
    except BrokenPipeError:
        _drop_output()  # whoever read it has seen enough
        sys.exit(1)
    except OSError as error:
        _drop_output()
        _fail(f"{error.filename or 'the output'}: {error.strerror or error}")


def _fail(message: str) -> NoReturn:
    # as it is written: what is searched for in a pipe, a path say, is not broken in two
    Console(stderr=True).print(f"[red]error:[/] {_escaped(message)}", highlight=False, soft_wrap=True)
    sys.exit(1)


def _drop_output() -> None:
    """Let nothing fail once more as Python ends and writes what is left."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


# --- what is there --------------------------------------------------------------------------------------


@app.command()
def plugins() -> None:
    """List the plugins found, active and set aside."""
    from tri_core.plugins import manager

    table = _table("plugin", "package", "state", "hook API", "provides")
    reasons = []
    for record in manager().plugins():
        style = _STATE_STYLE.get(record.state, "yellow")
        api = ".".join(map(str, record.api)) if record.api is not None else ""
        package = f"{record.dist} {record.version}".strip()
        provides = ", ".join(record.backends) or f"{len(record.hooks)} hooks"
        table.add_row(record.name, package, f"[{style}]{record.state}[/]", api, provides)
        if record.reason:
            reasons.append(f"[{style}]{record.name}[/]: {_escaped(record.reason)}")
    console = Console()
    console.print(table)
    for reason in reasons:
        console.print(reason, highlight=False)


@app.command()
def targets() -> None:
    """List the backends, the architectures that they know and the devices of this machine."""
    from tri_core.plugins import manager

    table = _table("backend", "architectures", "devices here")
    for name, info in manager().backends().items():
        try:
            found = [f"{d.arch} {d.name}".strip() for d in manager().probe(name)]
        except TriError as error:
            found = [f"[red]{_escaped(error.message)}[/]"]
        table.add_row(name, ", ".join(info.architectures), "\n".join(found) or "none")
    Console().print(table)


# --- compile --------------------------------------------------------------------------------------------


_SIGNATURE_HELP = (
    "the parameters in order or by name: '*fp32:16, *fp32, i32, 1024' or 'n=i32, BLOCK=1024'; "
    "':16' says divisible, ':1' equal to 1, a value is a constexpr"
)


#: fields of ``Resources`` and their units
_RESOURCE_UNITS = {
    "threads": "per CTA",
    "registers": "per thread",
    "spills": "bytes per thread",
    "stack": "bytes per thread",
    "shared": "bytes per CTA",
    "tensor_memory": "columns per CTA",
    "cluster": "CTAs",
}


_Source = Annotated[
    str, typer.Argument(help="FILE.py:kernel, FILE.py with one kernel, or a file of IR such as kernel.ttir")
]
_Resources = Annotated[
    bool,
    typer.Option("--resources", help="show what the kernel takes of the target, and how many CTAs fit"),
]
_Emit = Annotated[str | None, typer.Option("--emit", "-e", help="print this stage (ttir, llir, ...)")]
_Output = Annotated[Path | None, typer.Option("--output", "-o", help="write the stage to a file instead")]


@app.command(name="compile")
def compile_command(
    source: _Source,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="backend:arch; the default target if left out")
    ] = None,
    signature: Annotated[
        str,
        typer.Option("--signature", "-s", help=_SIGNATURE_HELP),
    ] = "",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-O", help="a compile option: num_warps=8")
    ] = None,
    emit: _Emit = None,
    output: _Output = None,
    kernel_name: Annotated[
        str, typer.Option("--kernel", "-k", help="the kernel, where SOURCE is a Python file with several")
    ] = "",
    resources: _Resources = False,
    grid: Annotated[
        str | None,
        typer.Option(
            "--grid", "-g", help="for C: up to three expressions of arguments, '(n + 1023) / 1024, 1'"
        ),
    ] = None,
    aot: Annotated[
        Path | None,
        typer.Option("--aot", help="write image, C header, C launcher and manifest to this folder"),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="for C: the function's name; the kernel's if left out")
    ] = None,
) -> None:
    """Compile a kernel, with no device needed, and show or write what a stage made.

    With --aot (or --grid) the kernel is written for C programs.
    """
    from tri.cli.sources import parse_options, read_source
    from tri.compilation import compile as compile_source

    if kernel_name:
        source = f"{source}:{kernel_name}"
    if aot is not None or grid is not None:
        from tri.cli.building import build_for_c

        build_for_c(source, signature, target, parse_options(option or []), grid or "", name, aot or Path())
        return
    kernel = compile_source(read_source(source, signature), target, parse_options(option or []))
    if resources:
        _show_resources(kernel)
        return
    if emit is None and output is None:
        _show(kernel)
        return
    made = kernel.asm[emit] if emit is not None else kernel.image.data
    data = made.encode() if isinstance(made, str) else made
    if output is not None:
        write(output, data)
    else:
        sys.stdout.buffer.write(data)


def _show(kernel: CompiledKernel) -> None:
    console = Console()
    console.print(f"[bold]{kernel.name}[/] for {kernel.metadata.target}", highlight=False)
    table = _table("stage", "size")
    for stage, made in kernel.asm.items():
        table.add_row(stage, f"{len(made)} {'characters' if isinstance(made, str) else 'bytes'}")
    console.print(table)
    for name, value in kernel.metadata.resources.items():
        console.print(f"{name}: {value}", highlight=False)
    _show_schedule(kernel, console)
    console.print(f"verdict: {kernel.resources.verdict}", highlight=False, soft_wrap=True)


def _show_schedule(kernel: CompiledKernel, console: Console) -> None:
    """Print the kernel's schedule, if a backend chose one."""
    if "schedule" in kernel.metadata.attrs:
        console.print(f"schedule: {kernel.metadata.attrs['schedule']}", highlight=False, soft_wrap=True)


def _show_loops(kernel: CompiledKernel, console: Console) -> None:
    """Print the backend's estimates of loops, and their assumptions."""
    estimates = kernel.loop_estimates
    for loop in estimates.loops:
        console.print(f"loop {loop.name}: {loop}", highlight=False, markup=False, soft_wrap=True)
    for assumption in estimates.assumptions if estimates.loops else ():
        console.print(f"assumed: {assumption}", highlight=False, markup=False, soft_wrap=True)


def _show_resources(kernel: CompiledKernel) -> None:
    console = Console()
    found = kernel.resources
    table = _table("resource", "amount", "unit")
    for name, unit in _RESOURCE_UNITS.items():
        value = getattr(found, name)
        if value is not None:
            table.add_row(name.replace("_", " "), str(value), unit)
    console.print(table)
    _show_schedule(kernel, console)
    _show_loops(kernel, console)
    for remark in found.remarks:
        console.print(f"remark: {remark}", highlight=False, soft_wrap=True)
    console.print(f"verdict: {found.verdict}", highlight=False, soft_wrap=True)


@app.command()
def link(
    manifests: Annotated[list[Path], typer.Argument(help="the .json files that tri compile --aot wrote")],
    output: Annotated[Path, typer.Option("--output", "-o", help="the folder of the C files")] = Path(),
    name: Annotated[
        str | None, typer.Option("--name", help="the C function's name; the kernel's if left out")
    ] = None,
) -> None:
    """Write one C function that calls the version of a kernel that fits the arguments."""
    from tri.aot import link as link_versions

    for path in link_versions(manifests, name, output):
        typer.echo(path)


@app.command()
def explain(
    source: Annotated[str, typer.Argument(help="FILE.py:kernel, or FILE.py with one kernel")],
    timing: Annotated[
        bool, typer.Option("--timing", help="compile it anew; show how long each stage and pass takes")
    ] = False,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", help="with --timing: a file for chrome://tracing or Perfetto"),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="compile for backend:arch; say what was chosen")
    ] = None,
    signature: Annotated[str, typer.Option("--signature", "-s", help=_SIGNATURE_HELP)] = "",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-O", help="a compile option: path=auto")
    ] = None,
) -> None:
    """Say why a kernel was compiled, each time that it was; the cache remembers the latest 32.

    With a target, signature or option the kernel is compiled, and what the compiler chose is said, with the reasons.
    """
    if timing or trace is not None:
        from tri.cli.sources import parse_options
        from tri.cli.timing import show_timing

        show_timing(source, signature, target, parse_options(option or []), trace)
        return
    if target is not None or signature or option:
        from tri.cli.choices import show_choices
        from tri.cli.sources import parse_options

        show_choices(source, signature, target, parse_options(option or []))
        return
    from tri.cli.sources import read_kernel
    from tri.compile_reasons import explain as explain_kernel

    found = explain_kernel(read_kernel(source))
    for explanation in found:
        typer.echo(str(explanation))
    if not found:
        typer.echo(f"the cache remembers no compile of {source}")
