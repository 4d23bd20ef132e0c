"""Compile options of NVIDIA targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import ClassVar

from tri_core.api import CommonOptions, OptionError, Target, Unsupported
from tri_core.lazy_dataclasses import dataclass

__all__ = ["NvidiaOptions", "check_launch", "nvidia_options", "registers_per_thread"]

#: threads per CTA over threads per warp
_MAX_WARPS = 32
_MAX_REGISTERS = 255
#: of a multiprocessor
_REGISTERS = 65536

#: former name -> name: understood, with a warning, in this version
_FORMER = {"delay_dots": "pipeline_chained_dots", "bulk_copies": "tma_copies", "bulk_stores": "tma_stores"}


@dataclass(frozen=True, kw_only=True)
class NvidiaOptions(CommonOptions):
    """Options of :class:`CommonOptions` and NVIDIA's own.

    ``maxnreg``: most registers a thread may have (None: ptxas decides); ``ptx_version``: the PTX version as
    major times ten plus minor (0: the oldest that suits the architecture and this compiler);
    ``ptx_options``: further options for ptxas, as on a command line; ``barrier_polls``: a wait for a barrier in memory
    stops the kernel with a trap after so many polls that fail (0: never), which finds deadlocks;
    ``tma_copies``: whether tensor descriptors are copied by the TMA where the GPU can (sm_90 on), or accessed by pointers.
    ``warp_specialize``: whether a kernel's blocks are copied by warps of their own where a GPU of Hopper's kind can
    (None: by cost, see ``docs/design/hopper.md``); ``tl.range(warp_specialize=)`` of a loop wins.
    ``persistent``: whether few CTAs take one program of the grid after the other (True: Unsupported for kernels whose programs may tell
    each other something; None: by cost, where ``warp_specialize`` is None, too, else no).
    ``launch_cooperative_grid``: all CTAs of a grid are resident at once, so that they may wait for each other; a grid
    of more than fit is refused.  ``launch_pdl``: a launch may begin before the kernel ahead of it on the stream has ended
    (programmatic dependent launch, sm_90 on), whose results ``tl.extra.cuda.gdc_wait()`` waits for.
    ``pipeline_chained_dots``: whether a dot that reads what another gave (attention's second) starts one iteration late, beside the next
    iteration's first, where registers suffice (None: where blocks are copied by warps of their own).
    ``ping_pong``: whether groups of warps that multiply alternate in loops that compute much between dots, such as attention's (None: yes).
    ``split_loops``: whether loops of dots whose blocks are copied by warps of their own are split where a mask of indices begins or
    ceases to matter (None: yes).
    ``tma_stores``: whether tiles that warps with blocks copied for them store through descriptors leave by the TMA, by way of shared memory
    (None: yes); else each warp stores what it computed from its registers, and no warp waits for another.
    Dots of f32 are computed as TF32 where nothing else is asked for, as in Triton.
    """

    former_names: ClassVar[Mapping[str, str]] = _FORMER

    default_dot_input_precision: str = "tf32"
    maxnreg: int | None = None
    ptx_version: int = 0
    ptx_options: str = ""
    barrier_polls: int = 0
    tma_copies: bool = True
    warp_specialize: bool | None = None
    persistent: bool | None = None
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    pipeline_chained_dots: bool | None = None
    ping_pong: bool | None = None
    split_loops: bool | None = None
    tma_stores: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_warps > _MAX_WARPS:
            raise OptionError(
                f"num_warps is {self.num_warps}; a CTA has at most {_MAX_WARPS} warps of 32 threads",
                remedy="use more programs instead",
            )
        if self.maxnreg is not None and not 16 <= self.maxnreg <= _MAX_REGISTERS:
            raise OptionError(
                f"maxnreg is {self.maxnreg}; 16 to {_MAX_REGISTERS} is expected", remedy="pass 128, say"
            )
        if not 0 <= self.barrier_polls < 1 << 31:
            raise OptionError(
                f"barrier_polls is {self.barrier_polls}; a count is expected", remedy="pass 0, or 1000000"
            )
        if self.ptx_version and not 60 <= self.ptx_version <= 99:
            raise OptionError(
                f"ptx_version is {self.ptx_version}; major times ten plus minor is expected",
                remedy="write 87 for PTX 8.7",
            )


def nvidia_options(options: CommonOptions) -> NvidiaOptions:
    """``options`` as NVIDIA's: those common to all targets get the defaults, without warp specialisation."""
    if isinstance(options, NvidiaOptions):
        return options
    common = {field.name: getattr(options, field.name) for field in fields(CommonOptions)}
    return NvidiaOptions(**common, warp_specialize=False)


def registers_per_thread(options: NvidiaOptions) -> int:
    """Most registers that a thread of a CTA can have, by its number of warps and ``maxnreg``."""
    share = min(_REGISTERS // (32 * options.num_warps), _MAX_REGISTERS)
    return share if options.maxnreg is None else min(share, options.maxnreg)


def check_launch(target: Target, options: NvidiaOptions) -> None:
    """Unsupported for a way to launch that GPUs of ``target`` do not have."""
    if options.launch_pdl and not target.has("griddepcontrol"):
        raise Unsupported(
            f"launch_pdl=True on {target}: grids depend on each other from within from compute capability 9.0 on",
            remedy="leave launch_pdl out: launches on one stream are in order",
        )
