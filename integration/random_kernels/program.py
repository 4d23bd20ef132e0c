"""A random program as a value: a tree of statements, from which come its text and its meaning in NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from integration.random_kernels.values import Value

__all__ = [
    "INPUT",
    "Branch",
    "Loop",
    "Parameters",
    "Program",
    "RandomKernel",
    "Statement",
    "Step",
    "Stored",
    "View",
    "steps",
]

#: elements of each input
INPUT = 4096


@dataclass(frozen=True)
class Stored:
    """An output: elements of ``dtype``, which all targets must agree on exactly, or within ``tolerance``
    (relative, and of the largest magnitude of the output)."""

    name: str
    dtype: str
    numel: int
    tolerance: float


@dataclass(frozen=True)
class View:
    """A second parameter ``name`` for an output's memory, from its element ``first`` on."""

    name: str
    output: int
    first: int


@dataclass(frozen=True)
class Parameters:
    """The names of the kernel's parameters; ``scalars_first`` is whether those of the numbers come first."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    trip_count: str = "n"
    flag: str = "flag"
    scalars_first: bool = False
    views: tuple[View, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """All names, in the order of the parameters."""
        scalars, pointers = (
            (self.trip_count, self.flag),
            (*self.inputs, *self.outputs, *(view.name for view in self.views)),
        )
        return (*scalars, *pointers) if self.scalars_first else (*pointers, *scalars)

    def view_of(self, output: int) -> str:
        """The other name of an output's memory."""
        return next(view.name for view in self.views if view.output == output)


@dataclass(frozen=True)
class Step:
    """One production at work: ``results`` are assigned what it makes of the values named ``operands``."""

    production: str
    results: tuple[Value, ...]
    operands: tuple[str, ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Loop:
    """``body``, as often as ``trip_count`` says; ``kind`` is ``range``, ``tl.range`` or ``while``."""

    kind: str
    index: str
    options: str
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Branch:
    """``body`` when the kernel's flag is above a number, else ``orelse``."""

    above: int
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


Statement: TypeAlias = Step | Loop | Branch


@dataclass(frozen=True)
class Program:
    """A kernel's parameters and statements."""

    parameters: Parameters
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class RandomKernel:
    """The source of a kernel with what it reads and writes; one that was written by hand has no ``program``.

    Its parameters are the inputs, the outputs, their views, ``trip_count`` and ``flag``, unless the program orders them
    otherwise.
    """

    source: str
    inputs: tuple[str, ...]
    outputs: tuple[Stored, ...]
    trip_count: int
    flag: int
    num_warps: int
    seed: int
    program: Program | None = field(default=None, repr=False)
    options: tuple[tuple[str, int], ...] = ()

    @property
    def productions(self) -> frozenset[str]:
        """The names of the productions that it has."""
        if self.program is None:
            return frozenset()
        return frozenset(step.production for step in steps(self.program.body))


def steps(body: Sequence[Statement]) -> Iterator[Step]:
    """All steps, however deep."""
    for statement in body:
        match statement:
            case Step():
                yield statement
            case Loop():
                yield from steps(statement.body)
            case Branch():
                yield from steps((*statement.body, *statement.orelse))
