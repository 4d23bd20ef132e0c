"""``tri.target``: which target kernels run on when their arguments do not say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.target import Target, TargetKey

__all__ = [
    "Choice",
    "chosen",
    "compiled_for",
    "compiling",
    "set_without_arrays",
    "target",
    "variable",
    "without_arrays",
]


@dataclass(frozen=True, eq=False)
class Choice:
    """A target chosen by a ``with`` block; compared by identity, so that it is a cheap key."""

    target: Target


#: holds the choice in force
variable: ContextVar[Choice | None] = ContextVar("tri_target", default=None)
_choices: dict[int, Choice] = {}

#: the choice in force, or None: called once per launch
chosen = variable.get


@contextmanager
def target(spec: str | TargetKey | Target) -> Iterator[Target]:
    """Launch on ``spec`` inside the ``with`` block, in this thread or task::

        with tri.target("cpu"):
            kernel[grid](numpy_array, ...)

    ``spec`` is ``"backend:arch"``, or a backend's name alone for its present device.  Arrays that live on a
    device of another kind are refused.  Raises TargetError for what is unknown or absent.
    """
    from tri_core.target_selection import resolve

    resolved = resolve(spec)
    choice = _choices.get(id(resolved))
    if choice is None or choice.target is not resolved:
        choice = _choices[id(resolved)] = Choice(resolved)
    token = variable.set(choice)
    try:
        yield resolved
    finally:
        variable.reset(token)


_without_arrays: Callable[[], Target] | None = None


def without_arrays() -> Target:
    """The target of a kernel that no argument places and no block chooses one for: as for arrays in host memory, unless set."""
    from tri_core.target_selection import for_host

    return (_without_arrays or for_host)()


def set_without_arrays(target: Callable[[], Target] | None) -> None:
    """Have :func:`without_arrays` ask ``target``, in every thread; None: as it was."""
    global _without_arrays
    _without_arrays = target


_compiled_for: ContextVar[Target | None] = ContextVar("tri_compiled_for", default=None)

#: the target of the kernel whose source is being compiled in this thread or task; None outside of a compile
compiled_for = _compiled_for.get


@contextmanager
def compiling(target: Target) -> Iterator[None]:
    """Functions that run at compile time inside the ``with`` block see ``target`` as :data:`compiled_for`."""
    token = _compiled_for.set(target)
    try:
        yield
    finally:
        _compiled_for.reset(token)
