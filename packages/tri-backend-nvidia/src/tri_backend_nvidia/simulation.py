"""Support for the simulator: functions that the driver provides, and the text level."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tri_core.api import SimulationError
from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.simulator import Executable
from tri_runtime.simulator.functions import FUNCTIONS, function, multiply_high

__all__ = ["decode_text", "externals"]


def externals() -> Mapping[str, Callable[..., Sequence[Any]]]:
    """By symbol: functions of the CTA and of the operands over its threads."""
    library = {
        f"__nv_{name}{suffix}": _over_threads(function(name)) for name in FUNCTIONS for suffix in ("", "f")
    }
    high = {f"__nv_{name}": _over_threads(multiply_high) for name in ("umulhi", "umul64hi")}
    return {**library, **high, "__assertfail": _assertion_failed}


def decode_text(image: bytes, entry: str) -> Executable:
    """The kernel ``entry`` of PTX text, for the simulator's CTAs."""
    from tri_backend_nvidia.text import TextProgram

    return TextProgram(image.decode(), entry)


def _over_threads(call: Callable[..., Any]) -> Callable[..., Sequence[Any]]:
    return lambda cta, operands: [call(*operands)]


def _assertion_failed(cta: SimulatedCTA, operands: Sequence[Any]) -> Sequence[Any]:
    """Stops the kernel."""
    del operands
    thread = int(np.flatnonzero(np.asarray(cta.active))[0])
    raise SimulationError(
        f"program {cta.program_id}: thread {thread} stopped the kernel (an assertion failed)",
        check="trap",
        program=cta.program_id,
        thread=thread,
        other=None,
    )
