"""Environment knobs of the Intel backend."""

from __future__ import annotations

from tri_core.api import Knob, KnobGroup

__all__ = ["KNOBS", "parse_trial"]


def parse_trial(text: str) -> str:
    """``auto``, ``always`` or ``never``; ValueError otherwise."""
    if text not in ("auto", "always", "never"):
        raise ValueError("write auto, always or never")
    return text


KNOBS = KnobGroup(
    prefix="INTEL",
    knobs=(
        Knob(name="INTEL_SPIRV_DIS", help="path of spirv-dis, for SPIR-V as text"),
        Knob(
            name="INTEL_OCLOC",
            help="path of ocloc, which tells registers and spills before a kernel is loaded; none: do not ask it",
            affects_codegen=True,
        ),
        Knob(
            name="INTEL_TRIAL_BUILD",
            default="auto",
            parse=parse_trial,
            help="build new kernels in a helper process first: always, never, or auto (on CPU devices, unoptimised)",
        ),
    ),
)
