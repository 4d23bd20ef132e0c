"""The op by which one element differs between two settings of a trial."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

import tri
from tri.interpreter.observing import observed
from tri.interpreter.slices import ROUNDED, Program, Slicer, Step, place_of
from tri.verifying.records import Finding
from tri.verifying.running import INTERPRETER, ran
from tri.verifying.settings import Setting
from tri_core import mlir
from tri_core.ir.walking import collect
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.text.module import parse_module

__all__ = ["Cause", "cause_of"]

#: of a module that has ops of tensors
_IS_MODULE = " tt.func "
#: names of ops that make one element of many, of all dialects
_FOLDED = re.compile(r"reduce$|scan$|dot|mma")

#: how warps are laid out in a type
_WARPS = re.compile(r"warpsPerCTA = \[[^]]*\]")


@dataclass(frozen=True)
class Cause:
    """The op, with its place, and how it is not the same in both; ``change``: its lines in two modules."""

    text: str
    change: str = ""


def cause_of(
    settings: tuple[Setting, Setting],
    programs: tuple[Program, Program],
    level: str,
    seed: int,
    name: str,
    offset: int,
) -> Cause:
    """The first op by which the element at byte ``offset`` of array ``name`` differs, which ``programs`` stored.

    Both are run in the interpreter once more, and the ops compared that the element comes from.  Where these do the same, the compiles differ.
    """
    both = [_slice(*each, seed, name, offset) for each in zip(settings, programs, strict=True)]
    names = tuple(each.name or "the first" for each in settings)
    said = next(_apart(both[0], both[1], names), "")
    return Cause(said) if said else _compiled_apart(settings, level, seed, both[1])


def _slice(setting: Setting, program: Program, seed: int, name: str, offset: int) -> list[Step]:
    slicer = Slicer(program, name, offset)
    with observed(slicer):
        made = ran(setting.trial, INTERPRETER, seed)
    return [] if isinstance(made, Finding) else slicer.slice()


# --- in the source ----------------------------------------------------------------------------------------


def _apart(left: Sequence[Step], right: Sequence[Step], names: Sequence[str]) -> Iterator[str]:
    """Ops that are not the same in two slices, in the order of the second."""
    theirs, ours = _by_key(left), _by_key(right)
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for step in right:
        nth = counts[step.key]
        counts[step.key] += 1
        pair = theirs.get(step.key, [])
        what = f"{step.op} at {step.key[1]}"
        if not step.masks or not pair:
            continue  # the store, or an op of another path
        if step.folds and nth < len(pair) and pair[nth].width != step.width:
            yield f"{what}: it takes {pair[nth].width} elements at a time with {names[0]}, {step.width} with {names[1]}"
        if step.op in ROUNDED and len(pair) != len(ours[step.key]) and _repeats(pair, ours[step.key]):
            yield f"{what}: it runs {_times(pair)} with {names[0]}, {_times(ours[step.key])} with {names[1]}"
        if nth < len(pair) and (values := _first_apart(pair[nth], step)):
            yield f"{what}: it makes {values[0]} with {names[0]}, {values[1]} with {names[1]}"


def _times(steps: Sequence[Step]) -> str:
    return "once" if len(steps) == 1 else f"{len(steps)} times"


def _by_key(steps: Sequence[Step]) -> dict[tuple[str, str], list[Step]]:
    found: dict[tuple[str, str], list[Step]] = defaultdict(list)
    for step in steps:
        found[step.key].append(step)
    return found


def _repeats(*groups: Sequence[Step]) -> bool:
    """True if an op takes its own result of the time before, in any of ``groups``."""
    return any(
        any(operand is result for operand in after.operands for result in before.results)
        for steps in groups
        for before, after in pairwise(steps)
    )


def _first_apart(left: Step, right: Step) -> tuple[str, str] | None:
    """The first elements in both slices that differ; None where they are the same, addresses, or not as many."""
    if any(each.owner is not None for each in (*left.results, *right.results)):
        return None
    for a, b in zip(left.values(), right.values(), strict=False):
        if a.shape == b.shape and a.dtype == b.dtype and a.tobytes() != b.tobytes():
            bits = np.dtype(f"u{a.dtype.itemsize}")
            at = int(np.flatnonzero(a.view(bits) != b.view(bits))[0])
            return repr(a[at].item()), repr(b[at].item())
    return None


# --- in the compile ---------------------------------------------------------------------------------------


def _compiled_apart(settings: tuple[Setting, Setting], level: str, seed: int, steps: Sequence[Step]) -> Cause:
    """Ops that make one element of many, and are compiled to other layouts, where the source does the same."""
    folds = list({each.key: each for each in steps if each.folds}.values())
    if not folds:
        return Cause(
            "the compile: no op of the source makes one element of many, so products and sums may be contracted otherwise"
        )
    modules = [_compiled(each, level, seed) for each in settings]
    lines = {step: [each.get(step.key[1], []) for each in modules] for step in folds}
    apart = [step for step in folds if _order(step, lines[step][0]) != _order(step, lines[step][1])]
    named = " or ".join(f"{each.op} at {each.key[1]}" for each in apart or folds)
    if not apart:
        return Cause(
            f"{named}: the source and the last module do the same with both, but the code made of it does not"
        )
    one = "it is compiled to another order" if len(apart) == 1 else "these are compiled to other layouts"
    change = [
        f"{sign}{line}"
        for step in apart
        for sign, each in zip("-+", lines[step], strict=True)
        for line in each
    ]
    return Cause(f"{named}: the source does the same with both, but {one}", "\n".join(change))


def _order(step: Step, lines: Sequence[str]) -> list[str]:
    """Those of ``lines`` that may change an order: warps share the elements of a dot, never the products of one."""
    return list(lines) if step.body else [_WARPS.sub("", line) for line in lines]


def _compiled(setting: Setting, level: str, seed: int) -> dict[str, list[str]]:
    """Ops that make one element of many in the last module, with the types that say in which order, by each place that they are of."""
    trial = setting.trial
    with tri.target(level):
        made = trial.kernel.warmup(
            grid=trial.grid, **trial.arguments(seed), **trial.constants, **trial.options
        )
    texts = [text for text in made.asm.values() if isinstance(text, str) and _IS_MODULE in text]
    found: dict[str, list[str]] = defaultdict(list)
    if not texts:
        return found
    with mlir.session():
        module = parse_module(texts[-1])
        for op in collect(module.operation):
            if _FOLDED.search(op.name) and len(op.operands):
                place = source_location(op.location)
                for each in () if place is None else (place, *place.call_sites):
                    types = ", ".join(str(operand.type) for operand in op.operands)
                    found[place_of(each)].append(f"{op.name} of {types}")
    return found
