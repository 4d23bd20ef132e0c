"""Rows of the language's table, and how a row becomes cases."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from tri_conformance.case import Case, Needs
from tri_conformance.contracts import Contract, Exact, Inaccurate
from tri_conformance.dtypes import NUMPY, Array
from tri_conformance.subject import Subject, arrays_in, with_arrays

__all__ = ["WARPS", "Feature", "Point", "Trial", "cases_of"]

#: numbers of warps, dealt out to a feature's points in number
WARPS = (4, 1, 8, 2)


@dataclass(frozen=True)
class Point:
    """Sample point of a feature: element type, shape of the block, and random numbers of its own."""

    dtype: str
    shape: tuple[int, ...]
    rng: np.random.Generator = field(compare=False)

    @property
    def count(self) -> int:
        """Elements of the shape."""
        return prod(self.shape)

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's type for the element type."""
        return NUMPY[self.dtype]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A launch and its exact results: ``exact`` maps positions among ``arguments`` to what stands there afterwards.

    Arguments are arrays, scalars, None, descriptors of arrays, and tuples of these; what stands in a tuple of arrays
    is a tuple.  ``names`` says for a position what its results are, one name for each array.
    """

    arguments: Sequence[Any]
    exact: Mapping[int, Array | tuple[Array, ...]]
    names: Mapping[int, Sequence[str]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[int, ...] = (1,)


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A row: ``make`` a launch of ``kernel`` for each of ``dtypes`` x ``shapes``, held to a contract.

    ``contracts`` has other contracts by element type; ``also`` further types that a target must have;
    ``scratch`` positions of arguments that may hold anything afterwards, ``options`` of the compile;
    ``group`` the feature that many rows are cases of, a sample of which is one of them all.
    """

    name: str
    kernel: Any
    make: Callable[[Point], Trial]
    dtypes: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    contract: Contract = field(default_factory=Exact)
    contracts: Mapping[str, Contract] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    scratch: tuple[int, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    level: str = "language"
    group: str = ""

    def _contract(self, dtype: str, result: Array) -> Contract:
        """Whole numbers are exact whatever is said of floats beside them."""
        return Exact() if result.dtype.kind in "iub" else self.contracts.get(dtype, self.contract)

    def check(self, subject: Subject, seed: str, dtype: str, shape: tuple[int, ...], warps: int) -> None:
        """Launch at one point and compare every result; AssertionError when one breaks the contract.

        Inaccurate only when nothing else is wrong.
        """
        trial = self.make(Point(dtype, shape, np.random.default_rng(zlib.crc32(seed.encode()))))
        given = list(arrays_in(trial.arguments))
        held = [array.copy() for array in given]
        arguments = with_arrays(list(trial.arguments), iter(held))
        subject.launch(self.kernel, trial.grid, arguments, trial.constants, num_warps=warps, **self.options)
        written = _written(trial, arguments)
        scratch = {id(array) for i in self.scratch for array in arrays_in(arguments[i])}
        inaccurate: list[Inaccurate] = []
        for array, before in zip(held, given, strict=True):
            if id(array) in written:
                exact, name = written[id(array)]
                try:
                    with _named(name):
                        self._contract(dtype, array).check(array, exact)
                except Inaccurate as found:
                    inaccurate.append(found)
            elif id(array) not in scratch:
                Exact().check(array, before)  # what is only read is as it was
        if inaccurate:
            raise max(inaccurate, key=lambda found: found.ulp)


def _written(trial: Trial, arguments: Sequence[Any]) -> dict[int, tuple[Array, str]]:
    """Expected contents of the written arrays of ``arguments``, and their names, by the arrays' identities."""
    found: dict[int, tuple[Array, str]] = {}
    for i, made in trial.exact.items():
        exact = made if isinstance(made, tuple) else (made,)
        arrays = list(arrays_in(arguments[i]))
        names = trial.names.get(i, [""] * len(arrays))
        found.update({id(a): (e, n) for a, e, n in zip(arrays, exact, names, strict=True)})
    return found


@contextmanager
def _named(name: str) -> Iterator[None]:
    """A broken contract says which result broke it."""
    try:
        yield
    except Inaccurate as found:
        raise Inaccurate(f"{name}: {found}", found.ulp) if name else found from None
    except AssertionError as found:
        raise AssertionError(f"{name}: {found}") if name else found from None


def cases_of(features: Sequence[Feature]) -> Iterator[Case]:
    """Every feature at every point."""
    for row in features:
        first = zlib.crc32(row.name.encode()) if row.group else 0  # rows of a group differ too
        for (number, dtype), (shift, shape) in itertools.product(
            enumerate(row.dtypes), enumerate(row.shapes)
        ):
            # dealt out along both axes, so that types and shapes meet different numbers
            warps = WARPS[(first + number + shift) % len(WARPS)]
            yield _case(row, dtype, shape, warps)


def _case(row: Feature, dtype: str, shape: tuple[int, ...], warps: int) -> Case:
    point = f"{dtype}-{'x'.join(map(str, shape))}-w{warps}"
    seed = f"{row.name}/{point}"

    def run(subject: Subject) -> None:
        row.check(subject, seed, dtype, shape, warps)

    feature, point = (row.group, f"{row.name}-{point}") if row.group else (row.name, point)
    return Case(row.level, feature, point, run, Needs(dtypes=(dtype, *row.also), warps=warps))
