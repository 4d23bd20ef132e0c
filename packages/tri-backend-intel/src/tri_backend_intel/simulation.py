"""What OpenCL's builtins do: functions that drivers bring, for the simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["externals"]

#: builtins of two floats, by name
_OF_TWO: dict[str, Callable[..., Any]] = {"fmax": np.fmax, "fmin": np.fmin}


def externals() -> Mapping[str, Callable[..., Sequence[Any]]]:
    """By mangled name: functions of the CTA and of the operands over its threads."""
    return {
        f"_Z{len(name)}{name}{code}": _over_threads(function)
        for name, function in _OF_TWO.items()
        for code in ("ff", "dd")
    }


def _over_threads(function: Callable[..., Any]) -> Callable[..., Sequence[Any]]:
    return lambda cta, operands: [function(*operands)]
