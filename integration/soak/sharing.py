"""One of many processes on one store: compiles, or loads, and launches kernels of a shared set, each with a result that NumPy knows.

It says each kernel before it begins and after it was right, with the seconds that took, and every warning.  It ends when its
standard input does, or, with ``--once``, when each kernel was right once.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import itertools
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import TextIO

import numpy as np

from integration.soak.kernels import right_matmul, right_rows, right_sums
from tri_core.compiler import forget

__all__ = ["CASES", "main"]

Check = Callable[[np.random.Generator], None]


def _cases() -> Iterator[tuple[str, Check]]:
    for factor, width in itertools.product(range(1, 9), (7, 48)):
        yield f"rows-{width}-{factor}", functools.partial(right_rows, count=9, width=width, factor=factor)
    for n, k in itertools.product((16, 32), (32, 64)):
        yield f"matmul-{n}-{k}", functools.partial(right_matmul, n=n, k=k)
    for block in (32, 64, 128, 256):
        yield f"sums-{block}", functools.partial(right_sums, size=1000, block=block)


#: by name, each of one specialization
CASES: dict[str, Check] = dict(_cases())


def main(arguments: list[str] | None = None) -> int:
    """Launch kernels of the set; 0 when every result was right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", type=int, default=len(CASES), help="so many of the set")
    parser.add_argument("--once", action="store_true", help="each of the set, in order")
    given = parser.parse_args(arguments)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    warnings.simplefilter("always")
    warnings.showwarning = _say_warning
    draw = np.random.default_rng(given.seed)
    names = list(CASES)[:: max(1, len(CASES) // given.cases)][: given.cases]
    for name in names if given.once else _drawn(draw, names):
        forget()  # the kernel comes from the store, or is made anew
        print(f"begin {name}", flush=True)
        begin = time.monotonic()
        CASES[name](draw)
        print(f"right {name} {time.monotonic() - begin:.3f}", flush=True)
    return 0


def _drawn(draw: np.random.Generator, names: list[str]) -> Iterator[str]:
    """Any of ``names``, until standard input ends."""
    while not select.select([sys.stdin], [], [], 0)[0]:
        yield names[int(draw.integers(len(names)))]


def _say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del filename, lineno, file, line
    print(f"warned {category.__name__} {' '.join(str(message).split())}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
