"""OpenCL's builtins for the simulator: functions that drivers provide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tri_runtime.simulator.functions import FUNCTIONS, function, multiply_high

__all__ = ["externals"]

_OF_TWO = frozenset({"atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "pow", "remainder"})


def externals() -> Mapping[str, Callable[..., Sequence[Any]]]:
    """By mangled name: functions of the CTA and of the operands over its threads."""
    found = {_mangled(name, code): _over_threads(function(name)) for name in FUNCTIONS for code in ("f", "d")}
    return found | {f"_Z6mul_hi{code}": _over_threads(multiply_high) for code in ("jj", "mm")}


def _mangled(name: str, code: str) -> str:
    return f"_Z{len(name)}{name}{code * (2 if name in _OF_TWO else 1)}"


def _over_threads(call: Callable[..., Any]) -> Callable[..., Sequence[Any]]:
    return lambda cta, operands: [call(*operands)]
