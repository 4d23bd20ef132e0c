"""``heuristics``: values of constexprs computed from the other arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tri.tuning.wrapper import Wrapper
from tri_core.errors import TriError
from tri_core.tracebacks import shorten

__all__ = ["Heuristics", "heuristics"]

Rule = Callable[[dict[str, Any]], Any]


class Heuristics(Wrapper):
    """A kernel some of whose arguments are computed; made by :func:`heuristics`."""

    def __init__(self, fn: Any, arg_names: list[str], values: Mapping[str, Rule]) -> None:
        super().__init__(fn, arg_names)
        self.values = dict(values)

    def computed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The keywords with the computed ones; each rule sees those before it."""
        given = dict(kwargs)
        positional = dict(zip(self.arg_names, args, strict=False))
        for name, rule in self.values.items():
            given[name] = rule({**positional, **given})
        return given

    def run(self, /, *args: Any, **kwargs: Any) -> Any:
        """Launch (or warm up) with the computed arguments."""
        try:
            return self.fn.run(*args, **self.computed(args, kwargs))
        except TriError as error:
            shorten(error)
            raise

    def plan(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compile of a launch with such arguments."""
        return self.fn.plan(*args, **self.computed(args, kwargs))


def heuristics(values: Mapping[str, Rule]) -> Callable[[Any], Heuristics]:
    """Compute the arguments in ``values``, options such as ``num_warps`` too, by functions of all by name::

        @tri.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
        @tri.jit
        def kernel(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr): ...

    A rule sees the results of those before it; what one raises (KeyError for an argument that was not passed) ends the launch.
    """
    return lambda fn: Heuristics(fn, fn.arg_names, values)
