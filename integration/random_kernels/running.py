"""Running one random kernel on several targets, and comparing what they stored."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tri
from integration.device_arrays import device_of, to_device, to_host
from integration.random_kernels.model import evaluate
from integration.random_kernels.productions import PRODUCTIONS
from integration.random_kernels.program import INPUT, RandomKernel, Stored
from integration.random_kernels.values import Array, numpy_dtype
from tri_core.errors import ToolchainError, TriError, Unsupported

__all__ = [
    "Disagreement",
    "agree",
    "aligned",
    "arguments",
    "check",
    "difference",
    "forget",
    "inputs_of",
    "is_refusal",
    "loaded",
    "poisoned",
    "run",
]


#: modules of kernels that are held, and how many
_loaded: list[str] = []
_KEPT = 32


class Disagreement(AssertionError):
    """Two targets stored different values."""


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="random-kernels-"))


def loaded(source: str) -> Any:
    """The function ``kernel`` of a module's text, from a file of its own: tracebacks and inspect need one."""
    name = "random_" + hashlib.sha256(source.encode()).hexdigest()[:16]
    if name in sys.modules:
        return sys.modules[name].kernel
    forget(_KEPT - 1)
    _loaded.append(name)
    path = _folder() / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.kernel


def forget(keep: int = 0) -> None:
    """Let go of all kernels but the last ``keep``, and of what was compiled of them in this process."""
    while len(_loaded) > keep:
        forgotten = _loaded.pop(0)
        sys.modules.pop(forgotten, None)
        (_folder() / f"{forgotten}.py").unlink(missing_ok=True)


def aligned(count: int, dtype: str) -> Array:
    """An array that begins at a multiple of 256 bytes, as one of a device does."""
    kind = numpy_dtype(dtype)
    memory = np.empty(count * kind.itemsize + 256, np.uint8)
    first = -memory.ctypes.data % 256
    return memory[first : first + count * kind.itemsize].view(kind)


def inputs_of(kernel: RandomKernel) -> list[Array]:
    """Quarters up to 4 for floats: sums and products of a few are exact in every type; any bits for integers.

    Every fourth integer of 32 and 64 bits is near the middle between two floats.
    """
    random, near = np.random.default_rng(kernel.seed), np.random.default_rng((kernel.seed, 1))
    made = []
    for name in kernel.inputs:
        array = aligned(INPUT, name)
        if np.issubdtype(array.dtype, np.integer):
            limits = np.iinfo(array.dtype)
            array[:] = random.integers(limits.min, limits.max, INPUT, dtype=array.dtype, endpoint=True)
            if limits.bits >= 32:
                array[3::4] = _near_middles(near, array[3::4].size, limits.bits).astype(array.dtype)
        else:
            array[:] = (random.integers(-16, 17, INPUT) / 4).astype(array.dtype)
        made.append(array)
    return made


def _near_middles(random: np.random.Generator, count: int, bits: int) -> Array:
    """``2**a + 2**b`` of either sign, and the numbers beside it, ``b`` being where floats of some type that begin with ``2**a`` end."""
    least = random.choice([12, bits - 10], count)
    top = random.integers(least, bits - 1)
    last = np.maximum(top - random.choice([8, 11, 24, 53], count), 0)
    sign = random.choice([-1, 1], count)
    made: Array = sign * ((np.int64(1) << top) + (np.int64(1) << last) + random.integers(-1, 2, count))
    return made


def poisoned(output: Stored) -> Array:
    """An array of a value that no kernel writes by chance."""
    made = aligned(output.numel, output.dtype)
    made.view(np.uint8)[:] = 0xA5
    return made


