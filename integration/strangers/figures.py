"""Machine code in figures, alike for either compiler and for both kinds of GPU."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Code", "Figures", "Patterns", "beyond_a_tenth", "figures_of", "worse"]

Figures = Mapping[str, float]
#: figures of which less is worse; of all others more is
_LEAST = (
    "residents",
    "load_bytes",
    "store_bytes",
    "shared_bytes",
    "asynchronous",
    "ahead",
    "dots",
    "atomic_bytes",
)
#: what a figure may be worse by beside a tenth: bytes of spills, instructions of a kernel
_SLACK = {
    "spills": 32,
    "instructions": 8,
    "local": 4,
    "barriers": 1,
    "waits": 1,
    "shared_bytes": 1,
    "load_bytes": 0.5,
    "store_bytes": 0.5,
}
_TENTH = 0.1
#: figures that are those of a kernel's text, and are not held themselves: what registers and shared memory do, ``residents`` says
_NOT_JUDGED = ("registers", "shared", "ms", "loop", "work")


@dataclass(frozen=True)
class Patterns:
    """Patterns of instructions; ``width`` gives the bytes of a thread's access, ``dot`` the products of a dot
    (0: none), ``rank`` its kind.
    """

    load: re.Pattern[str]
    store: re.Pattern[str]
    shared: re.Pattern[str]
    asynchronous: re.Pattern[str]
    atomic: re.Pattern[str]
    cas: re.Pattern[str]
    fence: re.Pattern[str]
    barrier: re.Pattern[str]
    local: re.Pattern[str]
    wait: re.Pattern[str]
    width: Callable[[str], int]
    dot: Callable[[str], float]
    rank: Callable[[str], int]
    #: bytes that each of four neighbours writes of one sector; 0 where stores of dots' results are judged by their width
    quarter: int = 0
    #: fences that order a CTA's own accesses: those of the hot loop count
    proxy: re.Pattern[str] = re.compile(r"(?!)")


@dataclass(frozen=True)
class Code:
    """Instructions of a kernel, those of its innermost loops, and what it takes of the target; ``ahead``: copies in flight behind a wait."""

    body: Sequence[str]
    loops: Sequence[Sequence[str]]
    registers: int
    spills: int
    shared: int
    residents: int
    ahead: Callable[[Sequence[str]], int]


def figures_of(code: Code, patterns: Patterns, ms: int) -> dict[str, float]:
    """All figures of a kernel; those of widths are means, and are left out where nothing is accessed."""
    loop = _hot(code.loops, patterns)
    hot = loop or code.body
    loads = [i for i in hot if patterns.load.match(i)]
    copied = [i for i in hot if patterns.asynchronous.match(i)]
    dots = [i for i in hot if patterns.dot(i)]
    by_others = bool(loop) and not loads and not copied and _copies_elsewhere(code.loops, patterns)
    widths = {
        "load_bytes": [*loads, *copied],
        "store_bytes": [i for i in code.body if patterns.store.match(i)],
        "shared_bytes": [i for i in hot if patterns.shared.match(i)],
        "atomic_bytes": [i for i in code.body if patterns.atomic.match(i)],
    }
    work = sum(map(patterns.dot, dots)) or float(sum(map(patterns.width, [*loads, *copied])))
    return {
        "registers": code.registers,
        "spills": code.spills,
        "shared": code.shared,
        "residents": code.residents,
        "ms": ms,
        "instructions": len(code.body),
        "loop": len(loop),
        "work": work if loop else 0,
        **{name: _mean(map(patterns.width, found)) for name, found in widths.items() if found},
        **_stored(widths["store_bytes"], body=code.body, patterns=patterns),
        "asynchronous": float(bool(copied) or by_others),
        # barriers' phases say how far ahead other warps are: no text tells
        **({} if by_others else {"ahead": code.ahead(loop) if loop else 0}),
        "dots": max(map(patterns.rank, dots), default=0),
        "atomics": len(widths["atomic_bytes"]),
        "cas": _count(code.body, patterns.cas),
        "fences": _count(code.body, patterns.fence) + _count(hot, patterns.proxy),
        "barriers": _count(hot, patterns.barrier),
        "waits": _count(loop, patterns.wait),
        "local": _count(code.body, patterns.local),
    }


def _stored(stores: Sequence[str], *, body: Sequence[str], patterns: Patterns) -> dict[str, float]:
    """``store_bytes`` of a kernel with dots: four lanes hold neighbours of a result's row, so what fills a sector is as good as what is wider."""
    if not (stores and patterns.quarter and any(map(patterns.dot, body))):
        return {}
    return {"store_bytes": _mean(min(patterns.width(i), patterns.quarter) for i in stores)}


def _copies_elsewhere(loops: Sequence[Sequence[str]], patterns: Patterns) -> bool:
    """True if a loop of other warps copies asynchronously for one that neither loads nor copies."""
    return any(patterns.asynchronous.match(i) for body in loops for i in body)


def _count(body: Iterable[str], pattern: re.Pattern[str]) -> int:
    return sum(bool(pattern.match(i)) for i in body)


def _mean(numbers: Iterable[int]) -> float:
    found = list(numbers)
    return round(sum(found) / len(found), 2)


def _hot(loops: Sequence[Sequence[str]], patterns: Patterns) -> Sequence[str]:
    """The loop with the most dots, else with the most loads; none where no loop loads."""
    weighed = [
        (
            sum(map(patterns.dot, body)),
            sum(bool(patterns.load.match(i) or patterns.asynchronous.match(i)) for i in body),
            body,
        )
        for body in loops
    ]
    _, _, found = max(
        ((d, n, b) for d, n, b in weighed if d or n), key=lambda one: one[:2], default=(0, 0, ())
    )
    return found


def beyond_a_tenth(mine: float, their: float, *, more_is_better: bool, slack: float = 0.0) -> bool:
    """True where ``mine`` is worse than ``their`` by more than a tenth of that and ``slack``."""
    if more_is_better:
        return mine < their * (1 - _TENTH) - slack
    return mine > their * (1 + _TENTH) + slack


def worse(ours: Figures, theirs: Figures) -> list[str]:
    """The figures in which ``ours`` are worse than ``theirs`` by more than a tenth; what a loop does is told for the same work."""
    found = []
    for name, mine in ours.items():
        if name in _NOT_JUDGED or name not in theirs or (name == "instructions" and _loops(ours, theirs)):
            continue
        bad = beyond_a_tenth(mine, theirs[name], more_is_better=name in _LEAST, slack=_SLACK.get(name, 0))
        if bad and not (name == "load_bytes" and ours["asynchronous"] > theirs["asynchronous"]):
            found.append(name)
    if _loops(ours, theirs):
        mine, their = (one["loop"] / one["work"] for one in (ours, theirs))
        if beyond_a_tenth(mine, their, more_is_better=False):
            found.append("loop")
    elif theirs["work"] and theirs["dots"] and not ours["loop"]:
        found.append("loop")
    return found


def _loops(ours: Figures, theirs: Figures) -> bool:
    return bool(ours["work"] and theirs["work"])
