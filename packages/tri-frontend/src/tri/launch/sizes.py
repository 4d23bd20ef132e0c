"""Launches of new sizes: a runtime that reads host arrays in place looks at each once, before it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri_core.errors import LaunchError

if TYPE_CHECKING:
    from tri.launch.fast_launch import Loaded
    from tri_core.runtime import ArrayArgument, Runtime

__all__ = ["SizesCheck", "sizes_check"]

#: how many sizes are remembered; then all are forgotten
_MOST = 1024


class SizesCheck:
    """Calls ``look`` of a runtime where grid, scalars or the arrays' bytes are such as it has not yet seen."""

    def __init__(
        self,
        look: Callable[[tuple[int, int, int], Sequence[Any]], None],
        host: tuple[int, ...],
        paths: tuple[tuple[int, ...], ...],
    ) -> None:
        """``host``: which arguments are arrays in host memory; ``paths``: which parameter each argument is."""
        self._look = look
        self._host = host
        self._numbers = [paths[i][0] for i in host]
        self._is_flat = all(len(paths[i]) == 1 for i in host)
        self._seen: set[Any] = set()

    def __call__(
        self,
        shape: tuple[int, int, int],
        arguments: Sequence[Any],
        args: tuple[Any, ...],
        describe: Callable[[], Mapping[int, ArrayArgument]],
    ) -> None:
        """An error of the runtime's if the launch over ``shape`` must not run; ``describe`` gives the arrays by argument."""
        known = list(arguments)
        arrays = None
        try:
            if not self._is_flat:
                raise IndexError
            for place, number in zip(self._host, self._numbers, strict=True):
                known[place] = args[number].nbytes
        except (AttributeError, IndexError):
            # passed by name, in a tuple, or of a library that does not say its bytes so
            try:
                arrays = describe()
            except LaunchError:  # an address alone, whose extent is unknown
                return
            for place, array in arrays.items():
                known[place] = array.nbytes
        key = (shape, *known)
        try:
            if key in self._seen or 0 in shape:
                return
        except TypeError:  # an argument that cannot be hashed
            return
        arrays = describe() if arrays is None else arrays
        self._look(shape, [arrays.get(i, argument) for i, argument in enumerate(arguments)])
        if len(self._seen) >= _MOST:
            self._seen.clear()
        self._seen.add(key)


def sizes_check(
    owner: Runtime, loaded: Loaded, host: tuple[int, ...], paths: tuple[tuple[int, ...], ...]
) -> SizesCheck | None:
    """The check of launches of ``loaded``; None where its runtime has nothing to look at."""
    prepare = getattr(owner, "launch_check", None)
    look = prepare(loaded.kernel) if host and prepare is not None else None
    return None if look is None else SizesCheck(look, host, paths)