def arguments(kernel: RandomKernel, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """The arguments of a launch, in the order of the parameters; views share the memory of ``outputs``."""
    views = [] if kernel.program is None else kernel.program.parameters.views
    again = [outputs[view.output][view.first :] for view in views]
    pointers, scalars = [*inputs, *outputs, *again], [kernel.trip_count, kernel.flag]
    first = kernel.program is not None and kernel.program.parameters.scalars_first
    return [*scalars, *pointers] if first else [*pointers, *scalars]


#: the third call of a kernel is the first whose arguments compiled code reads
_CALLS = 3


def _context(target: str, schedules: int = 0) -> AbstractContextManager[Any]:
    if target == "interpreter":
        interpret: Any = tri.interpret
        made: AbstractContextManager[Any] = interpret()
        return made
    stack = ExitStack()
    stack.enter_context(tri.target(target))
    if target.startswith("sim:"):
        # threads run in one order there, which may hide what another order shows
        stack.enter_context(tri.simulation(report=False, races=True, schedules=schedules))
    return stack


def run(kernel: RandomKernel, target: str, schedules: int = 0, **options: int) -> list[Array]:
    """Arrays that ``kernel`` stores on ``target``, launched with its own number of warps or with ``options``.

    A simulator does it in ``schedules`` orders more, which must leave the same.  Target ``numpy`` is the model of :mod:`~integration.random_kernels.model`.
    The interpreter, which costs least, is called as often as it takes until arguments are read by compiled code.
    """
    if target == "numpy":
        outputs = [poisoned(o) for o in kernel.outputs]
        evaluate(kernel, PRODUCTIONS, inputs_of(kernel), outputs)
        return outputs
    for _ in range(_CALLS if target == "interpreter" else 1):
        outputs = _launched(kernel, target, schedules, options)
    return outputs


def _launched(kernel: RandomKernel, target: str, schedules: int, options: Mapping[str, int]) -> list[Array]:
    outputs = [poisoned(o) for o in kernel.outputs]
    inputs, device = inputs_of(kernel), device_of(target)
    given = (
        [inputs, outputs]
        if device is None
        else [[to_device(x, device) for x in part] for part in (inputs, outputs)]
    )
    function = loaded(kernel.source)
    launched = {"num_warps": kernel.num_warps, **dict(kernel.options), **options}
    with _context(target, schedules):
        function[(1,)](*arguments(kernel, *given), **launched, enable_fp_fusion=False)
    return (
        outputs if device is None else [to_host(x, like) for x, like in zip(given[1], outputs, strict=True)]
    )


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


def difference(
    kernel: RandomKernel, names: tuple[str, str], left: Sequence[Array], right: Sequence[Array]
) -> str | None:
    """Difference between the outputs of two targets, with the source; None if they agree."""
    for output, a, b in zip(kernel.outputs, left, right, strict=True):
        if not agree(output, a, b):
            where = np.flatnonzero((a != b) & ~((a != a) & (b != b)))[:4]
            return (
                f"{names[0]} and {names[1]} disagree in {output.name} ({output.dtype}) at {where}: "
                f"{a[where]} against {b[where]}; n={kernel.trip_count}, flag={kernel.flag}, "
                f"num_warps={kernel.num_warps}\n{kernel.source}"
            )
    return None


def is_refusal(error: BaseException) -> bool:
    """True if a target declares that it can't: a compiler that is too slow does not count, one that dies
    does.
    """
    if isinstance(error, ToolchainError):
        return "took longer" in error.message
    return isinstance(error, Unsupported)


def check(
    kernel: RandomKernel,
    targets: Sequence[str],
    refused: Callable[[str, TriError], None] | None = None,
    runners: Mapping[str, Callable[[RandomKernel], Iterable[Array] | None]] | None = None,
) -> None:
    """Run ``kernel`` on all ``targets``; Disagreement with the source when two differ.

    A target but the first may refuse the kernel: ``refused`` is told, and without it the refusal is raised.
    ``runners`` run targets that are not ours; one that gives None has no answer for this kernel.
    """
    first = run(kernel, targets[0])
    for target in targets[1:]:
        own = (runners or {}).get(target)
        try:
            other = run(kernel, target) if own is None else own(kernel)
        except (Unsupported, ToolchainError) as error:
            if refused is None or not is_refusal(error):
                raise
            refused(target, error)
            continue
        if other is not None and (found := difference(kernel, (targets[0], target), first, list(other))):
            raise Disagreement(found)
