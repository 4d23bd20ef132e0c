"""The page ``docs/published-operators.md``: verdicts that were kept, as tables."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from integration.published.operators.packages import DEFECTS, PACKAGES, Defect
from integration.published.projects import PROJECTS

__all__ = ["PAGE", "RESULTS", "kept", "page", "save", "share", "summary", "told", "worse"]

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[3] / "docs" / "published-operators.md"
Record = dict[str, Any]
_RIGHT = "right"
_OWN = "the package's own"
_DECLINES = "the package declines"
_WIDTH = 110


def _defect(record: Record) -> Defect | None:
    return DEFECTS.get(f"{record['package']}/{record['name']}")


def told(record: Record) -> str:
    """The state of an operator as the page has it: what is the package's own is told apart."""
    return _OWN if _defect(record) is not None else str(record["state"])


def share(records: Sequence[Record]) -> tuple[int, int]:
    """Number of operators that are right, and number of all except those that the package declines or
    computes wrongly itself.
    """
    counted = [r for r in records if told(r) not in (_OWN, _DECLINES)]
    return sum(r["state"] == _RIGHT for r in counted), len(counted)


def worse(records: Iterable[Record], before: Iterable[Record]) -> list[str]:
    """The operators that are right in ``before`` and not so in ``records``."""
    right = {(r["package"], r["name"]) for r in before if r["state"] == _RIGHT}
    found = [r for r in records if (r["package"], r["name"]) in right and r["state"] != _RIGHT]
    return [f"{r['package']}/{r['name']}: {r['state']}: {r['reason']}" for r in found]


def kept() -> list[Record]:
    """The verdicts that were saved."""
    found: list[Record] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    return found


def summary(records: Sequence[Record]) -> str:
    """A line with the numbers."""
    states = Counter(told(r) for r in records)
    counts = ", ".join(f"{n} {s}" for s, n in states.most_common())
    return f"{len(records)} operators: {counts}\n{_share(records)}\n"


def _share(records: Sequence[Record]) -> str:
    right, of = share(records)
    return f"{right} of {of} are right ({100 * right / max(of, 1):.1f} %), without what the packages decline or do wrongly themselves."


def save(records: Sequence[Record], packages: Iterable[str]) -> None:
    """Keep ``records`` in place of what was kept of ``packages``, and write the page."""
    others = [r for r in kept() if r["package"] not in set(packages)]
    fields = ("package", "name", "state", "checks", "error", "reason")
    made = sorted(
        [*others, *({f: r[f] for f in fields} for r in records)], key=lambda r: (r["package"], r["name"])
    )
    RESULTS.write_text("[\n" + ",\n".join(json.dumps(r) for r in made) + "\n]\n")
    PAGE.write_text(page(made))


def page(records: Sequence[Record]) -> str:
    """The text of the page."""
    parts = [_wrapped(_HEAD) + "\n", _numbers(records), _wrapped(_share(records)) + "\n"]
    for package in PACKAGES:
        own = [r for r in records if r["package"] == package]
        if own:
            parts.append(_package(package, own))
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    """Paragraphs and items of lists, in lines as the docs have them."""
    paragraphs = re.split(r"\n(?=\n|- )", text)
    return "\n".join(
        "\n" * p.startswith("\n")
        + textwrap.fill(
            " ".join(p.split()),
            _WIDTH,
            subsequent_indent="  " if p.startswith(("- ", "\n- ")) else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for p in paragraphs
    )


_HEAD = """# Operators of published packages

Public operators that the packages list themselves, on the CPU target at small shapes, against PyTorch's operators, the package's
own plain PyTorch or plain PyTorch written for it (`integration/published/operators/references`), in float64, with gradients where there are any. Arguments are those of PyTorch's own tests of operators, or
made by the names of parameters; `is_cuda` holds for all tensors where a package asks nothing else of them; calls that a package declines in words are left out where it takes others. Of tuned kernels one configuration runs. `nox -s published -- --all`
judges them. Written by `python -m integration.published.operators --save`.

- *right*: every result is within 1e-4 of PyTorch's largest magnitude; within 5e-3 for sequences, 3e-2 where those are in bfloat16. Of random numbers
  shapes and dtypes are compared.
- *needs its device*: the package asks for a GPU's tensors before it launches anything.
- *no arguments*: neither PyTorch's tests nor the names of its parameters give arguments that it takes, or there is nothing to compare with.
- *the package declines*: it says in an error that it does not do this, such as what it has deprecated. *the package's own*: a fault of the package under Triton, too;
  the last column says what shows that: the same happened in Triton 3.9's own interpreter, without tri (the package's caches of launches, which that interpreter cannot go through, were taken out), or a line of its source, or a check of every access to memory (`TRI_INTERPRET=1`).
- *refused*: tri says in an error that it does not do this. *fails*: another error. *wrong*: a result differs. *ends the process*: such as memory that is overwritten.
"""


def _numbers(records: Sequence[Record]) -> str:
    states = [s for s, _ in Counter(told(r) for r in records).most_common()]
    lines = [f"| package | operators | {' | '.join(states)} |", f"| --- {'| --- ' * (len(states) + 1)}|"]
    for package in [*PACKAGES, ""]:
        own = [r for r in records if not package or r["package"] == package]
        if own:
            counted = Counter(told(r) for r in own)
            name = f"{package} {PROJECTS[package].version}" if package else "all"
            lines.append(f"| {name} | {len(own)} | {' | '.join(str(counted[s]) for s in states)} |")
    return "\n".join(lines) + "\n"


def _package(package: str, records: Sequence[Record]) -> str:
    right = ", ".join(f"`{r['name']}`" for r in records if r["state"] == _RIGHT)
    lines = [f"## {package}", "", _wrapped(f"Right: {right}." if right else "None is right."), ""]
    others = [r for r in records if r["state"] != _RIGHT]
    if others:
        lines += ["| operator | | reason | what shows it |", "| --- | --- | --- | --- |"]
        lines += [f"| `{r['name']}` | {told(r)} | {_cells(r)} |" for r in others]
        lines.append("")
    return "\n".join(lines)


def _cells(record: Record) -> str:
    """Reason and evidence."""
    defect = _defect(record)
    if defect is None:
        cells = (str(record["reason"]), "")
    else:
        how = "" if record["state"] == "wrong" else f"{record['state']}: "
        cells = (how + defect.what, defect.evidence)
    return " | ".join(c.replace("|", "\\|").replace("<", "&lt;") for c in cells)
