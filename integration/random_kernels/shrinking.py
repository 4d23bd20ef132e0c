"""Smaller kernels that fail in the same way: statements, blocks and details are left out one after another.

A program is a value whose data flow is known, so that each step leaves a program that is well formed; that takes a
hundred launches where a search through the choices that made the kernel takes thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from integration.random_kernels.productions import PRODUCTIONS
from integration.random_kernels.program import (
    Branch,
    Loop,
    Parameters,
    Program,
    RandomKernel,
    Statement,
    Step,
    steps,
)
from integration.random_kernels.source import source
from integration.random_kernels.values import Value

__all__ = ["shrunk"]

Body = tuple[Statement, ...]
#: simpler values of some attributes
_SIMPLER: dict[str, tuple[Any, ...]] = {
    "mask": (("", 0, 0),), "wide": ("",), "first": (0,), "limit": (-1,), "columns": (False,), "reverse": (False,),
    "number": (1,), "left": (False,),
}  # fmt: skip


def shrunk(kernel: RandomKernel, fails: Callable[[RandomKernel], bool]) -> RandomKernel:
    """The smallest kernel found with which ``fails``; ``kernel`` itself when nothing can go."""
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(kernel):
            if fails(smaller):
                kernel, progress = smaller, True
                break
    return kernel


def _smaller(kernel: RandomKernel) -> Iterator[RandomKernel]:
    """Kernels with less, those with much less first."""
    program = kernel.program
    assert program is not None
    for body in _bodies(program.body):
        if _well_formed(body, program.parameters):
            yield _with(kernel, body)
    yield from _fewer_outputs(kernel)
    plain = Parameters(
        tuple(f"x{i}" for i in range(len(kernel.inputs))),
        tuple(f"out{i}" for i in range(len(kernel.outputs))),
        views=tuple(replace(v, name=f"again{v.output}") for v in program.parameters.views),
    )
    if program.parameters != plain and not set(plain.order) & _names(program.body):
        yield _with(kernel, program.body, plain)
    yield from (replace(kernel, trip_count=simple) for simple in (0, 2) if kernel.trip_count > simple)
    if kernel.flag:
        yield replace(kernel, flag=0)
    if kernel.num_warps > 1:
        yield replace(kernel, num_warps=1)


def _with(kernel: RandomKernel, body: Body, parameters: Parameters | None = None) -> RandomKernel:
    assert kernel.program is not None
    program = Program(parameters or kernel.program.parameters, body)
    return replace(kernel, program=program, source=source(program, PRODUCTIONS))


def _names(body: Sequence[Statement]) -> set[str]:
    return {value.name for step in steps(body) for value in step.results}


def _well_formed(
    body: Sequence[Statement], parameters: Parameters, known: frozenset[str] = frozenset()
) -> bool:
    """True if every operand is defined before its use."""
    names = set(known)
    for statement in body:
        match statement:
            case Step():
                if not names.issuperset(statement.operands):
                    return False
                names.update(value.name for value in statement.results)
            case Loop():
                if not _well_formed(statement.body, parameters, frozenset({*names, statement.index})):
                    return False
            case Branch():
                inner = (statement.body, statement.orelse)
                if not all(_well_formed(part, parameters, frozenset(names)) for part in inner):
                    return False
    return True


def _bodies(body: Body) -> Iterator[Body]:
    """Bodies with less in them."""
    yield from _one_store(body)
    needed = _needed(body)
    if needed != body:
        yield needed
    for i in reversed(range(len(body))):
        yield body[:i] + body[i + 1 :]
        for instead in _instead(body[i]):
            yield (*body[:i], *instead, *body[i + 1 :])
    for i, statement in enumerate(body):
        if isinstance(statement, Step):
            yield from _substituted(body, i, statement)


def _one_store(body: Body) -> Iterator[Body]:
    """Bodies with one of the statements that write."""
    writing = [s for s in body if isinstance(s, Step) and "output" in dict(s.attributes)]
    for one in writing if len(writing) > 1 else ():
        yield _needed(tuple(s for s in body if s is one or s not in writing))


def _needed(body: Body) -> Body:
    """Without what nothing uses."""
    used = {name for step in steps(body) for name in step.operands}

    def keep(statement: Statement) -> bool:
        if not isinstance(statement, Step):
            inner = list(steps((statement,)))
            return any("output" in dict(s.attributes) or _results(s) & used for s in inner)
        return "output" in dict(statement.attributes) or bool(_results(statement) & used)

    kept = tuple(s for s in body if keep(s))
    return kept if kept == body else _needed(kept)


def _results(step: Step) -> set[str]:
    return {value.name for value in step.results}


def _instead(statement: Statement) -> Iterator[Body]:
    """Replacements of one statement."""
    match statement:
        case Loop():
            yield statement.body
            if statement.kind != "range" or statement.options:
                yield (replace(statement, kind="range", options=""),)
            yield from ((replace(statement, body=inner),) for inner in _bodies(statement.body) if inner)
        case Branch():
            yield statement.body
            yield statement.orelse
            yield from ((replace(statement, body=inner),) for inner in _bodies(statement.body) if inner)
            if statement.orelse:
                yield (replace(statement, orelse=()),)
        case Step():
            yield from ((step,) for step in _simpler(statement))


def _simpler(step: Step) -> Iterator[Step]:
    attributes = dict(step.attributes)
    for name, values in _SIMPLER.items():
        for value in values:
            if name in attributes and attributes[name] != value and type(attributes[name]) is type(value):
                yield replace(step, attributes=tuple((attributes | {name: value}).items()))
    if step.production == "load" and len(attributes["shape"]) == 2:
        dense = (attributes["shape"][1], 1)
        if attributes["strides"] != dense:
            yield replace(step, attributes=tuple((attributes | {"strides": dense, "first": 0}).items()))


def _substituted(body: Body, i: int, step: Step) -> Iterator[Body]:
    """Bodies in which an earlier value of the type stands for what a step made."""
    known: list[Value] = [v for s in steps(body[:i]) for v in s.results]
    for value in step.results:
        same = [
            v.name for v in known if (v.dtype, v.shape) == (value.dtype, value.shape) and v.name != value.name
        ]
        for name in dict.fromkeys(reversed(same[-2:])):
            yield body[:i] + tuple(_renamed(s, value.name, name) for s in body[i + 1 :])


def _renamed(statement: Statement, old: str, new: str) -> Statement:
    """``statement`` with another operand."""
    match statement:
        case Step():
            return replace(
                statement, operands=tuple(new if name == old else name for name in statement.operands)
            )
        case Loop():
            return replace(statement, body=tuple(_renamed(s, old, new) for s in statement.body))
        case Branch():
            return replace(
                statement,
                body=tuple(_renamed(s, old, new) for s in statement.body),
                orelse=tuple(_renamed(s, old, new) for s in statement.orelse),
            )


def _fewer_outputs(kernel: RandomKernel) -> Iterator[RandomKernel]:
    """Without the outputs that nothing writes."""
    program = kernel.program
    assert program is not None
    used = sorted(
        {dict(s.attributes)["output"] for s in steps(program.body) if "output" in dict(s.attributes)}
    )
    if len(used) == len(kernel.outputs) or not used:
        return
    new = {old: place for place, old in enumerate(used)}
    body = tuple(_renumbered(statement, new) for statement in program.body)
    views = tuple(replace(v, output=new[v.output]) for v in program.parameters.views if v.output in new)
    outputs = tuple(program.parameters.outputs[i] for i in used)
    parameters = replace(program.parameters, outputs=outputs, views=views)
    smaller = replace(kernel, outputs=tuple(kernel.outputs[i] for i in used))
    yield _with(smaller, body, parameters)


def _renumbered(statement: Statement, new: dict[int, int]) -> Statement:
    match statement:
        case Step():
            attributes = dict(statement.attributes)
            if "output" in attributes:
                attributes["output"] = new[attributes["output"]]
            return replace(statement, attributes=tuple(attributes.items()))
        case Loop():
            return replace(statement, body=tuple(_renumbered(s, new) for s in statement.body))
        case Branch():
            return replace(
                statement,
                body=tuple(_renumbered(s, new) for s in statement.body),
                orelse=tuple(_renumbered(s, new) for s in statement.orelse),
            )
