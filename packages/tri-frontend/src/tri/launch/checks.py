"""Checks of a launch, compiled or interpreted: its grid, its options, the places of its arrays.

The dispatcher and the interpreter both ask these functions, so that a launch that one refuses the other refuses in the same
words.  What arguments are read as is in :mod:`tri.launch.readers`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tri.launch.calls import call_site, show, unknown_option
from tri.launch.failures import called
from tri.launch.reported import add_knobs
from tri_core.errors import LaunchError, OptionError, TriError
from tri_core.target_options import idle_options, ignored_options

if TYPE_CHECKING:
    from tri.kernel import Kernel
    from tri.launch.arrays import Place
    from tri_core.target import Target

__all__ = ["Grid", "check_place", "checked_grid", "checked_options"]

Grid = tuple[int, ...] | int | Callable[[Mapping[str, Any]], "tuple[int, ...] | int"]


def checked_grid(
    function: Kernel, grid: Grid, named: Callable[[], Mapping[str, Any]]
) -> tuple[int, int, int]:
    """``grid`` as three integers of at least 0; LaunchError for what is no grid.

    ``named`` gives the arguments by name, for a grid that is a function of them.  The most that a target takes is its
    runtime's to check.
    """
    made: Any = called(function, grid, named()) if callable(grid) else grid
    shape = made if isinstance(made, (tuple, list)) else (made,)
    try:
        sizes = tuple(operator.index(n) for n in shape)
    except TypeError:
        sizes = ()
    if not 1 <= len(sizes) <= 3 or min(sizes) < 0:
        raise LaunchError(
            f"the grid of {function.__name__} is {show(made)}",
            remedy="give 1 to 3 non-negative integers, or a function of the arguments that does",
            location=call_site(),
        )
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def checked_options(
    function: Kernel, target: Target, given: Mapping[str, Any], known_too: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The options of a call of ``function`` for ``target``, with those of the decorator and the knobs.

    OptionError for a word that is no option, and for an option that asks for what ``target`` cannot do.  ``known_too``: options that
    are accepted beside those of the target.
    """
    options = dict(given)
    if function.debug is not None:
        options.setdefault("debug", function.debug)
    add_knobs(options)
    known = target.options_type.__dataclass_fields__.keys() | known_too | {"ir_override"}
    if options.keys() <= known:
        return options
    try:
        idle = idle_options(target, {k: v for k, v in options.items() if k not in known})
    except TriError as error:
        error.location = error.location or call_site()
        raise
    ignored = ignored_options(target)
    for name in sorted(options.keys() - known - ignored - idle):
        raise OptionError(
            f"{name!r} is neither a parameter of {function.__name__} nor an option of {target}",
            remedy=unknown_option(name, function, sorted((known | ignored) - {"ir_override"})),
            location=call_site(),
        )
    return {name: value for name, value in options.items() if name not in idle}


def check_place(function: Kernel, target: Target, place: Place | None) -> None:
    """LaunchError when arrays are at ``place`` (None: in host memory), a device of another kind than the chosen ``target``."""
    if place is not None and place.device.kind != target.device_kind:
        raise LaunchError(
            f"{function.__name__} is launched on {target}, but an array lives on "
            f"{place.device.kind}:{place.device.index}",
            remedy="leave the tri.target block, or pass arrays of the target's device or of the host",
        )
