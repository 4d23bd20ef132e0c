"""Memory that stands in for tensors without elements: the driver makes no tensor map of these.

A kernel whose pointers became descriptors may be launched for an empty tensor, as it could with pointers.  Copies then have a map of one
element: of a zero, which is what is read outside of tensors, or of one that is written and that nobody reads.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from tri_backend_nvidia.driver.zeros import zeros
from tri_core.api import HiddenParameters

__all__ = ["may_be_needed", "of_device", "place"]

#: words of the memory of a device; bytes from what is read to what is written, which share no line of a cache
_MAP_WORDS, _WRITTEN = 64, 128


def may_be_needed(attrs: Mapping[str, Any]) -> bool:
    """True if launches of a kernel with these metadata ``attrs`` may describe empty tensors."""
    return any(each.empty != "refused" for each in HiddenParameters.from_attrs(attrs).descriptors)


@functools.cache
def of_device(index: int) -> int:
    """The address of that of device ``index``, whose context is current at the first call; never given back."""
    del index
    return zeros(_MAP_WORDS)


def place(index: int, is_written: bool) -> int:
    """The address of the element for a map that is read, or written."""
    return of_device(index) + (_WRITTEN if is_written else 0)
