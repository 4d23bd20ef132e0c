"""The record of a production: how it draws operands, its text, its meaning in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from integration.random_kernels.draft import Draft
from integration.random_kernels.program import Parameters, Step

__all__ = ["Production", "written"]

Text: TypeAlias = str | Callable[[Step, Parameters], str]


@dataclass(frozen=True)
class Production:
    """One kind of statement.

    ``draw`` adds it (and what it needs) to a draft; None when others add it.  ``text`` is a template, where
    ``{0}`` is an operand, ``{name}`` an attribute, ``{r0}`` a result; one without ``{r0}`` is an expression, whose
    value is the result.  ``meaning`` takes the operands' arrays and the attributes by their names, and gives the
    result or a tuple of them; of a production with ``memory`` it takes the :class:`~.model.Memory` first.
    ``helpers`` names functions that the module needs.
    """

    name: str
    text: Text
    meaning: Callable[..., Any]
    draw: Callable[[Draft], None] | None = None
    weight: int = 1
    memory: bool = False
    helpers: tuple[str, ...] = ()


def written(production: Production, step: Step, parameters: Parameters) -> list[str]:
    """The lines of ``step``."""
    results = {f"r{i}": value.name for i, value in enumerate(step.results)}
    template = production.text if isinstance(production.text, str) else production.text(step, parameters)
    made = template.format(*step.operands, **results, **dict(step.attributes))
    if step.results and "{r0}" not in template:
        made = f"{step.results[0].name} = {made}"
    return made.split("\n")
