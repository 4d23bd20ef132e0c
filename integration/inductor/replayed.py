"""``python -m integration.inductor.replayed [CASES] [--targets ...]``: what Inductor writes for CPU tensors, launched for GPUs too.

Each case is compiled for CPU tensors in this process and held against eager.  Meanwhile every version of a kernel is noted when it
is first launched: arguments before and after.  Then it is compiled for each target, launched there with the same arguments, and
has to leave in memory what the CPU target left.  Targets that are no simulators run on the device of their runtime, as Inductor
launches on it; that may be the driver that stands in: ``TRI_AMD_STANDIN=gfx942 ... --targets amd:gfx942``.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from integration.inductor.standins import run_on_device
from tri_core.compiler import CompiledKernel
from tri_core.lazy_dataclasses import dataclass

__all__ = ["TARGETS", "Launch", "main", "noted"]

#: the GPUs of three vendors
TARGETS = ("sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:intel:pvc")
#: relative to the largest value; sums and functions such as exp are rounded otherwise
_TOLERANCE = 1e-4
#: programs of a launch that simulators take in seconds
_PROGRAMS = 64


@dataclass(frozen=True)
class Launch:
    """The first launch of ``kernel`` over ``grid``: arguments ``before`` and ``after``, tensors copied."""

    kernel: CompiledKernel
    grid: tuple[int, int, int]
    before: tuple[Any, ...]
    after: tuple[Any, ...]

    @property
    def is_small(self) -> bool:
        """True where simulators run it in seconds."""
        return self.grid[0] * self.grid[1] * self.grid[2] <= _PROGRAMS

    def difference(self, target: str) -> float:
        """The largest relative error that the kernel, compiled for ``target``, leaves in memory; an integer that differs: 1 or more."""
        import tri

        asked = self.kernel.metadata.options
        options = {name: asked[name] for name in ("debug", "sanitize_overflow", "num_warps") if name in asked}
        source: Any = self.kernel.src
        made = tri.compile(source, target, options)
        arguments = _copies(self.before)
        if target.startswith("sim:"):
            with tri.target(target):
                made[self.grid](*arguments)
        else:
            run_on_device(made, self.grid, arguments)
        pairs = zip(arguments, self.after, strict=True)
        return max([0.0, *(_relative(got, wanted) for got, wanted in pairs if hasattr(got, "clone"))])


@contextmanager
def noted() -> Iterator[list[Launch]]:
    """The first launches of all kernels that Inductor launches meanwhile."""
    found: list[Launch] = []
    known: set[str] = set()
    run: Any = CompiledKernel.run

    def wrapped(kernel: CompiledKernel) -> Any:
        launch = run.fget(kernel)

        def launched(x: int, y: int, z: int, *rest: Any) -> None:
            before = None if kernel.hash in known else _copies(rest[6:])
            known.add(kernel.hash)
            launch(x, y, z, *rest)
            if before is not None:
                found.append(Launch(kernel, (x, y, z), before, _copies(rest[6:])))

        return launched

    with mock.patch.object(CompiledKernel, "run", property(wrapped)):
        yield found


def _copies(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Tensors that share no memory with ``arguments``, the holes of their strides included; what is none as it is."""
    import torch

    copies = []
    for value in arguments:
        if isinstance(value, torch.Tensor):
            made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
            copies.append(made.copy_(value.detach()))
        else:
            copies.append(value)
    return tuple(copies)


def _relative(got: Any, wanted: Any) -> float:
    import torch

    if not got.numel():
        return 0.0
    one, other = got.detach().double(), wanted.detach().double()
    same = (one == other) | (one.isnan() & other.isnan())
    difference = torch.where(same, 0.0, (one - other).abs()).max()
    if not got.dtype.is_floating_point:
        return float(difference)
    largest = torch.where(other.isfinite(), other.abs(), 0.0).max().clamp_min(1e-30)
    return float((difference / largest).nan_to_num(nan=float("inf")))


def main() -> int:
    """Run cases and replay their kernels; 1 where one is refused or wrong."""
    parser = argparse.ArgumentParser(prog="python -m integration.inductor.replayed", description=__doc__)
    parser.add_argument("cases", nargs="*", help="of integration.inductor; all by default")
    parser.add_argument("--targets", default=",".join(TARGETS))
    given = parser.parse_args()
    import tri.compat.triton

    tri.compat.triton.install()
    from integration.inductor.models import CASES

    if unknown := [name for name in given.cases if name not in CASES]:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    launches, wrong = _launches(given.cases or list(CASES))
    small = [launch for launch in launches if launch.is_small]
    print(
        f"{len(launches)} kernels launched on CPU tensors, {len(small)} of at most {_PROGRAMS} programs",
        flush=True,
    )
    for target in given.targets.split(","):
        begin = time.perf_counter()
        bad = [text for launch in small if (text := _verdict(launch, target))]
        seconds = time.perf_counter() - begin
        print(f"{target}: {len(small) - len(bad)} of {len(small)} as on the CPU, {seconds:.0f} s", flush=True)
        print("".join(f"  {text}\n" for text in bad), end="", flush=True)
        wrong += len(bad)
    return bool(wrong or not small)


def _launches(names: Sequence[str]) -> tuple[list[Launch], int]:
    """First launches of the kernels of cases ``names``, compiled in this process; how many cases are not eager's."""
    from torch._inductor import config

    from integration.inductor.running import run

    wrong = 0
    settings = {"cpu_backend": "triton", "compile_threads": 1, "force_disable_caches": True}
    with noted() as found, config.patch(settings):
        for name in names:
            outcome = run(name)
            wrong += not outcome.is_right
            print(f"{name:24} {outcome.error:8.0e}{'' if outcome.is_right else '  WRONG'}", flush=True)
    return found, wrong


def _verdict(launch: Launch, target: str) -> str:
    """The fault of ``launch`` on ``target``; "" without one."""
    try:
        difference = launch.difference(target)
    except Exception as error:
        return f"{launch.kernel.name}: {type(error).__name__}: {str(error).strip().splitlines()[0]}"
    return "" if difference < _TOLERANCE else f"{launch.kernel.name}: off by {difference:.1e}"


if __name__ == "__main__":
    sys.exit(main())
