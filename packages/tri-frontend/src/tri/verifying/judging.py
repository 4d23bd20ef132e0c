"""A trial at every level, and after which pass it first differs."""

from __future__ import annotations

import difflib
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tri.compiler.source import ASTSource
from tri.launch.dispatcher import forget
from tri.verifying.assembling import judge_assemblers
from tri.verifying.inputs import Trial
from tri.verifying.records import Arrays, Finding, first_difference
from tri.verifying.running import INTERPRETER, ran
from tri_core import compiler, knobs
from tri_core.lazy_dataclasses import dataclass
from tri_core.plugins import manager
from tri_core.target import EXACT_LEVEL
from tri_core.target_options import parse_options
from tri_core.target_selection import resolve

__all__ = ["Report", "exact_level", "levels_of", "verify"]

#: lines that are shown of what a pass changed
_LINES = 8
#: what is at fault where a level is wrong and the one above it is right
_BELOW = "what makes this level of the one before: LLVM, a text of ours for the assembler, or a rewriting"


@dataclass(frozen=True)
class Report:
    """All findings, in the order in which levels ran; those of a level that differs name the pass."""

    findings: tuple[Finding, ...]

    def having(self, verdict: str) -> tuple[Finding, ...]:
        """Those with this verdict."""
        return tuple(each for each in self.findings if each.verdict == verdict)

    @property
    def is_right(self) -> bool:
        """True if every level ran and is equal, or within rounding: what is undefined or refused is not."""
        return all(each.verdict in ("equal", "rounding") for each in self.findings)


def levels_of(target: str) -> list[str]:
    """Targets that can run here for ``target``: itself if it needs no device, else its simulator at each level.

    Unsupported where the backend has no simulator.
    """
    key = resolve(target).key
    if key.simulated or key.backend == "cpu":
        return [str(key)]
    named = f"sim:{key}"
    levels = manager().simulation(resolve(target)).levels
    return [named, *(f"{named}:level={level}" for level in levels)]


def verify(
    trial: Trial,
    targets: Sequence[str],
    seeds: Sequence[int] = (0,),
    *,
    assemblers: bool = False,
    exact: bool = False,
) -> Report:
    """Run ``trial`` by the interpreter and at each level of ``targets``, on the inputs of each of ``seeds``.

    A level that differs is compiled with fewer passes until the first is found with which it does.  Inputs on which the interpreter finds
    the kernel undefined (out of bounds, a race, programs that wait for ever) are not run elsewhere.  With ``exact`` floats are integers
    modulo a power of two, in the interpreter and at the level ``exact`` of each target: any other bit is wrong.  With ``assemblers`` nothing
    of this is done, but what each assembler of ``targets`` makes of the text is compared with it.
    """
    if assemblers:
        return Report(tuple(each for target in targets for each in judge_assemblers(trial, target, seeds)))
    findings: list[Finding] = []
    for seed in seeds:
        if exact:
            findings += _exactly(replace(trial, exact=True), targets, seed)
            continue
        expected = ran(trial, INTERPRETER, seed)
        if isinstance(expected, Finding):
            findings.append(expected)
            continue
        for target in targets:
            first, *below = levels_of(target)
            above = _judged(trial, first, seed, expected, walks=True)
            findings.append(above)
            for level in below:
                found = _judged(trial, level, seed, expected, walks=False)
                is_new = found.verdict == "wrong" and above.verdict in ("equal", "rounding")
                findings.append(replace(found, step=_BELOW) if is_new else found)
    return Report(tuple(findings))


def _exactly(trial: Trial, targets: Sequence[str], seed: int) -> list[Finding]:
    expected = ran(trial, INTERPRETER, seed)
    if isinstance(expected, Finding):
        return [replace(expected, level=f"{INTERPRETER}:level={EXACT_LEVEL}")]
    return [_judged(trial, exact_level(target), seed, expected, walks=True) for target in targets]


def exact_level(target: str) -> str:
    """The level of ``target`` at which floats are integers; Unsupported where nothing of it can be simulated."""
    key = resolve(target).key
    manager().simulation(resolve(str(key.real)))
    return f"sim:{key.real}:level={EXACT_LEVEL}"


