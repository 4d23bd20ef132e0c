"""The stage ``cubin``: PTX text to machine code, by ptxas."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path

from tri_backend_nvidia.disassembly import read_sass, sass
from tri_backend_nvidia.options import nvidia_options
from tri_backend_nvidia.ptx import entry_points
from tri_backend_nvidia.ptxas import (
    Assembled,
    all_under_way,
    assemble,
    given_up,
    issues_more,
    limited,
    pays,
    ptxas,
    sound,
    spills_less,
)
from tri_core import knobs
from tri_core.api import CommonOptions, Stage, StageContext, StageResult, ToolchainError

__all__ = ["arguments", "cubin_stage"]

logger = logging.getLogger(__name__)


def arguments(options: CommonOptions, lines: bool) -> tuple[str, ...]:
    """Arguments of ptxas for the options; it keeps source ``lines`` on request only."""
    line_info = ("-lineinfo",) if lines else ()
    fusion = () if options.enable_fp_fusion else ("--fmad=false",)
    given = shlex.split(nvidia_options(options).ptx_options)
    return (*line_info, *fusion, *given)


def _program(context: StageContext) -> Path:
    override = context.knobs.get("NVIDIA_PTXAS")
    return ptxas(str(override) if override else None, context.target.key.arch)


def _assembled(ptx: str, context: StageContext) -> Assembled:
    return assemble(
        ptx,
        context.target.key.arch,
        program=_program(context),
        kernel=context.kernel_name,
        options=arguments(context.options, bool(context.knobs.get("LINE_INFO"))),
        timeout=knobs.get("NVIDIA_PTXAS_TIMEOUT"),
    )


def _with_limits(ptx: str, made: Assembled, context: StageContext) -> Assembled:
    """The same with another number of registers: fewer where more CTAs fit then and hardly anything is spilled for it, more where ptxas gave up
    or waits for each of many loads.

    Of a kernel whose shared memory is not known, and of one with options for ptxas, nothing is changed.
    """
    unit, shared = context.target.spec.unit, context.resources.get("shared")
    if unit is None or shared is None or nvidia_options(context.options).ptx_options:
        return made
    if (text := limited(ptx, made.usage, unit, shared)) is not None:
        denser = _again(text, context)
        return denser if denser is not None and pays(denser.usage) else made
    if (text := given_up(ptx, made.usage, unit)) is not None:
        ampler = _again(text, context)
        return ampler if ampler is not None and spills_less(ampler.usage, made.usage) else made
    if (text := issues_more(ptx, made.usage, unit)) is not None:
        ampler = _again(text, context)
        return ampler if ampler is not None and all_under_way(ptx, ampler.usage, made.usage) else made
    return made


def _again(text: str, context: StageContext) -> Assembled | None:
    """``text`` assembled; None where its limit does not suffice: an instruction of warp groups may need more registers at once."""
    try:
        return _assembled(text, context)
    except ToolchainError as error:
        logger.debug("%s: no code with other registers: %s", context.kernel_name, error)
        return None


def _run(ptx: str, context: StageContext) -> StageResult:
    ptx, rewritten = sound(_program(context), context.target.key.arch).apply(ptx)
    made = _with_limits(ptx, _assembled(ptx, context), context)
    usage = made.usage
    return StageResult(
        artifact=made.cubin,
        resources={"registers": usage.registers, "spills": usage.spill_stores, "stack": usage.stack},
        entry_points=entry_points(ptx),
        attrs={"ptx_rewritings": list(rewritten)} if rewritten else {},
    )


def cubin_stage() -> Stage:
    """From PTX text to a cubin; ``registers`` per thread, ``spills`` and ``stack`` in bytes per thread.

    The attribute ``ptx_rewritings`` names what was said otherwise because this ptxas gets it wrong (:mod:`.ptxas.faults`).
    """
    return Stage(
        name="cubin",
        kind="bytes",
        run=_run,
        final=True,
        disassemblers={"sass": sass},
        listings={"sass": read_sass},
    )
