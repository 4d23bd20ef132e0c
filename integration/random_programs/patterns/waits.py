"""Words that programs wait for: how a flag is raised, and how another program waits until it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from integration.random_programs.program import Choice

__all__ = ["choose", "draw_raise", "draw_wait", "raised", "seen", "waited"]

_SCOPES = ("gpu", "gpu", "sys")
#: those that acquire, then those that only see
ACQUIRING = ("add", "cas", "poll", "or")
SEEING = ("volatile", "cv", "volatile_cv")


def choose(choice: Choice, options: Sequence[Any]) -> Any:
    """One of ``options``."""
    return options[choice(0, len(options) - 1)]


def draw_wait(choice: Choice) -> dict[str, Any]:
    """A wait that acquires."""
    return {
        "wait": choose(choice, ACQUIRING),
        "wait_sem": choose(choice, ("acquire", "acq_rel")),
        "wait_scope": choose(choice, _SCOPES),
    }


def draw_raise(choice: Choice) -> dict[str, Any]:
    """A raise that releases."""
    return {
        "raise": choose(choice, ("xchg", "add", "cas")),
        "raise_sem": choose(choice, ("release", "acq_rel")),
        "raise_scope": choose(choice, _SCOPES),
    }


def raised(part: Any, at: str, old: str, new: str) -> list[str]:
    """Change the word at ``at`` from ``old`` to ``new``, after a barrier of the program."""
    order = f'sem="{part["raise_sem"]}", scope="{part["raise_scope"]}"'
    call = {
        "xchg": f"tl.atomic_xchg({at}, {new}, {order})",
        "add": f"tl.atomic_add({at}, {new} - {old}, {order})",
        "cas": f"tl.atomic_cas({at}, {old}, {new}, {order})",
    }[part["raise"]]
    return ["tl.debug_barrier()", call]


def seen(kind: str, at: str) -> str:
    """A load of the word at ``at`` that sees what others store; ``kind`` of :data:`SEEING`."""
    how = ["cache_modifier='.cv'"] * (kind != "volatile") + ["volatile=True"] * (kind != "cv")
    return f"tl.load({at}, {', '.join(how)})"


def waited(part: Any, at: str, value: str, going_on: str = "!=") -> list[str]:
    """Wait until the word at ``at`` is ``value``; with ``<`` ``going_on``, at least that (``add`` and ``or`` alone)."""
    kind = part["wait"]
    if kind in SEEING:
        return [f"while {seen(kind, at)} != {value}:", "    pass"]
    sem, scope = part["wait_sem"], part["wait_scope"]
    order = f'sem="{sem}", scope="{scope}"'
    if kind == "tile":
        found = f"tl.atomic_or({at}, 0, {order})"
        return [f"while tl.min({found}, 0) != {value}:", "    pass"]
    if kind == "poll":
        return [f'tl.atomic_poll({at}, {value}, sem="acquire", scope="{scope}")']
    call = {
        "add": f"tl.atomic_add({at}, 0, {order})",
        "or": f"tl.atomic_or({at}, 0, {order})",
        "cas": f"tl.atomic_cas({at}, {value}, {value}, {order})",
    }[kind]
    return [f"while {call} {going_on} {value}:", "    pass"]
