"""The hypothesis strategy of random kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from integration.random_kernels.draft import Draft
from integration.random_kernels.productions import OUTERMOST, PRODUCTIONS, STATEMENTS
from integration.random_kernels.program import Parameters, Program, RandomKernel
from integration.random_kernels.source import source
from integration.random_kernels.values import DTYPES, INTEGERS

__all__ = ["random_kernels"]


@st.composite
def random_kernels(
    draw: st.DrawFn, *, statements: int = 9, first: Sequence[Callable[[Draft], None]] = ()
) -> RandomKernel:
    """Kernels of up to ``statements`` productions at the outermost level, with two or three inputs.

    ``first``: productions that every kernel begins with.
    """
    kinds = st.sampled_from((*INTEGERS, *(d for d in DTYPES if d != "bfloat16"), *("float32", "bfloat16")))
    inputs = tuple(draw(st.lists(kinds, min_size=2, max_size=3)))
    unusual = draw(st.integers(0, 3)) == 3
    draft = Draft(draw, inputs, STATEMENTS, unusual, taken={"tl", "tri", "typing", "libdevice", "kernel"})
    names = tuple(draft.fresh("x") for _ in inputs)
    scalars = (draft.fresh("n"), draft.fresh("flag")) if unusual else ("n", "flag")
    draft.taken.update(scalars)
    for statement in first:
        statement(draft)
    for _ in range(draw(st.integers(1, statements))):
        table = OUTERMOST if draw(st.integers(0, 3)) == 3 else STATEMENTS
        draft.choose(table)(draft)
    for value in [v for v in draft.values if v.exact][-3:]:
        draft.store(value)
    outputs = tuple(stored.name for stored in draft.outputs)
    parameters = Parameters(names, outputs, *scalars, scalars_first=unusual and draft.one_in(3))
    program = Program(parameters, tuple(draft.body))
    return RandomKernel(
        source=source(program, PRODUCTIONS),
        inputs=inputs,
        outputs=tuple(draft.outputs),
        trip_count=draw(st.integers(0, 3)),
        flag=draw(st.integers(0, 3)),
        num_warps=draw(st.sampled_from((4, 1, 2))),
        seed=draw(st.integers(0, 2**16)),
        program=program,
    )
