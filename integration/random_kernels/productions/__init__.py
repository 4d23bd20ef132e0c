"""The table of all productions."""

from __future__ import annotations

from integration.random_kernels.production import Production
from integration.random_kernels.productions import (
    calls,
    control,
    dots,
    elementwise,
    functions,
    memory,
    overlaps,
    reductions,
    shapes,
    windows,
)

__all__ = ["OUTERMOST", "PRODUCTIONS", "STATEMENTS"]

_MODULES = (elementwise, shapes, reductions, calls, windows, memory, overlaps, dots, functions, control)

#: each production by its name
PRODUCTIONS: dict[str, Production] = {
    production.name: production
    for table in (*(module.PRODUCTIONS for module in _MODULES), windows.STORES)
    for production in table
}
#: what may stand anywhere, as often as its weight says
STATEMENTS = tuple(
    production.draw
    for module in (elementwise, shapes, reductions, calls, windows)
    for production in module.PRODUCTIONS
    if production.draw is not None
    for _ in range(production.weight)
)
#: what stands at the outermost level: outputs are written once
OUTERMOST = (
    tuple(
        production.draw
        for table in (
            memory.PRODUCTIONS,
            overlaps.PRODUCTIONS,
            windows.STORES,
            dots.PRODUCTIONS,
            functions.PRODUCTIONS,
        )
        for production in table
        if production.draw is not None
        for _ in range(production.weight)
    )
    + control.DRAWS
)
