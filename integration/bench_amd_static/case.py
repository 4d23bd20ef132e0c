"""A kernel on a chip that the bench counts; nothing here imports a compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Case"]


@dataclass(frozen=True)
class Case:
    """A kernel on a chip: types of its parameters (those left out are constexprs); arrays are small, sizes multiples of 16.

    ``nightly``: left to the nightly session, which takes what long compiles take.
    """

    module: str
    kernel: str
    label: str
    types: str
    constants: Mapping[str, object]
    chip: str = "gfx942"
    warps: int = 4
    stages: int = 2
    nightly: bool = False

    @property
    def name(self) -> str:
        return " ".join(word for word in (self.chip, self.kernel, self.label) if word)
