"""Environment knobs of the AMD backend."""

from __future__ import annotations

from tri_backend_amd.processors import PROCESSORS
from tri_core.api import Knob, KnobGroup

__all__ = ["KNOBS", "parse_gpus"]


def parse_gpus(text: str) -> tuple[str, ...]:
    """Target ids of GPUs with commas between, none for an empty text; ValueError for what is none."""
    names = tuple(filter(None, map(str.strip, text.split(","))))
    if wrong := [name for name in names if name.partition(":")[0] not in PROCESSORS]:
        raise ValueError(f"{wrong[0]} is none of {', '.join(PROCESSORS)}")
    return names


KNOBS = KnobGroup(
    prefix="AMD",
    knobs=(
        Knob(name="AMD_LLD", default="", help="the ld.lld that links code objects", affects_codegen=True),
        Knob(name="AMD_CLANG", default="", help="the clang that assembles edited code", affects_codegen=True),
        Knob(
            name="AMD_STANDIN",
            default=(),
            parse=parse_gpus,
            help="target ids of the stand-in's devices, with commas between: kernels are compiled to run on them, and HIP is "
            "used through it",
            affects_codegen=True,
        ),
        Knob(name="AMD_OBJDUMP", default="", help="the llvm-objdump that disassembles code objects"),
    ),
)
