"""Environment knobs of the NVIDIA backend."""

from __future__ import annotations

from tri_core.api import Knob, KnobGroup

__all__ = ["KNOBS"]


def _schedule(text: str) -> str:
    """``cost`` or ``written``; ValueError otherwise."""
    if text not in ("cost", "written"):
        raise ValueError("write cost or written")
    return text


def _ptxas() -> str:
    from tri_backend_nvidia.ptxas import ptxas

    return str(ptxas())


KNOBS = KnobGroup(
    prefix="NVIDIA",
    knobs=(
        Knob(
            name="NVIDIA_PTXAS",
            help="path of ptxas, instead of the one found",
            affects_codegen=True,
            locate=_ptxas,
        ),
        Knob(
            name="NVIDIA_PTXAS_OTHERS",
            help="paths of more ptxas that tri verify --assemblers judges, as PATH has folders",
        ),
        Knob(name="NVIDIA_LIBDEVICE", help="path of libdevice.10.bc", affects_codegen=True),
        Knob(
            name="NVIDIA_SCHEDULE",
            default="cost",
            parse=_schedule,
            help="cost: whether warps copy and CTAs go through tiles is estimated where no option says; written: they do not",
            affects_codegen=True,
        ),
        Knob(name="NVIDIA_NVDISASM", help="path of nvdisasm, for the disassembly of cubins"),
        Knob(name="NVIDIA_PTXAS_TIMEOUT", default=300.0, parse=float, help="seconds ptxas may take"),
    ),
)
