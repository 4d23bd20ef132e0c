"""``triton._utils``: walking nested tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["find_paths_if", "get_iterable_path", "set_iterable_path"]

Path = tuple[int, ...]


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
