"""Where random kernels come from: a seed, or hypothesis, which shrinks them too."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import ClassVar, NoReturn

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, PrimitiveProvider

from integration.random_kernels.draft import Choice, Draft
from integration.random_kernels.productions import OUTERMOST, PRODUCTIONS, STATEMENTS
from integration.random_kernels.program import Parameters, Program, RandomKernel, steps
from integration.random_kernels.source import source
from integration.random_kernels.values import DTYPES, INTEGERS, Value

__all__ = ["choices_of", "random_kernels", "seeded", "shrunk"]

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
    parameters = Parameters(names, outputs, *scalars, scalars_first=draft.unusual and draft.one_in(3))
    program = Program(parameters, tuple(draft.body))
    return RandomKernel(
        source=source(program, PRODUCTIONS),
        inputs=draft.inputs,
        outputs=tuple(draft.outputs),
        trip_count=integer(0, 3),
        flag=integer(0, 3),
        num_warps=draft.choose((4, 1, 2)),
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


def choices_of(seed: int, number: int) -> tuple[RandomKernel, list[int]]:
    """Kernel ``number`` of a seed, and all that was chosen for it."""
    generator, made = random.Random(f"{seed} {number}"), []

    def integer(low: int, high: int) -> int:
        if low < high:
            made.append(generator.randint(low, high))
        return made[-1] if low < high else low

    return _drawn(integer), made


def seeded(seed: int, number: int) -> RandomKernel:
    """Kernel ``number`` of a seed."""
    return choices_of(seed, number)[0]


class _Recorded(PrimitiveProvider):
    """Gives hypothesis the choices of a kernel that was drawn without it."""

    lifetime: ClassVar = "test_case"
    choices: ClassVar[list[int]] = []

    def __init__(self, data: object, /) -> None:
        super().__init__(data)  # type: ignore[arg-type]  # hypothesis's own
        self._left = iter(self.choices)

    def draw_integer(self, min_value: int | None = None, max_value: int | None = None, **_: object) -> int:
        low, high = min_value or 0, max_value or 0
        return min(max(next(self._left, low), low), high)

    def _none(self, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError("kernels are made of integers")

    draw_boolean = draw_float = draw_string = draw_bytes = _none


AVAILABLE_PROVIDERS["random-kernels"] = f"{__name__}.{_Recorded.__qualname__}"


def shrunk(choices: list[int], fails: Callable[[RandomKernel], bool]) -> RandomKernel:
    """The smallest kernel that hypothesis finds with which ``fails``, from the one that ``choices`` make."""
    smallest: list[RandomKernel] = []

    @settings(
        max_examples=1,
        deadline=None,
        database=None,
        backend="random-kernels",
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(random_kernels())
    def search(kernel: RandomKernel) -> None:
        if fails(kernel):
            smallest.append(kernel)
            raise _Failed

    _Recorded.choices = choices
    try:
        search()
    except _Failed:
        return smallest[-1]
    raise AssertionError("the kernel does not fail again")


class _Failed(Exception):
    """A kernel fails."""
