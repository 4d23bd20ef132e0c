"""``python -m integration.inductor.host_times [--compiler tri|triton]``: host's time of a launch on a GPU, by each way and kind of argument.

With tri a row says how many of its launches compiled code did not do, and why: the line that would not describe them, or that
a description is there and did not fit.  Where there is none, the rest of the time is the driver's.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

__all__ = ["main", "measured", "rows"]

N, BLOCK = 1000, 32
_WARM = 10


def rows(device: str, compiled: bool = True) -> dict[str, Callable[[], Any]]:
    """By name a launch each of a small kernel on tensors of ``device``; ``triton`` is what is imported by that name.

    ``compiled``: those of the compiled kernel, too.
    """
    import torch
    import triton

    from integration.inductor import host_kernels

    kernel, tuned = host_kernels.fresh()
    grid = host_kernels.grid
    x, y, out = (torch.zeros(2 * N, device=device)[:N] for _ in range(3))
    parameter = torch.nn.Parameter(torch.zeros(N, device=device))
    leaf = torch.zeros(N, device=device, requires_grad=True)
    middle = leaf * 2
    inner = [torch.zeros(2 * N, device=device)[i : N + i] for i in range(2)]
    turn = [0]

    def turning() -> Any:
        turn[0] ^= 1
        return kernel[grid](inner[turn[0]], y, out, N, BLOCK=BLOCK)

    def numbers() -> Any:
        turn[0] = (turn[0] + 1) % N
        return kernel[grid](x, y, out, turn[0], BLOCK=BLOCK)

    found: dict[str, Callable[[], Any]] = {
        "kernel[tuple]": lambda: kernel[(triton.cdiv(N, BLOCK),)](x, y, out, N, BLOCK=BLOCK),
        "kernel[function]": lambda: kernel[grid](x, y, out, N, BLOCK=BLOCK),
        "kernel[lambda]": lambda: kernel[lambda m: (triton.cdiv(N, m["BLOCK"]),)](x, y, out, N, BLOCK=BLOCK),
        "with options": lambda: kernel[grid](x, y, out, N, BLOCK=BLOCK, num_warps=4, num_stages=3),
        "by names": lambda: kernel[grid](x=x, y=y, out=out, n=N, BLOCK=BLOCK),
        "size of a tensor": lambda: kernel[grid](x, y, out, x.numel(), BLOCK=BLOCK),
        "parameter": lambda: kernel[grid](parameter, y, out, N, BLOCK=BLOCK),
        "its data": lambda: kernel[grid](parameter.data, y, out, N, BLOCK=BLOCK),
        "leaf with gradient": lambda: kernel[grid](leaf, y, out, N, BLOCK=BLOCK),
        "result with gradient": lambda: kernel[grid](middle, y, out, N, BLOCK=BLOCK),
        "detached": lambda: kernel[grid](leaf.detach(), y, out, N, BLOCK=BLOCK),
        "view": lambda: kernel[grid](x[1:], y, out, N - 1, BLOCK=BLOCK),
        "alignments in turn": turning,
        "numbers in turn": numbers,
        "new output": lambda: kernel[grid](x, y, torch.empty_like(x), N, BLOCK=BLOCK),
        "kernel.run": lambda: kernel.run(x, y, out, N, BLOCK=BLOCK, grid=grid, warmup=False),
        "autotuned[tuple]": lambda: tuned[(triton.cdiv(N, BLOCK),)](x, y, out, N),
        "autotuned[function]": lambda: tuned[grid](x, y, out, N),
        "autotuned.run": lambda: tuned.run(x, y, out, N, grid=grid, warmup=False),
    }
    if compiled:
        made = kernel[grid](x, y, out, N, BLOCK=BLOCK)
        found["compiled[grid]"] = lambda: made[(triton.cdiv(N, BLOCK), 1, 1)](x, y, out, N, BLOCK)
    return found


@contextmanager
def _watched() -> Iterator[Counter[str]]:
    """Launches that compiled code does not do meanwhile, and the lines that refuse to describe them."""
    from tri.launch import fast_launch
    from tri.launch.dispatcher import Dispatcher

    found: Counter[str] = Counter()

    class Unfit(fast_launch.Unfit):
        def __init__(self) -> None:
            frame = sys._getframe(1)
            found[f"{frame.f_code.co_name} at line {frame.f_lineno}"] += 1

    def counted(name: str) -> Any:
        method = getattr(Dispatcher, name)

        def called(*args: Any, **options: Any) -> Any:
            found["slow"] += 1
            return method(*args, **options)

        return called

    refuse = fast_launch.FastLaunchTable.refuse

    def refused(table: Any) -> None:
        found["refused"] += 1
        refuse(table)

    patches = [mock.patch.object(Dispatcher, n, counted(n)) for n in ("launch_and_learn", "launch_plainly")]
    patches += [
        mock.patch.object(fast_launch, "Unfit", Unfit),
        mock.patch.object(fast_launch.FastLaunchTable, "refuse", refused),
    ]
    for patch in patches:
        patch.start()
    try:
        yield found
    finally:
        for patch in reversed(patches):
            patch.stop()


def measured(launch: Callable[[], Any], wait: Callable[[], None], calls: int, rounds: int) -> float:
    """The least mean of ``rounds`` of ``calls`` launches, in us."""
    for _ in range(_WARM):
        launch()
    times = []
    for _ in range(rounds):
        wait()
        begin = time.perf_counter()
        for _ in range(calls):
            launch()
        times.append((time.perf_counter() - begin) / calls)
    wait()
    return 1e6 * min(times)


def counted(launch: Callable[[], Any], calls: int = 100) -> Counter[str]:
    """``slow``: of ``calls`` launches those that compiled code does not do, when some like them have been; what refused to describe the first."""
    with _watched() as found:
        for _ in range(_WARM):
            launch()
        found.pop("slow", None)
        for _ in range(calls):
            launch()
    return found


def main() -> int:
    """Measure all rows."""
    parser = argparse.ArgumentParser(prog="python -m integration.inductor.host_times", description=__doc__)
    parser.add_argument("--compiler", default="tri", choices=("tri", "triton"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--calls", type=int, default=500, help="the driver's queue holds some 1000")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    ours = given.compiler == "tri"
    if ours:
        import tri.compat.triton

        tri.compat.triton.install()
    import torch

    wait = torch.cuda.synchronize if given.device == "cuda" else lambda: None
    for name in rows(given.device):
        launch = rows(given.device)[name]  # of a kernel that no other row launches
        # before anything is learnt: what is refused is refused at first
        found = counted(launch) if ours else Counter()
        us = measured(launch, wait, given.calls, given.rounds)
        why = ", ".join(f"{n} {reason}" for reason, n in found.items())
        print(f"{given.compiler:6} {name:22} {us:8.2f} us  {why}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
