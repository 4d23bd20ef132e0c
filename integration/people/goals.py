"""Numbers of what people meet, each with its goal."""

from __future__ import annotations

import dataclasses
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from integration.bench_size import closure, megabytes
from integration.lints.docstrings import documented
from integration.people.hooks import HOOKS
from integration.people.mistakes import Said, said

__all__ = [
    "GOALS",
    "Found",
    "Goal",
    "backend",
    "commands",
    "extra",
    "hooks",
    "measured",
    "sized",
    "tutorials",
    "weighed",
]

TOP = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Found:
    """A number as text, whether it is as good as the goal, and what is behind it where it is not."""

    today: str
    met: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Goal:
    """A row: ``slow`` where measuring it runs kernels or reads whole installations."""

    what: str
    goal: str
    measure: Callable[[], Found]
    slow: bool = False


def measured(goal: Goal) -> Found:
    """Present figure of ``goal``."""
    return goal.measure()


def commands() -> Found:
    """Commands of the first page, which a test runs: an installation, a kernel, a picture, a profile."""
    block = re.search(r"```bash\n(.*?)```", (TOP / "docs/index.md").read_text(), flags=re.DOTALL)
    lines = block[1].splitlines() if block else []
    absent = [
        f"absent: {word}"
        for word in ("tri explore", "tri profile")
        if not any(line.startswith(word) for line in lines)
    ]
    count = len(lines) - sum("pip install" in line for line in lines)
    return Found(str(count), count <= 3 and not absent, tuple(absent))


def _mistakes() -> dict[str, Said | None]:
    with tempfile.TemporaryDirectory() as folder:
        return said(Path(folder))


def weighed(found: dict[str, Said | None]) -> Found:
    """Number of the mistakes ``found`` with complete reports, and the longest report's lines."""
    good = [name for name, each in found.items() if each is not None and each.complete]
    lines = {name: each.lines for name, each in found.items() if each is not None}
    longest = max(lines.values(), default=0)
    lack = [f"incomplete: {name}" for name in found if name not in good]
    over = [f"{count} lines: {name}" for name, count in lines.items() if count > 10]
    return Found(
        f"{len(good)} of {len(found)}; {longest}", len(good) == len(found) and longest <= 10, (*lack, *over)
    )


def _names() -> Found:
    complete, count = documented()
    return Found(f"{complete} of {count}: {100 * complete // count} %", complete == count)


def tutorials() -> Found:
    """Scripts that the tests of tutorials run."""
    count = len(list((TOP / "tutorials").glob("[0-9]*.py")))
    return Found(str(count), count >= 10)


def hooks() -> Found:
    """Hooks that exist."""
    absent = [f"absent: {hook.what}" for hook in HOOKS if not hook.exists()]
    return Found(f"{len(HOOKS) - len(absent)} of {len(HOOKS)}", not absent, tuple(absent))


def backend() -> Found:
    """Files that a backend of TTIR writes for a first kernel: its template's, less those that are the same for all."""
    templates = TOP / "packages/tri-frontend/src/tri/scaffolding"
    tier = [path for path in templates.rglob("*.jinja") if "ttir" in path.relative_to(templates).parts]
    if not tier:
        return Found("no template", False, ("absent: tri new-backend --tier ttir",))
    written = [
        path
        for path in tier
        if "package" in path.parts and path.stem not in {"__init__.py", "conformance.toml"}
    ]
    return Found(str(len(written)), len(written) <= 3)


def extra(name: str) -> list[str]:
    """Requirements of ``pip install '.[name]'``, as names with extras; KeyError without such an extra."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    return sorted(set(_asked([*project["dependencies"], f"tri[{name}]"], project["optional-dependencies"])))


def _asked(texts: Iterable[str], extras: dict[str, list[str]]) -> Iterable[str]:
    for text in texts:
        requirement = Requirement(re.sub(r" @ \S+", "", text))
        if requirement.name != "tri":
            yield str(requirement)
        for each in sorted(requirement.extras) if requirement.name == "tri" else ():
            yield from _asked(extras[each], extras)


def sized(sizes: Mapping[str, float], core: Iterable[str], goal: float) -> Found:
    """Sum of ``sizes``, MB by distribution, and its limits: what ``core`` of them take, and the largest of the others."""
    whole, always = sum(sizes.values()), sum(sizes[name] for name in core)
    beside = sorted(set(sizes) - set(core), key=lambda name: -sizes[name])
    notes = (
        f"{always:.0f} MB: tri-core, which every backend needs: {_listed(sizes, core)}",
        f"{whole - always:.0f} MB: front end and backends: {_listed(sizes, beside)}",
    )
    return Found(f"{whole:.0f}", whole <= goal, notes)


def _listed(sizes: Mapping[str, float], names: Iterable[str], count: int = 3) -> str:
    largest = sorted(names, key=lambda name: -sizes[name])[:count]
    return ", ".join(f"{name} {sizes[name]:.0f}" for name in largest)


def _size() -> Found:
    sizes = {name: megabytes(name) for name in closure(extra("all"))}
    found = sized(sizes, closure(["tri-core"]), 600)
    smaller = {name: sum(sizes[each] for each in closure(extra(name))) for name in ("nvidia", "amd", "intel")}
    alone = sum(sizes[each] for each in closure(["tri-frontend"]))
    return dataclasses.replace(
        found, notes=(*found.notes, f"{alone:.0f} MB: without a GPU's backend; {_listed(smaller, smaller)}")
    )


GOALS = (
    Goal("first page to own kernel, picture, profile: commands", "3", commands),
    Goal(
        "usual mistakes with what, where, remedy; most lines under pytest",
        "36 of 36; 10",
        lambda: weighed(_mistakes()),
        True,
    ),
    Goal("public names with arguments, shapes, dtypes, errors in docs", "100 %", _names),
    Goal("tutorials that run in CI", "10", tutorials),
    Goal("what third parties patch Triton for: hooks that exist", "9", hooks),
    Goal("TTIR backend: files to write for a first kernel", "3", backend),
    Goal("extra all: MB", "600", _size, True),
)
