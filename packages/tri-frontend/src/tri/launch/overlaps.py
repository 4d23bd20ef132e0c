"""Overlap of a launch's arrays, for targets whose code depends on it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.launch.arrays import reach, reaches

if TYPE_CHECKING:
    from tri.kernel import Kernel

__all__ = ["OverlapCheck", "any_overlap"]


def any_overlap(
    pairs: Sequence[tuple[int, int]], pointers: Sequence[Any], array: Callable[[int], Any]
) -> bool:
    """True if the arrays of one of ``pairs`` overlap without beginning at one address.

    ``pointers`` are what the launcher gets, ``array(i)`` is what was passed for parameter i.
    """
    return any(_overlap(pointers[j] - pointers[i], array(i), array(j)) for i, j in pairs)


def _overlap(distance: int, first: Any, second: Any) -> bool:
    """True if the arrays, whose first elements are ``distance`` bytes apart, overlap; at 0 the launcher
    detects it itself.
    """
    if distance < 0:
        distance, first, second = -distance, second, first
    return distance != 0 and reach(first)[1] + reach(second)[0] > distance


class OverlapCheck:
    """The question about the arguments of calls of ``function``, of which ``pairs`` of run-time parameters matter.

    ``paths``: which parameter each run-time one is, and where in it for an item of a tuple.
    """

    def __init__(
        self,
        function: Kernel,
        pairs: Sequence[tuple[int, int]],
        paths: Sequence[tuple[int, ...]],
        defaults: Mapping[str, Any],
    ) -> None:
        self._function, self._pairs, self._paths, self._defaults = function, pairs, paths, defaults
        self._names = [p.name for p in function.params]
        self._is_plain = all(p.kind is not inspect.Parameter.VAR_POSITIONAL for p in function.params)
        ends = {i: paths[i] for pair in pairs for i in pair}
        #: from how many positional arguments on all arrays are among these: never, for those in tuples
        self._positional = sys.maxsize
        if self._is_plain and all(len(path) == 1 for path in ends.values()):
            self._positional = 1 + max(path[0] for path in ends.values())
        self._numbers = [(i, j, paths[i][0], paths[j][0]) for i, j in pairs]

    def __call__(self, pointers: Sequence[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """True if arrays among ``args`` and ``kwargs`` overlap; ``pointers`` are the launcher's arguments."""
        if len(args) < self._positional:
            return self._ask(pointers, args, kwargs)
        # the method again, with as few calls as can be
        for i, j, number, other in self._numbers:
            distance = pointers[j] - pointers[i]
            if distance < 0:
                distance, number, other = -distance, other, number
            first, second = args[number], args[other]
            if distance and reaches[type(first)](first)[1] + reaches[type(second)](second)[0] > distance:
                return True
        return False

    def _ask(self, pointers: Sequence[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        if not self._is_plain:
            own = {k: v for k, v in kwargs.items() if k in self._function.signature.parameters}
            kwargs = self._function.signature.bind(*args, **own).arguments
            args = ()

        def array(i: int) -> Any:
            number, *rest = self._paths[i]
            if number < len(args):
                found = args[number]
            else:
                name = self._names[number]
                found = kwargs[name] if name in kwargs else self._defaults[name]
            for item in rest:
                if not isinstance(found, (tuple, list)):
                    break  # a number of a descriptor: the descriptor
                found = found[item]
            return found

        return any_overlap(self._pairs, pointers, array)
