"""Training steps of a model: compiled, eager, and in a wider type for reference; how far they differ, and how long they take."""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from integration.inductor.whole.models import Model
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Distance", "Step", "kernel_times", "milliseconds"]

#: the reference of each type that a model is run in
WIDER = {torch.bfloat16: torch.float32, torch.float16: torch.float32, torch.float32: torch.float64}
#: relative error that is right whatever eager's is
FLOOR = {torch.bfloat16: 1e-2, torch.float16: 2e-3, torch.float32: 1e-4}
#: eager's own error may be exceeded by this
TIMES = 2.0
#: of the largest gradient's norm: what is smaller has no digits of its own
SMALLEST = 1e-4


@dataclass(frozen=True)
class Step:
    """Forward, loss and backward of ``model`` in ``dtype`` on ``device``; ``compiled``: by torch.compile in that mode."""

    model: Model
    run: Callable[..., Any]

    @classmethod
    def made(cls, model: Model, device: str, dtype: Any, compiled: str | None = None) -> Step:
        """A copy of ``model`` moved there, with the same weights rounded to bfloat16 in all types."""
        module = copy.deepcopy(model.module).to(torch.bfloat16).to(device=device, dtype=dtype).train()
        inputs = tuple(_moved(i, device, dtype) for i in model.inputs)
        moved = Model(module, inputs, model.wanted.to(device))
        return cls(moved, module if compiled is None else torch.compile(module, mode=compiled))

    def __call__(self) -> Any:
        """Gradients of all parameters are made; the loss."""
        self.model.module.zero_grad(set_to_none=True)
        loss = self.model.loss(self.run(*self.model.inputs))
        loss.backward()
        return loss

    def results(self) -> dict[str, Any]:
        """Loss and gradients of one step by their names, in float64 on the CPU."""
        found = {"loss": self()}
        found |= {n: p.grad for n, p in self.model.module.named_parameters() if p.grad is not None}
        return {name: value.detach().double().cpu() for name, value in found.items()}


def _moved(value: Any, device: str, dtype: Any) -> Any:
    if not value.is_floating_point():
        return value.to(device)
    return value.to(torch.bfloat16).to(device=device, dtype=dtype)


@dataclass(frozen=True)
class Distance:
    """The largest error of a loss or gradient, relative by norm, of eager's own, and the names of those that are too far off."""

    compiled: float
    eager: float
    bad: tuple[str, ...]

    @classmethod
    def between(
        cls, compiled: dict[str, Any], eager: dict[str, Any], wide: dict[str, Any], dtype: Any
    ) -> Distance:
        """That of the results of one step to the ``wide`` reference, beside eager's."""
        least = SMALLEST * max(float(v.norm()) for n, v in wide.items() if n != "loss")
        errors = [
            (name, _relative(compiled.get(name), value, least), _relative(eager.get(name), value, least))
            for name, value in wide.items()
        ]
        bad = tuple(n for n, ours, theirs in errors if not ours <= TIMES * theirs + FLOOR[dtype])
        return cls(max(e[1] for e in errors), max(e[2] for e in errors), bad)


def _relative(got: Any, wanted: Any, least: float) -> float:
    if got is None or got.shape != wanted.shape or not bool(got.isfinite().all()):
        return float("inf")
    return float((got - wanted).norm() / wanted.norm().clamp_min(least))


def milliseconds(step: Callable[[], Any], device: str, seconds: float) -> list[float]:
    """Times of steps, in ms, for about ``seconds``: of the wall, the device having ended before and after."""
    times: list[float] = []
    with _quiet(device) as wait:
        end = time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            begin = time.perf_counter()
            step()
            wait()
            times.append(1e3 * (time.perf_counter() - begin))
    return times


@contextmanager
def _quiet(device: str) -> Iterator[Callable[[], None]]:
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    yield wait


def kernel_times(step: Callable[[], Any], steps: int = 3) -> dict[str, float]:
    """Microseconds of the device in one step by the kernel's name, the median of ``steps``; empty without a device."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    found: dict[str, list[float]] = {}
    for _ in range(steps):
        with torch.profiler.profile(activities=activities) as profile:
            step()
            torch.cuda.synchronize()
        for event in profile.key_averages():
            spent = float(getattr(event, "self_device_time_total", 0) or 0)
            if spent:
                found.setdefault(event.key, []).append(spent)
    return {name: round(statistics.median(_filled(times, steps)), 3) for name, times in found.items()}


def _filled(times: Sequence[float], count: int) -> list[float]:
    return [*times, *([0.0] * (count - len(times)))]
