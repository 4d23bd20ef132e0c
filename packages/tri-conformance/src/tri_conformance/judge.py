"""The judge: what a case's outcome means, given what the target declares.  Nothing else excuses anything."""

from __future__ import annotations

import datetime as dt
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from tri_conformance.case import Case
from tri_conformance.contracts import Inaccurate
from tri_conformance.subject import Subject
from tri_core.api import (
    Accuracy,
    CompilationError,
    ConformanceProfile,
    Gap,
    KnownFailure,
    LaunchError,
    OptionError,
    OutOfResources,
    TargetError,
    TriError,
    Unsupported,
)

__all__ = [
    "REFUSALS",
    "Declaration",
    "Result",
    "Verdict",
    "declaration_for",
    "faults_of",
    "judge",
    "unused",
    "weighed",
]

Verdict = Literal["passed", "not-applicable", "gap", "known-failure", "failed"]

Declaration = Gap | KnownFailure | Accuracy

#: what a target may say instead of doing something
REFUSALS = (Unsupported, OutOfResources, CompilationError, LaunchError, OptionError, TargetError)


@dataclass(frozen=True, kw_only=True)
class Result:
    """The verdict on one case, with its reason and the seconds that it took."""

    case: Case
    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0


def declaration_for(case: Case, profile: ConformanceProfile) -> Declaration | None:
    """The first gap, else known failure, else accuracy, whose glob matches ``case``."""
    for entry in _entries(profile):
        if fnmatchcase(case.id, entry.test):
            return entry
    return None


def _entries(profile: ConformanceProfile) -> list[Declaration]:
    return [*profile.gaps, *profile.known_failures, *profile.accuracy]


def faults_of(entry: Declaration, today: dt.date | None = None) -> str:
    """Error in a declaration itself: no reason, no bound, no date, past its date; empty if there is none."""
    if not entry.reason.strip():
        return f"the declaration for {entry.test!r} gives no reason"
    if isinstance(entry, Accuracy):
        meant = math.isfinite(entry.ulp) and entry.ulp > 0
        return (
            "" if meant else f"the accuracy {entry.test!r} is {entry.ulp} ulp; a positive number is expected"
        )
    if isinstance(entry, Gap) and not entry.remedy.strip():
        return f"the gap {entry.test!r} gives no remedy"
    try:
        last = dt.date.fromisoformat(entry.expires)
    except ValueError:
        return f"the declaration for {entry.test!r} expires {entry.expires!r}; a date YYYY-MM-DD is expected"
    if last < (today or dt.datetime.now(dt.UTC).date()):
        return f"the declaration for {entry.test!r} has expired on {last}: {entry.reason}"
    return ""


def unused(profile: ConformanceProfile, cases: Iterable[Case]) -> list[str]:
    """Globs of declarations that match none of ``cases``."""
    ids = [case.id for case in cases]
    return [e.test for e in _entries(profile) if not any(fnmatchcase(i, e.test) for i in ids)]


def judge(case: Case, subject: Subject) -> Result:
    """Run ``case`` and say what came of it."""
    start = time.perf_counter()
    try:
        missing = case.needs.missing(subject)
    except Exception as unknown:
        return Result(
            case=case, verdict="failed", detail=f"whether it applies is not known: {_tell(unknown)}"
        )
    if missing:
        return Result(case=case, verdict="not-applicable", detail=missing)
    error = _outcome(case, subject)
    return weighed(case, subject.profile, error, time.perf_counter() - start)


def weighed(case: Case, profile: ConformanceProfile, error: BaseException | None, seconds: float) -> Result:
    """The verdict on ``case`` that ended with ``error`` (None: well), given what the target declares."""
    verdict, detail = _weigh(declaration_for(case, profile), error)
    return Result(case=case, verdict=verdict, detail=detail, seconds=seconds)


def _outcome(case: Case, subject: Subject) -> BaseException | None:
    try:
        case.run(subject)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # pytest's own skips are no Exception: they fail like anything else
        return error
    return None


def _weigh(entry: Declaration | None, error: BaseException | None) -> tuple[Verdict, str]:
    if entry is None:
        return ("passed", "") if error is None else ("failed", _tell(error))
    fault = faults_of(entry)
    if fault:
        return "failed", fault
    if error is None:
        return (
            "failed",
            f"declared under {entry.test!r} ({entry.reason}), but it passes: remove the declaration",
        )
    if isinstance(entry, Accuracy):
        return _within(entry, error)
    if isinstance(entry, KnownFailure):
        return "known-failure", f"{entry.reason} (until {entry.expires}): {_tell(error)}"
    if not isinstance(error, REFUSALS):
        return "failed", f"a gap must be refused with a typed error, but: {_tell(error)}"
    return "gap", f"{entry.reason}: {_first_line(error)}"


def _within(entry: Accuracy, error: BaseException) -> tuple[Verdict, str]:
    if isinstance(error, Inaccurate) and error.ulp <= entry.ulp:
        return "passed", f"declared: within {entry.ulp:g} ulp ({entry.reason}): {error}"
    return "failed", f"declared to be within {entry.ulp:g} ulp, but: {_tell(error)}"


def _tell(error: BaseException) -> str:
    named = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
    undeclared = " (not declared as a gap)" if isinstance(error, REFUSALS) else ""
    return f"{named}{error}{undeclared}"


def _first_line(error: BaseException) -> str:
    message = error.message if isinstance(error, TriError) else str(error)
    return message.split("\n", 1)[0]


def failures(results: Sequence[Result]) -> list[Result]:
    """The results that are failures."""
    return [result for result in results if result.verdict == "failed"]
