"""``tri verify``: a kernel at every level of the compiler, and after every pass, on any machine."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tri_core.errors import OptionError

if TYPE_CHECKING:
    from tri.jit import JITFunction
    from tri.verifying import Report

__all__ = ["verify"]


_Source = Annotated[str, typer.Argument(help="FILE.py:kernel, or FILE.py with one kernel")]
_Target = Annotated[
    list[str] | None,
    typer.Option("--target", "-t", help="backend:arch, or cpu, which is the default; may be repeated"),
]
_Signature = Annotated[
    str, typer.Option("--signature", "-s", help="the parameters as for tri compile: '*fp32:16, i32, 1024'")
]
_Value = Annotated[
    list[str] | None,
    typer.Option("--value", "-v", help="of a scalar parameter: n=1000; integers are 16 if left out"),
]
_Grid = Annotated[
    str,
    typer.Option("--grid", "-g", help="programs along x, y, z: '4, 2', or 'cdiv(M, BLOCK)' of parameters"),
]
_Size = Annotated[int, typer.Option("--size", min=1, help="elements of each array")]
_Option = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-O", help="a compile option: num_warps=8; with --batch-invariant several: num_warps=4,8"
    ),
]
_Seeds = Annotated[int, typer.Option("--seeds", min=1, help="how many inputs")]
_Assemblers = Annotated[
    bool,
    typer.Option(
        "--assemblers", help="judge what each assembler here makes of the text, instead of the levels"
    ),
]
_Exact = Annotated[
    bool, typer.Option("--exact", help="compare all bits, with floats as integers modulo powers of two")
]
_Invariant = Annotated[
    bool,
    typer.Option(
        "--batch-invariant",
        help="compare the bits of a target with its own, as sizes and configurations vary",
    ),
]
_Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary", help="with --batch-invariant, values of a scalar or constexpr: M=1,7,16; may be repeated"
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="print findings as JSON")]


def verify(
    source: _Source,
    target: _Target = None,
    signature: _Signature = "",
    value: _Value = None,
    grid: _Grid = "1",
    size: _Size = 4096,
    option: _Option = None,
    seeds: _Seeds = 1,
    assemblers: _Assemblers = False,
    exact: _Exact = False,
    batch_invariant: _Invariant = False,
    vary: _Vary = None,
    as_json: _Json = False,
) -> None:
    """Run a kernel on seeded inputs in the interpreter and at each level of each target, with no device needed; name the first that differs.

    The exit status is 0 where all are equal, 1 where one is wrong or differs, 2 where nothing is known: the kernel or its inputs mean nothing, or a
    level cannot run it.
    """
    from tri.cli.sources import parse_options, read_wrapped
    from tri.verifying import trial_of
    from tri.verifying import verify as verify_kernel
    from tri.verifying.grids import grid_of

    kernel, wrapped = read_wrapped(source)
    targets, given, values = target or ["cpu"], parse_options(option or []), parse_options(value or [])
    if batch_invariant:
        _check_alone(assemblers=assemblers, exact=exact)
        report = _invariance(
            kernel, wrapped, signature, values, grid, size, given, vary or [], targets, range(seeds)
        )
    elif vary:
        raise OptionError(
            "--vary is for --batch-invariant alone", remedy="add --batch-invariant, or give values by -v"
        )
    else:
        trial = trial_of(kernel, signature, values=values, size=size, options=given)
        trial = dataclasses.replace(trial, grid=grid_of(grid, trial.numbers()))
        report = verify_kernel(trial, targets, range(seeds), assemblers=assemblers, exact=exact)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(each) for each in report.findings]))
    else:
        for finding in report.findings:
            typer.echo(str(finding))
    if report.having("wrong") or report.having("differs"):
        raise typer.Exit(1)
    if not report.is_right:
        raise typer.Exit(2)


def _check_alone(**others: bool) -> None:
    for name, is_on in others.items():
        if is_on:
            raise OptionError(
                f"--batch-invariant compares by itself, without --{name}", remedy="run tri verify twice"
            )


def _invariance(
    kernel: JITFunction,
    wrapped: Any,
    signature: str,
    values: Mapping[str, Any],
    grid: str,
    size: int,
    options: Mapping[str, Any],
    vary: Sequence[str],
    targets: Sequence[str],
    seeds: Sequence[int],
) -> Report:
    from tri.verifying import settings_of, trial_of, verify_invariance
    from tri.verifying.settings import tuning_of, varied

    tuning = tuning_of(wrapped)
    # as kernels are launched: products and sums are contracted
    options = {"enable_fp_fusion": True, **options}
    trial = trial_of(kernel, tuning.signature(kernel, signature), values=values, size=size, options=options)
    return verify_invariance(settings_of(trial, grid, varied(vary), tuning), targets, seeds)
