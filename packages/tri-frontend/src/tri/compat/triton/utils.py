"""``triton._utils``: nested tuples, powers of two, shapes of blocks, warnings that are given once."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = [
    "TRITON_MAX_TENSOR_NUMEL",
    "apply_with_path",
    "find_paths_if",
    "get_iterable_path",
    "is_iterable",
    "is_namedtuple",
    "is_power_of_two",
    "prewarm_deprecation_warnings",
    "set_iterable_path",
    "validate_block_shape",
    "warn_once",
]

Path = tuple[int, ...]
#: elements that a block has at most
TRITON_MAX_TENSOR_NUMEL = 1 << 20


def get_iterable_path(iterable: Any, path: Path) -> Any:
    """The item of nested sequences at ``path``."""
    for index in path:
        iterable = iterable[index]
    return iterable


def set_iterable_path(iterable: Any, path: Path, value: Any) -> None:
    """Replace the item at ``path``, whose last container is mutable."""
    get_iterable_path(iterable, path[:-1])[path[-1]] = value


def find_paths_if(iterable: Sequence[Any] | Any, pred: Callable[[Path, Any], bool]) -> list[Path]:
    """The paths of the leaves that ``pred(path, leaf)`` accepts, in order."""

    def walk(value: Any, path: Path) -> Iterator[Path]:
        if isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                yield from walk(item, (*path, index))
        elif pred(path, value):
            yield path

    return list(walk(iterable, ()))


def is_iterable(value: Any) -> bool:
    """True if :func:`find_paths_if` descends into ``value``: a list or a tuple."""
    return isinstance(value, (list, tuple))


def apply_with_path(value: Any, fn: Callable[[Path, Any], None]) -> None:
    """Call ``fn(path, leaf)`` for every leaf of nested sequences, in order."""
    for path in find_paths_if(value, lambda path, leaf: True):
        fn(path, get_iterable_path(value, path))


def is_namedtuple(val: Any) -> bool:
    """True if ``val`` is a class of named tuples."""
    return isinstance(val, type) and issubclass(val, tuple) and hasattr(val, "_fields")


def is_power_of_two(x: int) -> bool:
    """True if ``x`` is 0 or has one bit."""
    return not x & (x - 1)


def validate_block_shape(shape: Sequence[int]) -> int:
    """The number of elements of a block of ``shape``; TypeError for no integers, ValueError for sizes that no block has."""
    for i, size in enumerate(shape):
        if not isinstance(size, int):
            raise TypeError(
                f"Shape element {i} must have type `constexpr[int]`, got `constexpr[{type(size)}]"
            )
        if not size or not is_power_of_two(size):
            raise ValueError(f"Shape element {i} must be a power of 2")
    elements = math.prod(shape)
    if elements > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(
            f"numel ({elements}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})"
        )
    return elements


@functools.cache
def warn_once(message: str) -> None:
    """A UserWarning with ``message``, the first time that it is asked for."""
    warnings.warn(message, UserWarning, stacklevel=2)


def prewarm_deprecation_warnings() -> None:
    """Nothing: tri gives none of the warnings that Triton gives before it drops something."""
