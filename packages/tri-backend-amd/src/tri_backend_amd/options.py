"""Compile options of AMD targets."""

from __future__ import annotations

from dataclasses import fields

from tri_core.api import CommonOptions, OptionError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["AmdOptions", "amd_options"]

#: more than any device has
_MOST_XCDS = 64


@dataclass(frozen=True, kw_only=True)
class AmdOptions(CommonOptions):
    """Options of :class:`CommonOptions` and AMD's own.

    ``warp_size``: work items per wavefront, 0 for the target's preferred one; ``waves_per_eu``: wavefronts
    per SIMD that register allocation must leave room for, 0 for LLVM's choice; ``matrix_instr_nonkdim``: the
    lesser of m and n of the matrix instructions, 4, 16 or 32, where one of them computes the dot; ``kpack``: whether
    a lane reads the operands of one instruction or of two at once.  0 leaves both to the compiler.  ``xcds``: how many XCDs
    share the programs of a launch, of a kernel with a dot: each gets programs that are neighbours (8 on MI300X and MI355X, 6 on MI300A);
    0 leaves programs as they are handed out.
    """

    warp_size: int = 0
    waves_per_eu: int = 0
    matrix_instr_nonkdim: int = 0
    kpack: int = 0
    xcds: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.waves_per_eu <= 16:
            raise OptionError(f"waves_per_eu is {self.waves_per_eu}; 0 (any) to 16 is expected")
        if not 0 <= self.xcds <= _MOST_XCDS:
            raise OptionError(f"xcds is {self.xcds}; 0 (as they are) to {_MOST_XCDS} is expected")
        for name, known in (("matrix_instr_nonkdim", (0, 4, 16, 32)), ("kpack", (0, 1, 2))):
            if getattr(self, name) not in known:
                expected = ", ".join(map(str, known))
                raise OptionError(f"{name} is {getattr(self, name)}; one of {expected} is expected")


def amd_options(options: CommonOptions) -> AmdOptions:
    """``options`` as AMD's: those common to all targets get the defaults of the others."""
    if isinstance(options, AmdOptions):
        return options
    return AmdOptions(**{field.name: getattr(options, field.name) for field in fields(CommonOptions)})
