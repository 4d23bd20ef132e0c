"""Environment knobs of the Intel backend."""

from __future__ import annotations

import difflib

from tri_backend_intel.spirv.extensions import KNOWN
from tri_core.api import Knob, KnobGroup

__all__ = ["DRIVERS", "GPUS", "KNOBS", "parse_drivers", "parse_gpus", "parse_names", "parse_trial"]

#: the ways to Intel's devices
DRIVERS = ("sycl", "level_zero", "opencl")
#: architectures of GPUs
GPUS = ("pvc", "bmg", "lnl", "ptl", "dg2", "arl-h", "mtl", "xe-lp")


def parse_trial(text: str) -> str:
    """``auto``, ``always`` or ``never``; ValueError otherwise."""
    if text not in ("auto", "always", "never"):
        raise ValueError("write auto, always or never")
    return text


def parse_drivers(text: str) -> tuple[str, ...]:
    """Names with commas between, none for ``auto``; ValueError for one that is no driver."""
    names = tuple(filter(None, map(str.strip, text.split(","))))
    if names == ("auto",):
        return ()
    if not names or set(names) - set(DRIVERS):
        raise ValueError(f"write auto, or names of {', '.join(DRIVERS)} with commas between")
    return names


def parse_names(text: str) -> tuple[str, ...]:
    """Names with commas between; ValueError for one that is no SPIR-V extension that LLVM knows."""
    names = tuple(filter(None, map(str.strip, text.split(","))))
    for name in names:
        if name not in KNOWN:
            near = difflib.get_close_matches(name, KNOWN, n=1)
            raise ValueError(f"write names of SPIR-V extensions{f', as {near[0]}' if near else ''}")
    return names


def parse_gpus(text: str) -> tuple[str, ...]:
    """Architectures of GPUs with commas between, none for an empty text; ValueError for what is none."""
    names = tuple(filter(None, map(str.strip, text.split(","))))
    if wrong := [name for name in names if name not in GPUS]:
        raise ValueError(f"{wrong[0]} is none of {', '.join(GPUS)}")
    return names


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
            name="INTEL_WITHOUT",
            default=(),
            parse=parse_names,
            help="SPIR-V extensions that kernels must do without, for older drivers: names with commas between",
            affects_codegen=True,
        ),
        Knob(
            name="INTEL_STANDIN",
            default=(),
            parse=parse_gpus,
            help="architectures of the stand-in driver's devices, with commas between: kernels are compiled to run on them, "
            "and Level Zero is used through it",
            affects_codegen=True,
        ),
        Knob(
            name="INTEL_DRIVER",
            default=(),
            parse=parse_drivers,
            help="ways to devices, with commas between: sycl (dpctl), level_zero, opencl (CPUs); auto: sycl where dpctl is installed, "
            "else the other two",
        ),
        Knob(
            name="INTEL_LEVEL_ZERO",
            help="path of Level Zero's loader, in place of the system's libze_loader.so.1",
        ),
        Knob(
            name="INTEL_TRIAL_BUILD",
            default="auto",
            parse=parse_trial,
            help="build new kernels in a helper process first: always, never, or auto (on CPU devices, unoptimised)",
        ),
    ),
)
