"""The page ``docs/compat-names.md``: every name of Triton's wheel, and what stands for it here."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import tri.compat.triton as compat
from tri.compat.triton import groups, knobs, settings

__all__ = ["PAGE", "page", "status"]

_HERE = Path(__file__).parent
PAGE = _HERE.parents[1] / "docs" / "compat-names.md"
#: parameters that nobody names: of libdevice's functions, and variable ones
_POSITIONAL = re.compile(r"\*|arg\d+$")
#: the head of the table of modules that are not there
_ABSENT = ("## Modules that are absent", "", "| module | names | |", "| --- | --- | --- |")
_KEYWORDS = frozenset({"_semantic", "_generator", "_builder"})


def page() -> str:
    """The text of the page."""
    wheel = json.loads((_HERE / "names.json").read_text())
    counts: Counter[str] = Counter()
    sections, absent = [], []
    with compat.installed():
        for module, names in wheel["modules"].items():
            rows = [(name, *status(module, name, entry)) for name, entry in names.items()]
            counts.update(word for _, word, _ in rows)
            missing = _missing(module)
            if rows and missing is None:
                sections.append(_section(module, rows))
            elif rows:
                absent.append(f"| `{module}` | {len(rows)} | {missing} |")
    sections.append("\n".join([*_ABSENT, *absent, ""]))
    total = ", ".join(f"{counts[word]} {word}" for word in sorted(counts))
    head = (
        "# Triton's names\n\n"
        f"Every name of Triton {wheel['version']}'s wheel, and what [the compatibility layer](compat.md) has for it: {total}. A name that "
        "is absent says so when it is asked for. Made by `python -m integration.triton_names`.\n"
    )
    return "\n".join([head, *sections, _variables(wheel["variables"])])


def _missing(module: str) -> str | None:
    """Reason that ``module`` cannot be imported, in its error's words; None if it can be."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        return str(error).partition(": ")[2] or str(error)
    return None


def status(module: str, name: str, entry: dict[str, Any]) -> tuple[str, str]:
    """``here``, ``in part`` or ``absent``, and what is missing or said instead."""
    try:
        value = getattr(importlib.import_module(module), name)
    except (AttributeError, ImportError) as error:
        return "absent", str(error).partition(": ")[2] or str(error)
    lost = _lost(value, entry)
    return ("in part", f"without {', '.join(lost)}") if lost else ("here", "")


def _has(value: Any, name: str) -> bool:
    try:
        getattr(value, name)
    except AttributeError:
        return False
    except Exception:  # it is there, and says what is wrong
        return True
    return True


def _lost(value: Any, entry: dict[str, Any]) -> list[str]:
    """Attributes and parameters of Triton's that ``value`` has not."""
    lost = [f"`.{a}`" for a in entry.get("attributes", ()) if not _has(value, a)]
    try:
        given = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return lost
    if entry["kind"] == "function" and not any(p.kind is p.VAR_KEYWORD for p in given.values()):
        wanted = [p for p in entry["parameters"] or () if p not in _KEYWORDS and not _POSITIONAL.match(p)]
        lost += [f"`{p}=`" for p in wanted if p not in given]
    return lost


def _section(module: str, rows: list[tuple[str, str, str]]) -> str:
    """Section of a module: its present names, then a row for each statement on absent ones."""
    lines = [f"## `{module}`", ""]
    groups: dict[tuple[str, str], list[str]] = {}
    for name, word, what in rows:
        groups.setdefault((word, _general(name, what)), []).append(f"`{name}`")
    here = groups.pop(("here", ""), [])
    if here:
        lines += [f"Here: {', '.join(here)}.", ""]
    if groups:
        lines += ["| names | | |", "| --- | --- | --- |"]
        lines += [f"| {', '.join(names)} | {word} | {what} |" for (word, what), names in groups.items()] + [
            ""
        ]
    return "\n".join(lines)


def _general(name: str, what: str) -> str:
    """``what`` is said, without ``name``."""
    return what.replace(f"tri has no {name}; see docs/compat.md for what stands in", "").replace("|", "/")


def _variables(names: list[str]) -> str:
    owners = {
        name: groups.group(name)
        for name in vars(knobs)
        if isinstance(getattr(knobs, name), settings.base_knobs)
    }
    known = {
        knob.key: (f"`{group}.{name}`", "in force" if knob.effect else "named once, without effect")
        for group, owner in owners.items()
        for name, knob in owner.knob_descriptors.items()
    }
    lines = [
        "## Variables of the environment",
        "",
        "| variable | `triton.knobs` | here |",
        "| --- | --- | --- |",
    ]
    for name in names:
        knob, what = known.get(name, ("", "not read: of Triton's own compiler or tests"))
        lines.append(f"| `{name}` | {knob} | {what} |")
    return "\n".join(lines) + "\n"
