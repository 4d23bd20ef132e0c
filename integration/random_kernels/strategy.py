"""Sources of random kernels: a seed, or hypothesis."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from integration.random_kernels.draft import Choice, Draft
from integration.random_kernels.productions import OUTERMOST, PRODUCTIONS, STATEMENTS
from integration.random_kernels.program import Parameters, Program, RandomKernel, steps
from integration.random_kernels.source import source
from integration.random_kernels.values import DTYPES, INTEGERS, Value

__all__ = ["random_kernels", "seeded"]

#: how many values a kernel stores at its end
_RESULTS = 5
#: the types of inputs; bfloat16 and float32 as often as one of the others together
_INPUTS = (
    *INTEGERS,
    *(dtype for dtype in DTYPES if dtype not in (*INTEGERS, "bfloat16")),
    "float32",
    "bfloat16",
)


def _drawn(
    integer: Choice, statements: int = 6, first: Sequence[Callable[[Draft], None]] = ()
) -> RandomKernel:
    draft = Draft(integer, (), STATEMENTS, taken={"tl", "tri", "typing", "libdevice", "kernel"})
    draft.inputs = tuple(draft.choose(_INPUTS) for _ in range(integer(2, 3)))
    draft.unusual = draft.one_in(4)
    names = tuple(draft.fresh("x") for _ in draft.inputs)
    scalars = (draft.fresh("n"), draft.fresh("flag")) if draft.unusual else ("n", "flag")
    draft.taken.update(scalars)
    for statement in first:
        statement(draft)
    for _ in range(integer(1, statements)):
        draft.choose(OUTERMOST if draft.one_in(4) else STATEMENTS)(draft)
    for value in _results(draft):
        draft.store(value)
    outputs = tuple(stored.name for stored in draft.outputs)
    parameters = Parameters(
        names, outputs, *scalars, scalars_first=draft.unusual and draft.one_in(3), views=tuple(draft.views)
    )
    program = Program(parameters, tuple(draft.body))
    return RandomKernel(
        source=source(program, PRODUCTIONS),
        inputs=draft.inputs,
        outputs=tuple(draft.outputs),
        trip_count=integer(0, 3),
        flag=integer(0, 3),
        num_warps=draft.choose((4, 1, 2, 4)),
        seed=integer(0, 2**16),
        program=program,
    )


def _results(draft: Draft) -> list[Value]:
    """The last values that nothing uses: what is stored nowhere is not compared."""
    used = {name for step in steps(draft.body) for name in step.operands}
    return [v for v in draft.values if v.exact and v.name not in used][-_RESULTS:]


@st.composite
def random_kernels(
    draw: st.DrawFn, *, statements: int = 6, first: Sequence[Callable[[Draft], None]] = ()
) -> RandomKernel:
    """Kernels of up to ``statements`` productions at the outermost level, with two or three inputs.

    ``first``: productions that every kernel begins with.
    """

    def integer(low: int, high: int) -> int:
        return draw(st.integers(low, high)) if low < high else low

    return _drawn(integer, statements, first)


def seeded(seed: int, number: int) -> RandomKernel:
    """Kernel ``number`` of a seed."""
    generator = random.Random(f"{seed} {number}")
    return _drawn(lambda low, high: generator.randint(low, high) if low < high else low)
