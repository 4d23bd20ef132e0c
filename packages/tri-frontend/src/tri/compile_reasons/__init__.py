"""Reasons that a kernel was compiled: ``tri.explain``, the log ``tri.explain``, and ``tri.no_compile``.

Every compile that neither memory nor the cache on disk could spare is compared with the earlier ones of the
same kernel, in this process and those before it; what differs from the nearest is the reason.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from tri.compile_reasons import history
from tri.compile_reasons.compare import reasons
from tri.compile_reasons.picture import CompiledSource, Picture
from tri.kernel import Kernel
from tri_core import knobs
from tri_core.errors import CompileRefused, TriError

if TYPE_CHECKING:
    from tri_core.compiler import Attempt

__all__ = ["Explanation", "Picture", "explain", "gate", "no_compile", "reasons_of"]

logger = logging.getLogger("tri.explain")


class Explanation(tuple[str, ...]):
    """Reasons that one compile was a cache miss, a line for each difference; ``picture``: the compile's
    inputs.
    """

    picture: Picture

    def __new__(cls, picture: Picture, lines: tuple[str, ...]) -> Self:
        """The reasons ``lines`` of ``picture``."""
        made = super().__new__(cls, lines)
        made.picture = picture
        return made

    def __str__(self) -> str:
        return "\n".join([self.picture.title(), *(f"  {line}" for line in self)])


def explain(kernel: Any) -> list[Explanation]:
    """The compiles of ``kernel`` that the cache remembers, oldest first, each with its reasons; empty where it remembers none.

    ``kernel`` is a jit function, or what is around one (autotuned, with heuristics); TriError for anything else.
    """
    function = getattr(kernel, "base_fn", kernel)
    if not isinstance(function, Kernel):
        raise TriError(f"{kernel!r} is not a kernel", remedy="decorate its function with @tri.jit")
    found: list[Explanation] = []
    earlier: list[Picture] = []
    for picture in history.load(history.identity(function)):
        found.append(Explanation(picture, reasons(picture, earlier)))
        earlier.append(picture)
    return found


@contextmanager
def no_compile() -> Iterator[None]:
    """Inside the ``with`` block (in this thread or task) a compile raises CompileRefused with its reasons.

    Kernels that memory or the cache on disk has are used.  ``TRI_NO_COMPILE=1`` and
    ``tri.knobs.compilation.no_compile`` do it for a process.
    """
    with knobs.scope(NO_COMPILE=True):
        yield


def gate(attempt: Attempt) -> None:
    """Note a compile that is about to run; raise instead where compiles are forbidden."""
    source = attempt.source
    forbidden = knobs.get("NO_COMPILE")
    if not isinstance(source, CompiledSource):
        if forbidden:
            raise _refused(source.name, str(attempt.target), ("it is given as IR",))
        return
    name = history.identity(source.fn)
    picture = Picture.of(attempt, source)

    def judge(earlier: list[Picture]) -> Picture:
        lines = reasons(picture, earlier)
        if forbidden:
            raise _refused(source.name, str(attempt.target), lines)
        logger.info("%s is compiled for %s: %s", source.name, attempt.target, "; ".join(lines))
        return picture

    history.update(name, judge)


def reasons_of(attempt: Attempt) -> tuple[str, ...]:
    """Reasons that a compile is a cache miss, a line for each difference from the nearest compile in the
    cache.
    """
    source = attempt.source
    if not isinstance(source, CompiledSource):
        return ("it is given as IR",)
    return reasons(Picture.of(attempt, source), history.load(history.identity(source.fn)))


def _refused(name: str, target: str, lines: tuple[str, ...]) -> CompileRefused:
    text = "".join(f"\n  {line}" for line in lines)
    return CompileRefused(
        f"{name} would be compiled for {target}, where compiles are forbidden:{text}",
        remedy="warm this version up before, with kernel.warmup(...) of such arguments",
        reasons=lines,
    )