def _judged(trial: Trial, level: str, seed: int, expected: Arrays, *, walks: bool) -> Finding:
    found = ran(trial, level, seed)
    if isinstance(found, Finding):
        # what the interpreter ran without a fault has none: a level that finds one was compiled wrongly
        if found.verdict != "undefined" or _says_more(found):
            return found
        located = _first_pass(trial, level, seed, expected) if walks else None
        return replace(located or found, verdict="wrong", reason=found.reason)
    difference = first_difference(expected, found, exact=True, ring=trial.exact)
    if difference is None:
        return Finding(level, seed, "equal")
    beyond = difference if trial.exact else first_difference(expected, found, exact=False)
    if beyond is None:
        return Finding(level, seed, "rounding", difference)
    located = _first_pass(trial, level, seed, expected) if walks else None
    return replace(located or Finding(level, seed, "wrong"), difference=beyond)


def _says_more(found: Finding) -> bool:
    """True if a level reports what the interpreter cannot see in a kernel: a wait that an assembler may delete."""
    return "weak load" in found.reason


# --- which pass -------------------------------------------------------------------------------------------


def _first_pass(trial: Trial, level: str, seed: int, expected: Arrays) -> Finding | None:
    """The pass with which the level first differs; None where it has no passes that may be left out."""
    with tempfile.TemporaryDirectory(prefix="tri-verify-") as folder:
        log = Path(folder) / "passes.jsonl"
        names = _passes(trial, level, seed, log)
        if not names:
            return None
        if _differs(trial, level, seed, expected, 0):
            where = "the required passes, or the lowering behind them"
            return Finding(level, seed, "wrong", step=where)
        right, wrong = 0, len(names)
        if not _differs(trial, level, seed, expected, wrong):
            return None
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if _differs(trial, level, seed, expected, middle):
                wrong = middle
            else:
                right = middle
        stage, name = names[wrong - 1]
        step = f"pass {name!r} (number {wrong}) of stage {stage}"
        return Finding(level, seed, "wrong", step=step, change=_change(trial, level, stage, right, wrong))


def _passes(trial: Trial, level: str, seed: int, log: Path) -> list[tuple[str, str]]:
    """Stage and name of the passes that may be left out, in the order of their numbers."""
    with _limited(None, OPT_BISECT_LOG=log):
        ran(trial, level, seed)
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [(each["stage"], each["name"]) for each in lines]


def _differs(trial: Trial, level: str, seed: int, expected: Arrays, limit: int) -> bool:
    with _limited(limit):
        found = ran(trial, level, seed)
    if isinstance(found, Finding):
        return found.verdict == "undefined"
    return first_difference(expected, found, exact=trial.exact, ring=trial.exact) is not None


@contextmanager
def _limited(limit: int | None, **more: Any) -> Iterator[None]:
    """Compile anew with so many passes."""
    forget()
    try:
        with knobs.scope(ALWAYS_COMPILE=True, OPT_BISECT_LIMIT=limit, **more):
            yield
    finally:
        forget()


def _change(trial: Trial, level: str, stage: str, before: int, after: int) -> str:
    """The first ops that pass ``after`` of ``stage`` changed, as lines of a difference."""
    left, right = (_ops(_module(trial, level, stage, limit)) for limit in (before, after))
    lines = [
        line
        for line in difflib.unified_diff(left, right, lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    more = [f"({len(lines) - _LINES} lines more)"] if len(lines) > _LINES else []
    return "\n".join([*lines[:_LINES], *more])


def _module(trial: Trial, level: str, stage: str, limit: int) -> str:
    target = resolve(level)
    source = ASTSource(trial.kernel, _signature(trial), dict(trial.constants))
    with _limited(limit):
        made = compiler.trace(source, target, parse_options(target, dict(trial.options)))
    found = [each.text for each in made.snapshots if each.stage == stage]
    return found[-1] if found else ""


def _signature(trial: Trial) -> dict[str, str]:
    return {**trial.types, **dict.fromkeys(trial.constants, "constexpr")}


def _ops(text: str) -> list[str]:
    """Lines without places in the source."""
    return [line.partition(" loc(")[0].strip() for line in text.splitlines() if not line.startswith("#loc")]
