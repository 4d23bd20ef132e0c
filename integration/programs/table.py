"""All programs, and their cases: all combinations of options, or a sample that covers it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from random import Random
from typing import Any

from integration.changes import optional_passes
from integration.programs.attention import ATTENTION
from integration.programs.cover import cover
from integration.programs.matmuls import MATMULS
from integration.programs.program import Case, Program, Scale
from tri_core.target_selection import resolve

__all__ = [
    "NUM_STAGES",
    "NUM_WARPS",
    "OPTIONS",
    "PROGRAMS",
    "Choices",
    "all_cases",
    "choices_of",
    "crossed",
    "sample",
]

PROGRAMS: Mapping[str, Program] = {p.name: p for p in (*MATMULS, *ATTENTION)}
NUM_WARPS = (1, 2, 4, 8, 16)
NUM_STAGES = (1, 2, 3, 4, 5)
#: the axes that say how a program is compiled; the others are its data
OPTIONS = ("num_warps", "num_stages", "without")


@dataclass(frozen=True)
class Choices:
    """Choices that a target offers: passes that may be left out, one at a time; specialised warps, and
    persistent grids.
    """

    without: tuple[str, ...] = ()
    warp_specialize: tuple[bool | None, ...] = (None,)
    persistent: tuple[bool | None, ...] = (None,)


def choices_of(target: str) -> Choices:
    """The choices of ``target``; those of a target without TTGIR are none."""
    found = resolve(target)
    if found.key.backend == "cpu":
        return Choices()
    specializations, grids = (
        (False, True) if hasattr(found.options_type, name) else (None,)
        for name in ("warp_specialize", "persistent")
    )
    return Choices(tuple(optional_passes(target)), specializations, grids)


def _axes(program: Program, scale: Scale, choices: Choices) -> dict[str, Sequence[Hashable]]:
    """Options by axis; shapes and blocks by number, which have a meaning over all programs."""
    sizes = program.sizes(scale)
    return {
        "program": (program.name,),
        "dtype": tuple(program.bounds),
        "shape": range(len(sizes.shapes)),
        "block": range(len(sizes.blocks)),
        "columns": program.columns,
        "num_warps": NUM_WARPS,
        "num_stages": NUM_STAGES,
        "without": ("", *choices.without),
        "warp_specialize": choices.warp_specialize,
        "persistent": choices.persistent,
    }


def _case(row: Mapping[str, Any], scale: Scale) -> Case:
    sizes = PROGRAMS[row["program"]].sizes(scale)
    return Case(**{**row, "shape": sizes.shapes[row["shape"]], "block": sizes.blocks[row["block"]]})


def sample(choices: Choices, *, strength: int = 2, scale: Scale = "small") -> list[Case]:
    """Cases with every combination of ``strength`` options."""
    tables = [_axes(program, scale, choices) for program in PROGRAMS.values()]
    return [_case(row, scale) for row in cover(tables, strength)]


def all_cases(choices: Choices, *, scale: Scale = "small") -> Iterator[Case]:
    """All combinations."""
    for program in PROGRAMS.values():
        axes = _axes(program, scale, choices)
        for options in product(*axes.values()):
            yield _case(dict(zip(axes, options, strict=True)), scale)


def crossed(choices: Choices, axes: Sequence[str] = OPTIONS, *, scale: Scale = "small") -> Iterator[Case]:
    """For each program every combination of ``axes``, with the combinations of all other options taking turns."""
    for program in PROGRAMS.values():
        found = _axes(program, scale, choices)
        rest = list(product(*(found[name] for name in found if name not in axes)))
        # one of each at a time, in an order that is not that of the axes
        Random(program.name).shuffle(rest)
        names = [*axes, *(name for name in found if name not in axes)]
        for options, others in zip(product(*(found[name] for name in axes)), cycle(rest), strict=False):
            yield _case(dict(zip(names, (*options, *others), strict=True)), scale)
