"""Records of an operator of a package, its execution, and its possible verdicts."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from integration.published.cases import Check
from tri_core.errors import TriError

__all__ = [
    "DECLINES",
    "DEVICE",
    "FAILS",
    "NO_ARGUMENTS",
    "REFUSED",
    "RIGHT",
    "WRONG",
    "NoArguments",
    "Operator",
    "Verdict",
    "checks_of",
    "declines",
    "judge",
]

RIGHT = "right"
WRONG = "wrong"
REFUSED = "refused"
DECLINES = "the package declines"
FAILS = "fails"
DEVICE = "needs its device"
NO_ARGUMENTS = "no arguments"


class NoArguments(LookupError):
    """No recipe makes arguments for an operator: its message says what is missing."""


@dataclass(frozen=True)
class Operator:
    """A public function of ``package``; ``checks`` runs it and gives what it made beside what it should have."""

    package: str
    name: str
    checks: Callable[[], Iterable[Check]]


@dataclass(frozen=True)
class Verdict:
    """Verdict on an operator: its state, the largest relative error, the reason if it is not right."""

    package: str
    name: str
    state: str
    checks: int = 0
    error: float = 0.0
    reason: str = ""
    seconds: float = 0.0

    def as_record(self) -> dict[str, Any]:
        """The fields that are kept."""
        kept = asdict(self)
        del kept["seconds"]
        return kept | {"error": float(f"{self.error:.1e}")}


def judge(operator: Operator) -> Verdict:
    """Run ``operator``."""
    start = time.perf_counter()
    torch.manual_seed(0)
    state, reason, worst, count = RIGHT, "", 0.0, 0
    try:
        for check in operator.checks():
            count += 1
            worst = max(worst, check.error)
            if not check.error <= check.tolerance and state == RIGHT:
                state, reason = WRONG, f"{check.name}: {check.error:.1e}, allowed {check.tolerance:.0e}"
        if not count:
            state, reason = NO_ARGUMENTS, "nothing to compare"
    except NoArguments as error:
        state, reason = NO_ARGUMENTS, str(error)
    except Exception as error:
        state = _state(error)
        reason = _reason(error)
    return Verdict(operator.package, operator.name, state, count, worst, reason, time.perf_counter() - start)


#: what a package asks of a tensor, or says of it, that has to be in a GPU's memory
_DEVICE = re.compile(r"\b(CUDA|cuda|GPU|CPU only)\b|\.is_cuda\b|\.device\.type == ")


def _state(error: BaseException) -> str:
    """Refused where tri says in an error that it does not do this; its device, where the package asks for a GPU."""
    if isinstance(error, TriError):
        return REFUSED
    if isinstance(error, NotImplementedError):
        return DECLINES
    asked = traceback.extract_tb(error.__traceback__)[-1].line if isinstance(error, AssertionError) else ""
    if _DEVICE.search(f"{error} {asked}"):
        return DEVICE
    return DECLINES if declines(error) else FAILS


def declines(error: BaseException) -> bool:
    """True if a package's own check says in words that it does not take such arguments."""
    if isinstance(error, NotImplementedError):
        return not isinstance(error, TriError)
    place = traceback.extract_tb(error.__traceback__)[-1].filename
    ours = Path(place).is_relative_to(Path(__file__).parents[1])
    return (
        isinstance(error, AssertionError) and bool(str(error)) and not ours and not _DEVICE.search(str(error))
    )


def _reason(error: BaseException) -> str:
    """The error in one line, and the line of the package that led to it."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tri" not in f.filename]
    where = ""
    if frames:
        folder, _, file = frames[-1].filename.rpartition("/")
        where = f"{folder.rpartition('/')[2]}/{file}:{frames[-1].lineno}"
    words = (
        " ".join(traceback.format_exception_only(error)[-1].split()) if str(error) else type(error).__name__
    )
    words = " ".join(str(error).split()) or words
    return f"{type(error).__name__}: {words[:160]} ({where})"


def checks_of(
    name: str, got: Any, want: Any, tolerance: float = 2e-5, absolute: float = 0.0
) -> Iterator[Check]:
    """Checks of all tensors in ``got``, nested in tuples and lists, beside those in ``want``.

    ``tolerance`` is of the largest magnitude; an error of ``absolute`` is allowed always.  Of dimensions of size 1 there may be more or less,
    and None stands for an empty tensor.
    """
    if isinstance(want, (bool, int, float)):
        want = torch.as_tensor(want)
    if want is None:
        return
    if isinstance(want, torch.Tensor):
        if got is None and not want.numel():
            return
        found = got if isinstance(got, torch.Tensor) else torch.as_tensor(got)
        if [n for n in found.shape if n != 1] == [n for n in want.shape if n != 1]:
            found = found.reshape(want.shape)
        largest = (
            float(want.detach().double().abs().max()) if want.numel() and want.dtype != torch.bool else 1.0
        )
        yield Check(name, found, want, max(tolerance, absolute / max(largest, 1e-30)))
    elif isinstance(want, (tuple, list)):
        if len(got) < len(want):
            raise AssertionError(f"{len(got)} results, {len(want)} wanted")
        for number, (mine, theirs) in enumerate(zip(got, want, strict=False)):
            yield from checks_of(f"{name}{number}", mine, theirs, tolerance, absolute)
