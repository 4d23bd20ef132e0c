"""Environment knobs: where the tools are, and how long a launch may take."""

from __future__ import annotations

from tri_core.api import Knob, KnobGroup

__all__ = ["KNOBS"]


def _seconds(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:
        raise ValueError("write a number of seconds, above 0")
    return seconds


KNOBS = KnobGroup(
    prefix="RISCV",
    knobs=(
        Knob(
            name="RISCV_QEMU", default="qemu-riscv64", help="the emulator that runs kernels: a name or a path"
        ),
        Knob(
            name="RISCV_TIMEOUT", default=60.0, parse=_seconds, help="seconds after which a launch is ended"
        ),
    ),
)
