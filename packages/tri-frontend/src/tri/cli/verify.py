"""``tri verify``: a kernel at every level of the compiler, and after every pass, on any machine."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

__all__ = ["verify"]


def verify(
    source: Annotated[str, typer.Argument(help="FILE.py:kernel, or FILE.py with one kernel")],
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", help="backend:arch, or cpu, which is the default; may be repeated"),
    ] = None,
    signature: Annotated[
        str,
        typer.Option("--signature", "-s", help="the parameters as for tri compile: '*fp32:16, i32, 1024'"),
    ] = "",
    value: Annotated[
        list[str] | None,
        typer.Option("--value", "-v", help="of a scalar parameter: n=1000; integers are 16 if left out"),
    ] = None,
    grid: Annotated[str, typer.Option("--grid", "-g", help="programs along x, y, z: '4, 2'")] = "1",
    size: Annotated[int, typer.Option("--size", min=1, help="elements of each array")] = 4096,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-O", help="a compile option: num_warps=8")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="how many inputs")] = 1,
    assemblers: Annotated[
        bool,
        typer.Option(
            "--assemblers", help="judge what each assembler here makes of the text, instead of the levels"
        ),
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="compare all bits, with floats as integers modulo powers of two")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print findings as JSON")] = False,
) -> None:
    """Run a kernel on seeded inputs in the interpreter and at each level of each target, with no device needed; name the first that differs.

    The exit status is 0 where all are equal, 1 where one is wrong, 2 where nothing is known: the kernel or its inputs mean nothing, or a
    level cannot run it.
    """
    from tri.cli.sources import parse_options, read_kernel
    from tri.verifying import trial_of
    from tri.verifying import verify as verify_kernel

    trial = trial_of(
        read_kernel(source),
        signature,
        values=parse_options(value or []),
        grid=_grid(grid),
        size=size,
        options=parse_options(option or []),
    )
    report = verify_kernel(trial, target or ["cpu"], range(seeds), assemblers=assemblers, exact=exact)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(each) for each in report.findings]))
    else:
        for finding in report.findings:
            typer.echo(str(finding))
    if report.having("wrong"):
        raise typer.Exit(1)
    if not report.is_right:
        raise typer.Exit(2)


def _grid(text: str) -> tuple[int, ...]:
    from tri_core.errors import OptionError

    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError:
        raise OptionError(f"{text!r} is no grid", remedy="write up to three numbers: '4, 2'") from None
