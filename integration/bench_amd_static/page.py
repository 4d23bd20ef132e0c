"""The table as text, for the terminal and for ``docs/measurements/amd.md``."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import geometric_mean

from integration.bench_amd_static.causes import CAUSES
from integration.bench_amd_static.goals import goals_of
from integration.bench_amd_static.kinds import KINDS

__all__ = ["COLUMNS", "page", "table"]

COLUMNS = (
    "loop",
    "total",
    "matrix",
    "vgprs",
    "agprs",
    "lds",
    "conflicts",
    "wide",
    "waits",
    "spills",
    "scratch",
    "waves",
    "cycles",
    "busy",
    "compile",
)
#: columns of the page's prose
_WIDTH = 108
Table = Mapping[str, Mapping[str, int]]

_HEAD = """# AMD's GPUs without one

`nox -s bench-amd-static -- --triton-python PYTHON --record` writes this page and what a test holds. A cell
is *ours (Triton 3.9.0's; goal)*; a goal is the most, of *busy* and *waves* the least. The goals of the
kernels below `paged_gather` are parts of Triton's: 1.05 of *cycles*, 1.15 of *total*, all *waves*, no more
*scratch*. Counted are the instructions of a K step (*loop*: the innermost loop that has the most matrix
instructions) and of the kernel (*total*); of the loop the *matrix* instructions, the percentage of memory
accesses that have 128 bits (*wide*; of the kernel where no loop is), and the waits for all loads (*waits*:
`s_waitcnt vmcnt(0)`); registers (*vgprs*, with *agprs* among them), *lds* bytes, registers spilt, bytes of
*scratch* a lane, and the *waves* that a SIMD has room for. *conflicts* are cycles beyond the first that a
phase of the worst access of a buffer in LDS takes; `-` where its rows are padded. *cycles* are an estimate
of a K step by one work group on a compute unit, and *busy* the percentage of them in which the matrix unit
works ([how](../design/amd.md#cycle-estimate)); they tell schedules apart, not what a GPU would measure:
other work groups on the compute unit hide waits. Where two wavefronts of a SIMD alternate, they are a
barrier apart in the estimate, as before the loop. *compile* is the CPU time from source to code object
in milliseconds, the median of three turns in which the compilers alternate (`--compile`); its goal is
Triton's, and no test measures it.
"""


def table(ours: Table, theirs: Table) -> str:
    """Markdown: a row for each case; the causes of what falls short of its goal behind it."""
    names = COLUMNS
    goals = goals_of(theirs, [case.name for case in KINDS])
    lines = [f"| kernel | {' | '.join(names)} |", "| --- |" + " ---: |" * len(names)]
    for case, counts in ours.items():
        cells = [_cell(name, counts, theirs.get(case, {}), goals.get(case, {})) for name in names]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    lines += ["", _compiling(ours, theirs)]
    if CAUSES:
        lines += ["", "Short of their goal:", "", *map(_item, _causes())]
    return "\n".join(lines)


def _compiling(ours: Table, theirs: Table) -> str:
    """One line that compares the times of compiling."""
    parts = sorted(
        ours[case]["compile"] / counts["compile"]
        for case, counts in theirs.items()
        if "compile" in counts and "compile" in ours.get(case, {})
    )
    if not parts:
        return "Compiling was not timed."
    mean, most = geometric_mean(parts), parts[-1]
    return f"Compiling takes {100 * mean:.0f} % of Triton's CPU time (geometric mean of {len(parts)}), {100 * most:.0f} % at most."


def _causes() -> Iterable[str]:
    """Each cause behind the cases and columns that it is of."""
    columns = defaultdict[tuple[str, str], list[str]](list)
    for (case, column), cause in CAUSES.items():
        columns[cause, case].append(column)
    cases = defaultdict[str, list[str]](list)
    for (cause, case), found in columns.items():
        cases[cause].append(f"{case} ({', '.join(found)})")
    for cause, found in cases.items():
        yield f"{'; '.join(found)}: {cause}."


def _item(text: str) -> str:
    return textwrap.fill(f"- {text}", _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _cell(name: str, ours: Mapping[str, int], theirs: Mapping[str, int], goals: Mapping[str, int]) -> str:
    goal = goals.get(name)
    beside = str(theirs.get(name, "-")) + (f"; {goal}" if goal is not None else "")
    return f"{ours.get(name, '-')} ({beside})"


def page(ours: Table, theirs: Table) -> str:
    """The whole page."""
    return f"{_HEAD}\n{table(ours, theirs)}\n"
