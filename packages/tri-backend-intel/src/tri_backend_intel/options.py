"""Compile options of Intel targets."""

from __future__ import annotations

from dataclasses import fields

from tri_core.api import CommonOptions, OptionError, OutOfResources, Target
from tri_core.lazy_dataclasses import dataclass

__all__ = ["IntelOptions", "check_path", "check_registers", "intel_options", "without_simd"]

_GRF = ("default", "small", "large", "auto")
_PATHS = ("auto", "simt", "simd")
#: of a sub-group on the SIMD path
_SIMD_LANES = 16


@dataclass(frozen=True, kw_only=True)
class IntelOptions(CommonOptions):
    """Options of :class:`CommonOptions` and Intel's own.

    ``warp_size``: work items per sub-group, 0 for the target's preferred one; ``grf_mode``: registers per
    hardware thread (``"small"`` 128, ``"large"`` 256 at half the occupancy, ``"auto"`` the driver's choice without
    building twice; ``"default"`` 128, or 256 where fewer are spilled with them, by ``ocloc`` or the driver).
    ``path``: ``"simt"``, a work item is the IR's thread; ``"simd"``, a sub-group is (XeGPU), and what that path
    cannot carry is refused; ``"auto"``, the cheaper one of both by an estimate, for kernels with dots.
    """

    #: SPIR-V kernels cannot stop themselves, so that an assertion is refused
    sanitize_overflow: bool = False
    warp_size: int = 0
    grf_mode: str = "default"
    path: str = "simt"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grf_mode not in _GRF:
            raise OptionError(
                f"grf_mode is {self.grf_mode!r}", remedy=f"one of {', '.join(_GRF)} is expected"
            )
        if self.path not in _PATHS:
            raise OptionError(f"path is {self.path!r}", remedy=f"one of {', '.join(_PATHS)} is expected")


def intel_options(options: CommonOptions) -> IntelOptions:
    """``options`` as Intel's: those common to all targets get the defaults of the others."""
    if isinstance(options, IntelOptions):
        return options
    return IntelOptions(**{field.name: getattr(options, field.name) for field in fields(CommonOptions)})


def check_registers(target: Target, options: IntelOptions) -> None:
    """OutOfResources when a core of ``target`` has too few registers for all warps of a work group.

    With ``grf_mode="large"`` half as many hardware threads run on a core, and a work group runs on one.
    """
    if options.grf_mode != "large" or not target.has("gpu"):
        return
    most = target.spec.limits["hardware_threads"] // 2
    if options.num_warps > most:
        raise OutOfResources(  # which an autotuner takes for a configuration to skip
            f'num_warps is {options.num_warps}; with grf_mode="large" a core of {target} runs {most} warps',
            remedy=f'use num_warps={most}, or grf_mode="small"',
            resource="hardware_threads",
            need=options.num_warps,
            have=most,
            nearest={"num_warps": most},
        )


def check_path(target: Target, options: IntelOptions) -> None:
    """OptionError for ``path="simd"`` where ``target`` has no 2D blocks or DPAS, or the sub-group is not theirs."""
    why = without_simd(target, options)
    if options.path == "simd" and why is not None:
        raise OptionError(f"path is {options.path!r}, and {why}", remedy="use path='simt'")


def without_simd(target: Target, options: IntelOptions) -> str | None:
    """Reason that no kernel compiled so can take the SIMD path; None if it depends on the kernel."""
    missing = [name for name in ("dpas", "2d-block-io") if not target.has(name)]
    if missing:
        return f"{target} has no {missing[0]}"
    if options.warp_size not in (0, _SIMD_LANES):
        return f"warp_size is {options.warp_size}, where that path has {_SIMD_LANES}"
    return f"num_ctas is {options.num_ctas}" if options.num_ctas != 1 else None
