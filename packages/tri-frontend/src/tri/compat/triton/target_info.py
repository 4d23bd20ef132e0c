"""``triton.language.target_info``: Triton's questions, in kernels of the target compiled for, elsewhere of that in use."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tri.compat.triton.targets import GPUTarget, gpu_target
from tri.context import compiled_for
from tri.interpreting import current
from tri.language import target_info as questions
from tri.language.builtin import constexpr_function

if TYPE_CHECKING:
    from tri_core.target import Target

__all__ = ["current_target"]


def _target() -> Target:
    """The target that a kernel is compiled for now, or is interpreted for; else the one in use."""
    from tri.compat.triton.current import current_target as in_use

    interpreter = current()
    found = compiled_for() if interpreter is None else interpreter.target
    return in_use() if found is None else found


@constexpr_function
def current_target() -> GPUTarget:
    """The target, in Triton's words."""
    return gpu_target(_target())


@functools.cache
def _question(name: str) -> Any:
    getattr(questions, name)  # an unknown one says which there are

    def ask(*args: Any, **kwargs: Any) -> Any:
        answer = questions.answer_of(name)
        return answer is not None and answer(_target().key, *args, **kwargs)

    ask.__name__ = ask.__qualname__ = name
    return constexpr_function(ask)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _question(name)


def __dir__() -> list[str]:
    return dir(questions)
