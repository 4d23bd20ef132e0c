"""Target ``triton-interpreter``: Triton 3.9's own, in a process of its own, with nothing of ours."""

from __future__ import annotations

import math
import os
import pickle
import select
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from integration.random_kernels.program import RandomKernel, Step, steps
from integration.random_kernels.running import arguments, inputs_of, poisoned
from integration.random_kernels.source import triton_source
from integration.random_kernels.values import Array, is_signed

__all__ = ["KNOWN", "NAME", "PYTHON_VARIABLE", "Known", "TritonError", "TritonInterpreter", "excused"]

NAME = "triton-interpreter"
#: the environment variable with the path of Triton's Python
PYTHON_VARIABLE = "TRI_TRITON_PYTHON"
#: seconds for one kernel
LIMIT = 60.0


class TritonError(RuntimeError):
    """Triton's interpreter raised, died or hung."""


#: for every name, the type of the value, and a step that may be excused
_Condition = Callable[[Step, dict[str, str]], bool]


@dataclass(frozen=True)
class Known:
    """Known error or gap of Triton's interpreter."""

    reason: str
    holds: _Condition


def _bfloat16(step: Step, types: dict[str, str]) -> bool:
    """Loads, stores and moves of bits are right; whatever reads or makes a number is not."""
    operands = [types.get(name, "") for name in step.operands]
    if "bfloat16" in operands and step.production not in _MOVES:
        return True
    if not any(value.dtype == "bfloat16" for value in step.results):
        return False
    return step.production in ("cast", "truncate") or (step.production == "load" and _stands_in(step) != 0)


def _stands_in(step: Step) -> Any:
    """``other`` of a masked load; 0 where no lane needs it."""
    kind, _, other = dict(step.attributes)["mask"]
    return other if kind else 0


_MOVES = frozenset(
    {
        "copy",
        "store",
        "reshape",
        "transpose",
        "permute",
        "spread",
        "widen",
        "join",
        "split",
        "interleave",
        "swap",
        "gather",
    }
)


def _signed_by_unsigned(step: Step, types: dict[str, str]) -> bool:
    if step.production != "shift" or dict(step.attributes)["sign"] != ">>":
        return False
    return is_signed(types.get(step.operands[0], "int32")) and not is_signed(step.results[0].dtype)


def _unaligned(step: Step, types: dict[str, str]) -> bool:
    del types
    return step.production.startswith("descriptor") and dict(step.attributes)["place"][1] % 16 != 0


def _narrow_histogram(step: Step, types: dict[str, str]) -> bool:
    return step.production == "histogram" and types.get(step.operands[0]) not in ("int32", "uint32")


def _named(*productions: str) -> _Condition:
    return lambda step, types: step.production in productions


def _single(production: str) -> _Condition:
    return lambda step, types: step.production == production and math.prod(step.results[0].shape) == 1


KNOWN = (
    Known("computes in bfloat16 as if its bits were an integer", _bfloat16),
    Known("gives signed numbers for signed >> unsigned, whose type is unsigned", _signed_by_unsigned),
    Known("refuses descriptors' columns that are no multiple of 16 bytes", _unaligned),
    Known("has no atomics of descriptors", _named("descriptor_atomic")),
    Known("has no block pointers", _named("block_pointer_load", "block_pointer_store")),
    Known("counts 32-bit integers alone", _narrow_histogram),
    Known("has no flip of one element", _single("reverse")),
    Known("has no methods of aggregates", _named("span")),
    Known(
        "has no functions of libdevice",
        lambda step, types: step.production.startswith("function_") and _of_libdevice(step.production),
    ),
)


def _of_libdevice(production: str) -> bool:
    from integration.random_kernels.productions import PRODUCTIONS

    return "libdevice" in PRODUCTIONS[production].helpers


def excused(kernel: RandomKernel) -> str | None:
    """Reason that Triton's interpreter is not run on this kernel; None if it is."""
    if kernel.program is None:
        return "was written by hand for tri"
    types: dict[str, str] = {}
    for step in steps(kernel.program.body):
        for known in KNOWN:
            if known.holds(step, types):
                return known.reason
        types.update((value.name, value.dtype) for value in step.results)
    return None


class TritonInterpreter:
    """The worker behind the interpreter ``python``; started when first asked, and again after it died."""

    def __init__(self, python: str) -> None:
        self.python = python
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  lives as long as the process

    def run(self, kernel: RandomKernel) -> list[Array]:
        """Arrays that ``kernel`` stores; :class:`TritonError` if it can't."""
        outputs = [poisoned(o) for o in kernel.outputs]
        given = arguments(kernel, inputs_of(kernel), outputs)
        sent = [_sent(a, given[:i]) for i, a in enumerate(given)]
        answer = self._ask({"source": triton_source(kernel.source), "arguments": sent})
        if "error" in answer:
            raise TritonError(f"{answer['error']}\n{kernel.source}")
        changed = answer["arrays"][len(kernel.inputs) :]
        return [np.frombuffer(b, a.dtype) for b, a in zip(changed, outputs, strict=True)]

    def _ask(self, job: dict[str, Any]) -> dict[str, Any]:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(job, process.stdin)
            process.stdin.flush()
            if not select.select([process.stdout], [], [], LIMIT)[0]:
                process.kill()
                return self._died(f"took longer than {LIMIT:.0f} s")
            answer: dict[str, Any] = pickle.load(process.stdout)
            return answer
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            return self._died("died")

    def _died(self, how: str) -> dict[str, Any]:
        assert self._process is not None
        code = self._process.wait()
        self._process = None
        self._log.seek(0)
        return {"error": f"Triton's interpreter {how} ({code}): {self._log.read()[-1000:]}"}

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        self._process = subprocess.Popen(
            [self.python, str(Path(__file__).with_name("triton_worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
        )
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None
        self._log.close()


def _sent(argument: Any, earlier: Sequence[Any]) -> Any:
    """A number, a type's name and bytes, or for a part of an earlier array its place and the first element."""
    if isinstance(argument, int):
        return argument
    for place, array in enumerate(earlier):
        if not isinstance(array, int) and np.shares_memory(array, argument):
            return place, (argument.ctypes.data - array.ctypes.data) // array.itemsize
    return str(argument.dtype), argument.tobytes()
