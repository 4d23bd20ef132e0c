"""``tl.target_info``: what a kernel may ask about the target that it is compiled for.

Besides :func:`current_target` the questions come from plugins (``queries`` of a LanguageExtension).  Triton's own
questions (``questions.txt``) are answered with False where no installed plugin knows them: no target is what nobody
provides.  Any other name is an AttributeError.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any

from tri.language.builtin import builtin

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.target import TargetKey

__all__ = ["answer_of", "current_target"]


@builtin
def current_target(*, _semantic: Builder) -> TargetKey:
    """The target: its ``backend``, ``arch`` and ``features``."""
    return _semantic.target.key


@functools.cache
def _triton_questions() -> tuple[str, ...]:
    return tuple(resources.files("tri.language").joinpath("questions.txt").read_text().split())


@functools.lru_cache
def _known(generation: int) -> dict[str, Callable[..., Any] | None]:
    """Every question; None for those whose answer is no, no plugin being there to give another."""
    from tri_core.plugins import manager

    known: dict[str, Callable[..., Any] | None] = dict.fromkeys(_triton_questions())
    for extension in manager().languages():
        known |= extension.queries
    return known


def answer_of(name: str) -> Callable[..., Any] | None:
    """Function that answers the query ``name`` about a target's key; None if no plugin has one."""
    from tri_core.plugins import manager

    return _known(manager().generation)[name]


@functools.lru_cache
def _question(generation: int, name: str) -> Callable[..., Any]:
    known = _known(generation)
    if name not in known:
        near = difflib.get_close_matches(name, known)
        hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(sorted(known))}"
        raise AttributeError(f"tri.language.target_info has no {name}: {hint}", name=name)
    answer = known[name]

    def ask(*args: Any, _semantic: Builder, **kwargs: Any) -> Any:
        return answer is not None and answer(_semantic.target.key, *args, **kwargs)

    ask.__name__ = ask.__qualname__ = name
    return builtin(ask)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from tri_core.plugins import manager

    return _question(manager().generation, name)


def __dir__() -> list[str]:
    from tri_core.plugins import manager

    return ["current_target", *_known(manager().generation)]
