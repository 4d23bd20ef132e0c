"""Records of a case, and the comparison of a result with its oracle."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from integration.published.projects import load

__all__ = ["CASES", "Bench", "Case", "Check", "Outcome", "begin", "case", "gradients", "run"]


@dataclass(frozen=True)
class Check:
    """A tensor that a kernel made, and what it should be (in float64, on the CPU)."""

    name: str
    got: torch.Tensor
    want: torch.Tensor
    #: largest allowed error, relative to the largest magnitude of ``want``
    tolerance: float = 1e-5

    @property
    def error(self) -> float:
        """The largest error relative to the largest magnitude; infinite where shapes or NaNs differ."""
        got, want = self.got.detach().cpu().double(), self.want.detach().cpu().double()
        if got.shape != want.shape or bool((got.isnan() != want.isnan()).any()):
            return float("inf")
        if not want.numel():
            return 0.0
        scale = max(float(want.abs().max()), 1e-30)
        return float((got - want).abs().max()) / scale


@dataclass(frozen=True)
class Bench:
    """Environment of cases: the device of the tensors, the folder of the packages."""

    device: str
    folder: Path

    def load(self, project: str, module: str) -> Any:
        """A module of a package."""
        return load(project, module, self.folder)

    def randn(self, *shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
        """Random normal numbers on the device, the same for every device."""
        made = torch.randn(*shape, generator=_generator(shape)).to(dtype).to(self.device)
        return made.requires_grad_(grad)

    def randint(self, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        """Random integers below ``high`` on the device."""
        return torch.randint(high, shape, generator=_generator(shape)).to(dtype).to(self.device)


_seed = 0


def _generator(shape: Iterable[int]) -> torch.Generator:
    global _seed
    _seed += 1
    return torch.Generator().manual_seed(_seed * 7919 + sum(shape))


def begin() -> None:
    """Start the random numbers anew: a case's do not depend on what ran before."""
    global _seed
    _seed = 0
    torch.manual_seed(0)


Body = Callable[[Bench], Iterable[Check]]


@dataclass(frozen=True)
class Case:
    """One kernel (or a few that belong together) of a project."""

    project: str
    kernel: str
    body: Body
    covers: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """``project/kernel``."""
        return f"{self.project}/{self.kernel}"


CASES: list[Case] = []
#: whole tracebacks in reports
VERBOSE = bool(os.environ.get("PUBLISHED_TRACEBACKS"))


def case(project: str, kernel: str, *covers: str) -> Callable[[Body], Body]:
    """Enter a function into :data:`CASES`; ``covers`` names what of issue-level coverage it stands for."""

    def enter(body: Body) -> Body:
        CASES.append(Case(project, kernel, body, covers))
        return body

    return enter


@dataclass(frozen=True)
class Outcome:
    """Result of a case: its checks as (name, error, tolerance), or the text of an error."""

    case: Case
    checks: tuple[tuple[str, float, float], ...]
    failure: str
    seconds: float

    @property
    def passed(self) -> bool:
        """True if it ran and every check held."""
        return not self.failure and bool(self.checks) and all(e <= t for _, e, t in self.checks)


def _brief(error: Exception) -> list[str]:
    """The error, and the last frame of a package that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/tri" not in f.filename] or list(frames)
    return [*traceback.format_list(own[-1:]), *traceback.format_exception_only(error)]


def run(item: Case, bench: Bench) -> Outcome:
    """Run one case; an exception becomes the outcome's failure."""
    begin()
    start = time.perf_counter()
    try:
        checks = tuple((c.name, c.error, c.tolerance) for c in item.body(bench))
        failure = ""
    except Exception as error:
        checks, failure = (), "".join(traceback.format_exception(error) if VERBOSE else _brief(error))
    return Outcome(item, checks, failure, time.perf_counter() - start)


def gradients(
    names: str,
    inputs: Iterable[torch.Tensor],
    kernel: Callable[..., torch.Tensor],
    oracle: Callable[..., torch.Tensor],
    tolerance: float = 1e-5,
) -> Iterator[Check]:
    """Forward and backward of ``kernel`` against ``oracle`` in float64.

    ``names`` names the inputs; those that require gradients are checked.
    """
    given = [t.detach().clone().requires_grad_(t.requires_grad) for t in inputs]
    exact = [
        (t.detach().cpu().double() if t.is_floating_point() else t.cpu()).requires_grad_(t.requires_grad)
        for t in given
    ]
    # an operation on each leaf: some kernels write their gradient into the input
    got = kernel(*[t * 1 if t.requires_grad else t for t in given])
    want = oracle(*exact)
    yield Check("out", got, want, tolerance)
    weight = torch.randn(want.shape, generator=_generator(want.shape), dtype=torch.float64)
    got.backward(weight.to(got.dtype).to(got.device))
    want.backward(weight.to(got.dtype).double())
    for name, mine, theirs in zip(names.split(), given, exact, strict=True):
        if mine.requires_grad:
            assert mine.grad is not None
            assert theirs.grad is not None
            yield Check(f"d{name}", mine.grad, theirs.grad, tolerance)
