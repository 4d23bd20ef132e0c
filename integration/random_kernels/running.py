"""Running one random kernel on several targets, and comparing what they stored."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import tri
from integration.random_kernels.program import INPUT, RandomKernel, Stored
from tri_core.errors import ToolchainError, TriError, Unsupported

__all__ = ["Disagreement", "agree", "check", "run"]

Array = npt.NDArray[Any]


class Disagreement(AssertionError):
    """Two targets stored different values."""


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="random-kernels-"))


def _load(kernel: RandomKernel) -> Any:
    """The kernel, from a file of its own: tracebacks and inspect need one."""
    name = "random_" + hashlib.sha256(kernel.source.encode()).hexdigest()[:16]
    path = _folder() / f"{name}.py"
    path.write_text(kernel.source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.kernel


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def _inputs(kernel: RandomKernel) -> list[Array]:
    """Quarters up to 4 for floats: sums and products of a few are exact in every type; any bits for integers."""
    random = np.random.default_rng(kernel.seed)
    made = []
    for name in kernel.inputs:
        if np.issubdtype(_dtype(name), np.integer):
            limits = np.iinfo(name)
            made.append(random.integers(limits.min, limits.max, INPUT, dtype=name, endpoint=True))
        else:
            made.append((random.integers(-16, 17, INPUT) / 4).astype(_dtype(name)))
    return made


def _poisoned(output: Stored) -> Array:
    """An array of a value that no kernel writes by chance."""
    made = np.empty(output.numel, _dtype(output.dtype))
    made.view(np.uint8)[:] = 0xA5
    return made


def _context(target: str) -> AbstractContextManager[Any]:
    if target == "interpreter":
        interpret: Any = tri.interpret
        made: AbstractContextManager[Any] = interpret()
        return made
    return tri.target(target)


def run(kernel: RandomKernel, target: str, **options: int) -> list[Array]:
    """What ``kernel`` stores on ``target``, launched with its own number of warps or with ``options``."""
    function = _load(kernel)
    outputs = [_poisoned(o) for o in kernel.outputs]
    with _context(target):
        function[(1,)](
            *_inputs(kernel),
            *outputs,
            kernel.trip_count,
            kernel.flag,
            **{"num_warps": kernel.num_warps, **options},
            enable_fp_fusion=False,
        )
    return outputs


def agree(output: Stored, left: Array, right: Array) -> bool:
    """Equal, NaNs alike; or within the tolerance of the largest."""
    if output.tolerance == 0.0:
        # ml_dtypes' bfloat16 is no inexact type for NumPy: equal_nan needs one
        if left.dtype.kind not in "iu":
            left, right = left.astype(np.float64), right.astype(np.float64)
            return np.array_equal(left, right, equal_nan=True)
        return np.array_equal(left, right)
    a, b = left.astype(np.float64), right.astype(np.float64)
    scale = max(1.0, float(np.abs(a[np.isfinite(a)]).max(initial=0.0)))
    return bool(np.allclose(a, b, rtol=output.tolerance, atol=output.tolerance * scale, equal_nan=True))


def check(
    kernel: RandomKernel, targets: Sequence[str], refused: Callable[[str, TriError], None] | None = None
) -> None:
    """Run ``kernel`` on all ``targets``; Disagreement with the source when two differ.

    A target but the first may refuse the kernel: ``refused`` is told, and without it the refusal is raised.
    """
    first = run(kernel, targets[0])
    for target in targets[1:]:
        try:
            other = run(kernel, target)
        except (Unsupported, ToolchainError) as error:
            # a compiler that is too slow says nothing of the kernel; one that dies does
            if refused is None or (isinstance(error, ToolchainError) and "took longer" not in error.message):
                raise
            refused(target, error)
            continue
        for output, left, right in zip(kernel.outputs, first, other, strict=True):
            if not agree(output, left, right):
                where = np.flatnonzero(left != right)[:4]
                raise Disagreement(
                    f"{targets[0]} and {target} disagree in {output.name} ({output.dtype}) at {where}: "
                    f"{left[where]} against {right[where]}; n={kernel.trip_count}, flag={kernel.flag}, "
                    f"num_warps={kernel.num_warps}\n{kernel.source}"
                )
