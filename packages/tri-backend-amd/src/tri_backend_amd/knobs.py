"""Environment knobs of the AMD backend."""

from __future__ import annotations

from tri_core.api import Knob, KnobGroup

__all__ = ["KNOBS"]

KNOBS = KnobGroup(
    prefix="AMD",
    knobs=(
        Knob(name="AMD_LLD", default="", help="the ld.lld that links code objects", affects_codegen=True),
        Knob(name="AMD_CLANG", default="", help="the clang that assembles edited code", affects_codegen=True),
        Knob(name="AMD_OBJDUMP", default="", help="the llvm-objdump that disassembles code objects"),
    ),
)
