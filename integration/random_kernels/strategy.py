"""The hypothesis strategy of random kernels."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from integration.random_kernels.productions import BLOCKS, STATEMENTS, Production
from integration.random_kernels.program import Program, RandomKernel
from integration.random_kernels.values import DTYPES

__all__ = ["random_kernels"]


@st.composite
def random_kernels(
    draw: st.DrawFn, *, statements: int = 12, first: Sequence[Production] = ()
) -> RandomKernel:
    """Kernels of up to ``statements`` statements at the outermost level, with two or three inputs.

    ``first``: statements that every kernel begins with.
    """
    inputs = tuple(draw(st.lists(st.sampled_from(DTYPES), min_size=2, max_size=3)))
    program = Program(draw, inputs)
    program.load((64,))
    program.load((16, 16))
    for statement in first:
        statement(program)
    for _ in range(draw(st.integers(min(2, statements), statements))):
        table = STATEMENTS if draw(st.integers(0, 3)) else BLOCKS
        draw(st.sampled_from(table))(program)
    for value in [v for v in program.values if v.exact][-3:]:
        program.store(value)
    return RandomKernel(
        source=program.finish(),
        inputs=inputs,
        outputs=tuple(program.outputs),
        trip_count=draw(st.integers(0, 3)),
        flag=draw(st.integers(0, 3)),
        num_warps=draw(st.sampled_from((1, 2, 4))),
        seed=draw(st.integers(0, 2**16)),
    )
