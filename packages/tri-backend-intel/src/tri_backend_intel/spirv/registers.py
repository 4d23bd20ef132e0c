"""128 or 256 registers for a hardware thread, by what a kernel spills with them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import field

from tri_backend_intel.offline import OfflineRefused, find_ocloc, run_ocloc
from tri_backend_intel.options import IntelOptions
from tri_core.api import Target
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Judged", "judge", "register_modes", "registers_of"]

logger = logging.getLogger(__name__)

#: the driver's options for ``IntelOptions.grf_mode``
_GRF = {
    "default": "",
    "small": "-cl-intel-128-GRF-per-thread",
    "large": "-cl-intel-256-GRF-per-thread",
    "auto": "-cl-intel-enable-auto-large-GRF-mode",
}
_UNKNOWN = (
    "registers and spills are not known before the kernel is loaded: {why}; the driver is asked then, and 256 registers are "
    "taken where 128 spill"
)
_SPILLED = (
    "{spills} bytes of a hardware thread are spilled with {registers} registers: sums and operands of a warp take more; use smaller "
    "blocks or more warps"
)
_GIVEN = "registers and spills are not known before the kernel is loaded: {why}"


@dataclass(frozen=True)
class Judged:
    """The driver's options that are left to choose among (one, when the choice was made), and what is known of them.

    ``resources``: ``registers`` of a hardware thread, ``spills`` of it in bytes.
    """

    modes: tuple[str, ...]
    resources: Mapping[str, int] = field(default_factory=dict)
    remark: str | None = None


def register_modes(options: IntelOptions, target: Target) -> tuple[str, ...]:
    """The options worth a try: the one that ``grf_mode`` names, or by default small, then large if the warps fit."""
    if not target.has("gpu"):
        return ("",)
    most = target.spec.limits["hardware_threads"] // 2
    if options.grf_mode == "default" and target.has("large-registers") and options.num_warps <= most:
        return ("", _GRF["large"])
    return (_GRF[options.grf_mode],)


def registers_of(options: str) -> dict[str, int]:
    """``registers`` of a hardware thread in code that the driver's ``options`` make; nothing where the driver chooses."""
    if _GRF["auto"] in options:
        return {}
    return {"registers": 256 if _GRF["large"] in options else 128}


def judge(module: bytes, target: Target, modes: tuple[str, ...], device: str, given: str | None) -> Judged:
    """Ask ``ocloc`` (the program ``given``, or on the path) for each of ``modes`` until one spills nothing.

    ``device`` is ocloc's name of ``target``.  Where it cannot be asked all modes are left, with a remark.
    """
    if not target.has("gpu"):
        return Judged(modes)
    program = find_ocloc(given)
    if program is None:
        return _left(modes, "there is no ocloc (TRI_INTEL_OCLOC, or on the path)")
    best = None
    for options in modes:
        try:
            made = run_ocloc(program, module, device, options)
        except OfflineRefused as error:
            logger.info("ocloc does not compile for %s with %r: %s", device, options, error)
            if best is None:
                return _left(modes, f"ocloc does not compile the kernel for {device}: {str(error)[:200]}")
            continue
        if best is None or made.spills < best[1].spills:
            best = options, made
        if not made.spills:
            break
    assert best is not None, "there is a mode"
    options, made = best
    remark = _SPILLED.format(spills=made.spills, registers=made.registers) if made.spills else None
    return Judged((options,), {"registers": made.registers, "spills": made.spills}, remark)


def _left(modes: tuple[str, ...], why: str) -> Judged:
    return Judged(modes, remark=(_UNKNOWN if len(modes) > 1 else _GIVEN).format(why=why))
