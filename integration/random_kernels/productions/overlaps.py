"""Memory that is read and written in place: with barriers between through one parameter or two, without them through one."""

from __future__ import annotations

from typing import Any

import numpy as np

from integration.random_kernels.draft import Draft
from integration.random_kernels.model import Memory
from integration.random_kernels.production import Production
from integration.random_kernels.program import Parameters, Step
from integration.random_kernels.values import VECTORS, Array

__all__ = ["PRODUCTIONS"]

#: where each element of a permutation comes from; ``{i}`` are the positions, ``{top}`` the last one
_SOURCES = {
    "reversed": "{top} - {i}",
    "rotated": "({i} + {by}) & {top}",
    "swapped": "{i} ^ {by}",
    "itself": "{i}",
}


def _in_place(d: Draft) -> None:
    """A permutation in place: all is read before anything is written."""
    x = _narrow(d)
    output = d.overlapped(x.dtype, x.numel, 0) if d.one_in(2) else d.output(x.dtype, x.numel)
    twice = bool(d.views) and d.views[-1].output == output
    d.step(
        "in_place", (x,), x.dtype, x.shape,
        output=output, count=x.numel, source=d.text(*_SOURCES), by=d.integer(1, x.numel - 1),
        limit=d.integer(0, x.numel) if d.one_in(3) else -1, held=d.fresh("held"),
        reads=d.text("view", "output") if twice else "output", writes=d.text("view", "output") if twice else "output",
    )  # fmt: skip


def _shifted(d: Draft) -> None:
    """A part is moved to where a view begins, and overlaps itself there."""
    x = _narrow(d)
    count = x.numel // 2
    first = d.integer(0, count)
    output = d.overlapped(x.dtype, x.numel, first)
    d.step(
        "shifted", (x,), x.dtype, x.shape,
        output=output, whole=x.numel, count=count, first=first, down=d.one_in(2), held=d.fresh("held"),
    )  # fmt: skip


def _back(d: Draft) -> None:
    """Load what the program stored: at once, or after iterations that did so, without a barrier between."""
    x = _narrow(d)
    d.step(
        "read_back", (x,), x.dtype, x.shape,
        output=d.output(x.dtype, x.numel), count=x.numel, source=d.text(*_SOURCES), by=d.integer(1, x.numel - 1),
        iterations=d.choose((0, 0, 1, 3)), index=d.fresh("k"), moved=d.one_in(2),
    )  # fmt: skip


def _narrow(d: Draft) -> Any:
    x = d.pick(ranks=(1,))
    x = x if x.shape in VECTORS else d.load(d.choose(VECTORS))
    return d.cast(x, d.text("uint8", "uint64")) if d.one_in(2) else x


def _in_place_text(step: Step, parameters: Parameters) -> str:
    a: dict[str, Any] = dict(step.attributes)
    names = {"output": parameters.outputs[a["output"]]}
    if "view" in (a["reads"], a["writes"]):
        names["view"] = parameters.view_of(a["output"])
    i = f"tl.arange(0, {a['count']})"
    source = _SOURCES[a["source"]].format(i=i, top=a["count"] - 1, by=a["by"])
    mask = f", mask={i} < {a['limit']}" if a["limit"] >= 0 else ""
    return _lines(
        f"tl.store({names['output']} + {i}, {{0}})",
        f"{a['held']} = tl.load({names[a['reads']]} + ({source}){mask}{', other=1' if mask else ''})",
        f"tl.store({names[a['writes']]} + {i}, {a['held']}{mask})",
        f"{{r0}} = tl.load({names['output']} + {i})",
    )


def _shifted_text(step: Step, parameters: Parameters) -> str:
    a: dict[str, Any] = dict(step.attributes)
    output, view = parameters.outputs[a["output"]], parameters.view_of(a["output"])
    source, place = (view, output) if a["down"] else (output, view)
    whole, part = f"tl.arange(0, {a['whole']})", f"tl.arange(0, {a['count']})"
    return _lines(
        f"tl.store({output} + {whole}, {{0}})",
        f"{a['held']} = tl.load({source} + {part})",
        f"tl.store({place} + {part}, {a['held']})",
        f"{{r0}} = tl.load({output} + {whole})",
    )


def _back_text(step: Step, parameters: Parameters) -> str:
    a: dict[str, Any] = dict(step.attributes)
    output, i = parameters.outputs[a["output"]], f"tl.arange(0, {a['count']})"
    source = _SOURCES[a["source"]].format(i=i, top=a["count"] - 1, by=a["by"])
    place, other = (source, i) if a["moved"] else (i, source)
    lines = [f"tl.store({output} + {i}, {{0}})"]
    if a["iterations"]:
        lines += [
            f"for {a['index']} in range({a['iterations']}):",
            f"    tl.store({output} + ({place}), tl.load({output} + ({other})) + {{0}})",
        ]
    return "\n".join([*lines, f"{{r0}} = tl.load({output} + ({source}))"])


def _lines(*statements: str) -> str:
    """``statements`` with a barrier between each two."""
    return "\ntl.debug_barrier()\n".join(statements)


def _in_place_of(memory: Memory, x: Array, **a: Any) -> Array:
    held = memory.outputs[a["output"]]
    i, source = np.arange(a["count"]), _source(a)
    taken = i < a["limit"] if a["limit"] >= 0 else np.ones(len(i), bool)
    held[: len(i)] = np.where(taken, x[source], x)
    return held[: len(i)].copy()


def _shifted_of(memory: Memory, x: Array, **a: Any) -> Array:
    held, count, first = memory.outputs[a["output"]], a["count"], a["first"]
    held[: a["whole"]] = x
    source, place = (first, 0) if a["down"] else (0, first)
    held[place : place + count] = x[source : source + count]
    return held[: a["whole"]].copy()


def _back_of(memory: Memory, x: Array, **a: Any) -> Array:
    held, source = memory.outputs[a["output"]][: a["count"]], _source(a)
    held[:] = x
    for _ in range(a["iterations"]):
        loaded = held[slice(None) if a["moved"] else source] + x
        held[source if a["moved"] else slice(None)] = loaded
    return held[source].copy()


def _source(a: dict[str, Any]) -> Array:
    i, top = np.arange(a["count"]), a["count"] - 1
    return {"reversed": top - i, "rotated": (i + a["by"]) & top, "swapped": i ^ a["by"], "itself": i}[
        a["source"]
    ]


PRODUCTIONS = (
    Production("in_place", _in_place_text, _in_place_of, _in_place, weight=2, memory=True),
    Production("read_back", _back_text, _back_of, _back, weight=2, memory=True),
    Production("shifted", _shifted_text, _shifted_of, _shifted, memory=True),
)
