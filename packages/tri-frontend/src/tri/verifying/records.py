"""Findings about a kernel at one level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass

__all__ = ["TOLERANCES", "Arrays", "Difference", "Finding", "Verdict", "first_difference"]

Arrays = Mapping[str, npt.NDArray[Any]]
#: ``rounding``: other bits, within the tolerance; ``differs``: other bits than with another setting; ``undefined``: the kernel or its
#: inputs mean nothing; ``refused``: the level cannot run the kernel, so nothing is known of it
Verdict = Literal["equal", "rounding", "wrong", "differs", "undefined", "refused"]
#: of an element, or of the largest divided by ``_SMALL``, by bits of the fraction of its type
TOLERANCES = {52: 1e-9, 23: 1e-4, 10: 5e-3, 7: 3e-2}
_COARSE = 0.13
_SMALL = 256


@dataclass(frozen=True)
class Difference:
    """Element ``index`` of array ``name`` is ``found`` where ``expected`` was; ``count`` elements of it differ."""

    name: str
    index: int
    expected: float
    found: float
    count: int

    def __str__(self) -> str:
        """One line."""
        more = f" ({self.count} elements differ)" if self.count > 1 else ""
        return f"{self.name}[{self.index}] is {self.found!r}, expected {self.expected!r}{more}"


@dataclass(frozen=True)
class Finding:
    """Run of ``level`` on the inputs of ``seed``.

    ``difference`` is the first element that differs.  ``step`` is the pass with which it differs first (empty: none was looked for or
    found), ``change`` what that pass did to the module there, ``reason`` what an error says.  ``setting``: values of arguments and options, where
    several are run; ``step`` is then the op by which elements differ, ``change`` that op as it was compiled for both.
    """

    level: str
    seed: int
    verdict: Verdict
    difference: Difference | None = None
    step: str = ""
    change: str = ""
    reason: str = ""
    setting: str = ""

    def __str__(self) -> str:
        """A few lines, the first with level and verdict."""
        setting = f"{self.setting}, " if self.setting else ""
        lines = [f"{self.level}, {setting}seed {self.seed}: {self.verdict}"]
        lines += [f"  {self.difference}"] if self.difference is not None else []
        lines += [f"  first with {self.step}"] if self.step else []
        lines += [f"    {line}" for line in self.change.splitlines()]
        lines += [f"  {line}" for line in self.reason.splitlines()]
        return "\n".join(lines)


def first_difference(
    expected: Arrays, found: Arrays, *, exact: bool, ring: bool = False
) -> Difference | None:
    """The first element of the first array that differs; beyond the tolerance of its type unless ``exact``.

    ``ring``: floats are integers of their bits.
    """
    if ring:
        expected, found = (
            {n: v if v.dtype.kind in "iub" else v.view(f"i{v.dtype.itemsize}") for n, v in arrays.items()}
            for arrays in (expected, found)
        )
    for name, left in expected.items():
        apart = _apart(left, found[name], exact)
        if apart.any():
            index = int(np.flatnonzero(apart)[0])
            return Difference(
                name, index, left[index].item(), found[name][index].item(), int(np.count_nonzero(apart))
            )
    return None


def _apart(left: npt.NDArray[Any], right: npt.NDArray[Any], exact: bool) -> npt.NDArray[np.bool_]:
    if left.dtype.kind in "iub":
        return np.asarray(left != right)
    a, b = left.astype(np.float64), right.astype(np.float64)
    same = (a == b) & (np.signbit(a) == np.signbit(b) if exact else np.True_) | (np.isnan(a) & np.isnan(b))
    if exact:
        return np.asarray(~same)
    # what is far smaller than the largest may be the rest of a sum
    scale = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= _tolerance(left.dtype) * np.maximum(np.abs(a), scale / _SMALL)
    return np.asarray(~(same | near))


def _tolerance(dtype: np.dtype[Any]) -> float:
    import ml_dtypes

    return TOLERANCES.get(int(ml_dtypes.finfo(dtype).nmant), _COARSE)  # type: ignore[no-untyped-call]
