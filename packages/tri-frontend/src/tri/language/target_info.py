"""``tl.target_info``: what a kernel may ask about the target that it is compiled for.

Besides :func:`current_target` the questions come from plugins (``queries`` of a LanguageExtension).  A question
``is_...`` or ``..._capability_geq`` that no plugin knows is answered with False: no target is what nobody provides.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tri.language.builtin import builtin

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.target import TargetKey

__all__ = ["current_target"]

_QUESTION = re.compile(r"is_[a-z0-9_]+|[a-z0-9]+_capability_geq")


@builtin
def current_target(*, _semantic: Builder) -> TargetKey:
    """The target: its ``backend``, ``arch`` and ``features``."""
    return _semantic.target.key


@functools.lru_cache
def _question(generation: int, name: str) -> Callable[..., Any]:
    from tri_core.plugins import manager

    known: dict[str, Callable[..., Any]] = {}
    for extension in manager().languages():
        known |= extension.queries
    answer = known.get(name)
    if answer is None and not _QUESTION.fullmatch(name):
        raise AttributeError(
            f"tri.language.target_info has no {name}; plugins answer {', '.join(known) or 'nothing'}"
        )

    def ask(*args: Any, _semantic: Builder, **kwargs: Any) -> Any:
        return answer is not None and answer(_semantic.target.key, *args, **kwargs)

    ask.__name__ = ask.__qualname__ = name
    return builtin(ask)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from tri_core.plugins import manager

    return _question(manager().generation, name)
