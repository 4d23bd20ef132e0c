"""Compile options of Toy targets."""

from __future__ import annotations

from dataclasses import dataclass

from tri_core.api import CommonOptions, OptionError

__all__ = ["ToyOptions"]


@dataclass(frozen=True, kw_only=True)
class ToyOptions(CommonOptions):
    """The options that every backend has, and Toy's own.

    ``opt_level``: how hard LLVM optimises, 0 to 3.
    """

    opt_level: int = 3

    def __post_init__(self) -> None:
        """Refuse what no stage could follow."""
        super().__post_init__()
        if not 0 <= self.opt_level <= 3:
            raise OptionError(f"opt_level is {self.opt_level}", remedy="pass 0, 1, 2 or 3")
