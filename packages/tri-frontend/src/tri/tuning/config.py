"""``Config``: values of a kernel's constexprs, and options of its compile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Config"]

Hook = Callable[[dict[str, Any]], Any]

#: options that a Config has fields for, in Triton's order
_OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override")


class Config:
    """One configuration that an autotuner may choose.

    ``kwargs`` gives values of constexprs; ``num_warps``, ``num_stages``, ``num_ctas`` and ``maxnreg`` (the
    most registers per thread, None: the compiler's choice) are options of the compile; ``ir_override`` is the
    path of a file of IR to compile instead, its suffix naming the stage.  ``pre_hook`` is called with all
    arguments by name before a launch with this configuration is planned: it may set the ``block_shape`` of a descriptor.
    """

    def __init__(
        self,
        kwargs: Mapping[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Hook | None = None,
        ir_override: str | None = None,
    ) -> None:
        self.kwargs = dict(kwargs)
        self.num_warps = num_warps
        self.num_ctas = num_ctas
        self.num_stages = num_stages
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def all_kwargs(self) -> dict[str, Any]:
        """The keywords of a launch with this configuration."""
        made = dict(self.kwargs)
        for name in _OPTIONS:  # in every launch: a generator would take twice the time
            if (value := getattr(self, name)) is not None:
                made[name] = value
        return made

    def prepare(self, arguments: dict[str, Any]) -> None:
        """Call the hook, if there is one, with ``arguments`` by name: before a launch is planned, since it may change what is compiled for."""
        if self.pre_hook is not None:
            self.pre_hook(arguments)

    def _identity(self) -> tuple[Any, ...]:
        return (*sorted(self.all_kwargs().items(), key=lambda item: item[0]), self.pre_hook)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(tuple((k, repr(v)) for k, v in sorted(self.all_kwargs().items())))

    def __str__(self) -> str:
        return ", ".join(f"{name}: {value}" for name, value in self.all_kwargs().items())

    def __repr__(self) -> str:
        return f"Config({self})"

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update({"maxnreg": None, "pre_hook": None, "ir_override": None, **state})
