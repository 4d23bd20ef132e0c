"""Indices of the files of kernels, by which a program that serves a bundle launches without parsing them (:mod:`tri.source_index`)."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tri.kernel import Kernel

__all__ = ["files_of", "indices"]


def files_of(function: Kernel) -> frozenset[str]:
    """Files of ``function`` and of the functions that it calls."""
    from tri.dependencies import reached

    return frozenset(each.python_function.__code__.co_filename for each in reached(function))


def indices(files: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Key and payload of an entry for each of ``files``; none for files that are not here."""
    from tri.kernel_source import indexed
    from tri.source_index import index_entry

    for file in sorted(set(files)):
        lines = linecache.getlines(file)
        if lines:
            yield index_entry(lines, indexed(lines))
