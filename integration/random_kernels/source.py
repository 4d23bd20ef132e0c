"""The text of a program, as a module for tri or for Triton."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from integration.random_kernels.helpers import HELPERS
from integration.random_kernels.production import Production, written
from integration.random_kernels.program import Branch, Loop, Parameters, Program, Statement, Step, steps

__all__ = ["source", "triton_source"]

_IMPORTS = "import typing\n\nimport tri\nimport tri.language as tl\n"


def source(program: Program, table: Mapping[str, Production]) -> str:
    """A module with ``kernel`` and the helpers that it calls."""
    used = [table[step.production] for step in steps(program.body)]
    names = dict.fromkeys(name for production in used for name in production.helpers)
    libdevice = "from tri.language.extra import libdevice\n" if "libdevice" in names else ""
    helpers = "".join(f"\n\n{HELPERS[name]}" for name in names if name in HELPERS)
    head = f"\n\n@tri.jit\ndef kernel({', '.join(program.parameters.order)}):\n"
    lines = _lines(program.body, program.parameters, table) or ["pass"]
    return _IMPORTS + libdevice + helpers + head + "".join(f"    {line}\n" for line in lines)


def triton_source(text: str) -> str:
    """The same module for Triton."""
    return (
        text.replace("import tri\n", "import triton\n")
        .replace("tri.language", "triton.language")
        .replace("@tri.", "@triton.")
    )


def _lines(body: Sequence[Statement], parameters: Parameters, table: Mapping[str, Production]) -> list[str]:
    made: list[str] = []
    for statement in body:
        match statement:
            case Step():
                made += written(table[statement.production], statement, parameters)
            case Loop():
                made += _loop(statement, parameters, _lines(statement.body, parameters, table) or ["pass"])
            case Branch():
                made.append(f"if {parameters.flag} > {statement.above}:")
                made += _indented(_lines(statement.body, parameters, table) or ["pass"])
                if statement.orelse:
                    made += ["else:", *_indented(_lines(statement.orelse, parameters, table))]
    return made


def _loop(loop: Loop, parameters: Parameters, body: list[str]) -> list[str]:
    if loop.kind == "while":
        head = [f"{loop.index} = 0", f"while {loop.index} < {parameters.trip_count}:"]
        return [*head, *_indented([*body, f"{loop.index} += 1"])]
    return [f"for {loop.index} in {loop.kind}({parameters.trip_count}{loop.options}):", *_indented(body)]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
