"""Launches: grids, limits, arguments, memory of the host, streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import tri
from tri_conformance.case import Case, Needs, asked, require
from tri_conformance.kernels import launches as k
from tri_conformance.subject import Subject
from tri_core.api import (
    CodegenCrash,
    CompilationError,
    LaunchError,
    OutOfResources,
    ToolchainError,
    TriError,
    Unsupported,
)

__all__ = ["CHECKS", "GRIDS", "cases"]

#: grids, one of them long and one with every axis
GRIDS = ((1,), (7,), (3, 5), (1, 4, 1), (1, 1, 6), (2, 3, 4), (300,))
B = 64


def cases() -> Iterator[Case]:
    """The cases of this level."""
    for grid in GRIDS:
        yield Case("runtime", "grid", "x".join(map(str, grid)), asked(_grid, grid))
    for axis in range(3):
        name = f"grid_{'xyz'[axis]}"
        yield Case("runtime", "grid-limit", "xyz"[axis], asked(_grid_limit, axis), Needs(limits=(name,)))
    for name, check in CHECKS.items():
        yield Case("runtime", name, "", check)
    yield Case("runtime", "thread-limit", "", _thread_limit, Needs(limits=("threads",)))


def _same(got: Any, expected: Any) -> None:
    np.testing.assert_array_equal(got, expected)


def _refused(
    run: Callable[[], object], what: str, kinds: tuple[type[BaseException], ...] = (TriError,)
) -> None:
    """AssertionError unless ``run`` raises one of ``kinds``, with a remedy where it is tri's own."""
    try:
        run()
    except kinds:
        return
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__} and not an error of tri: {error}") from error
    raise AssertionError(f"{what} is taken")


def _grid(subject: Subject, grid: tuple[int, ...]) -> None:
    """Each program runs once and knows its place; all know the grid."""
    total = int(np.prod(grid))
    out, sizes = np.zeros(total, np.int32), np.zeros(3, np.int32)
    subject.launch(k.where_am_i, grid, [out, sizes])
    _same(out, np.arange(total) + 1)
    _same(sizes, (*grid, 1, 1)[:3])


def _grid_limit(subject: Subject, axis: int) -> None:
    """One program more than the declared limit is refused before the driver is asked."""
    size = subject.target.spec.limits[f"grid_{'xyz'[axis]}"] + 1
    grid = tuple(size if a == axis else 1 for a in range(3))
    x = np.zeros(B, np.float32)
    _refused(
        lambda: subject.launch(k.add_one, grid, [x, 0], {"B": B}), f"a grid of {size} along {'xyz'[axis]}"
    )


def _thread_limit(subject: Subject) -> None:
    """More warps than a CTA holds are refused."""
    threads, lanes = subject.target.spec.limits["threads"], (subject.target.spec.threads_per_warp or (1,))[0]
    warps = 2 * threads // min(subject.target.spec.threads_per_warp or (lanes,))
    x = np.zeros(B, np.float32)
    _refused(lambda: subject.launch(k.add_one, (1,), [x, B], {"B": B}, num_warps=warps), f"{warps} warps")


def _empty_grid(subject: Subject) -> None:
    """A grid with a 0 runs nothing and is no error."""
    for grid in ((0,), (3, 0), (1, 1, 0)):
        x = np.zeros(B, np.float32)
        subject.launch(k.add_one, grid, [x, B], {"B": B})
        _same(x, 0)


def _wrong_grids(subject: Subject) -> None:
    """Negative, fractional or too many sizes are LaunchErrors."""
    x = np.zeros(B, np.float32)
    wrong: tuple[Any, ...] = ((-1,), (1, 1, 1, 1), (), (1.5,), ("2",))
    for grid in wrong:
        _refused(
            partial(subject.launch, k.add_one, grid, [x, B], {"B": B}),
            f"the grid {grid}",
            (LaunchError, TypeError),
        )
    _same(x, 0)


def _wrong_arguments(subject: Subject) -> None:
    """Too few and too many arguments, unknown ones, and things that are none are typed errors."""
    x = np.zeros(B, np.float32)
    taken = (TriError, TypeError)
    wrong: dict[str, tuple[list[Any], dict[str, Any]]] = {
        "one argument too few": ([x], {"B": B}),
        "one argument too many": ([x, B, 3], {"B": B}),
        "an unknown keyword": ([x, B], {"B": B, "NO_SUCH": 1}),
        "a missing constant": ([x, B], {}),
        "a list": ([[1.0, 2.0], B], {"B": B}),
        "an object": ([object(), B], {"B": B}),
        "an integer of 65 bits": ([x, 2**64], {"B": B}),
        "an array of objects": ([np.array([None] * B), B], {"B": B}),
        "an array of complex numbers": ([np.zeros(B, np.complex64), B], {"B": B}),
    }
    for what, (arguments, constants) in wrong.items():
        _refused(partial(subject.launch, k.add_one, (1,), arguments, constants), what, taken)
    _same(x, 0)


def _scalars(subject: Subject) -> None:
    """Scalars of every width arrive whole; so do booleans and negative numbers."""
    for a, b, c, d, e in (
        (1.5, 7, -(2**31), 2**40 + 1, True),
        (-0.25, 1, 16, -(2**63), False),
        (1e30, 0, 2**31, 2**63 - 1, True),
    ):
        floats, integers = np.zeros(1, np.float32), np.zeros(4, np.int64)
        subject.launch(k.scalars, (1,), [floats, integers, a, b, c, d, e])
        _same(floats, np.float32(a))
        _same(integers, [b, c, d, int(e)])


def _null_pointer(subject: Subject) -> None:
    """None for an array is known when the kernel is compiled."""
    out, x = np.zeros(B, np.int32), np.arange(B, dtype=np.int32)
    subject.launch(k.perhaps, (1,), [out, None], {"B": B})
    _same(out, 5)
    subject.launch(k.perhaps, (1,), [out, x], {"B": B})
    _same(out, x)


def _masked_addresses(subject: Subject) -> None:
    """Addresses that are masked off are not looked at, wherever they point."""
    for distance in (2**40, -(2**44)):
        out, x = np.zeros(B, np.int32), np.zeros(B, np.int32)
        subject.launch(k.far_away, (1,), [out, x, distance], {"B": B})
        _same(out, 3)
        _same(x, 0)


def _alignment(subject: Subject) -> None:
    """An array that starts anywhere is right, after one that starts at 16 bytes, and the other way round."""
    whole = np.arange(4 * B, dtype=np.float32)
    expected = whole.copy()
    for start, count in ((0, 64), (1, 60), (3, 33), (0, 48), (2, 1), (4, 16)):
        part = whole[start : start + count]
        subject.launch(k.add_one, (1,), [part, count], {"B": B})
        expected[start : start + count] += 1
        _same(whole, expected)


def _specialization(subject: Subject) -> None:
    """Sizes of 1, of multiples of 16 and of neither, in any order, give each its own result."""
    for n in (16, 1, 17, 64, 1, 32, 0, 63):
        x = np.zeros(B, np.float32)
        subject.launch(k.add_one, (1,), [x, n], {"B": B})
        _same(x, np.arange(B) < n)


def _order(subject: Subject) -> None:
    """Launches follow each other."""
    x = np.ones(1024, np.float32)
    expected = x.copy()
    for step in range(8):
        subject.launch(k.twice if step % 2 else k.add_one, (16,), [x, 1024], {"B": B})
        expected = expected * 2 if step % 2 else expected + 1
    _same(x, expected)


def _host_arrays(subject: Subject) -> None:
    """Host arrays are used in place or copied, or refused with a remedy: as the runtime says."""
    x = np.zeros(B, np.float32)

    def launch() -> None:
        with tri.target(subject.name):
            k.add_one[(1,)](x, B, B=B)
            subject.runtime.synchronize()

    if subject.runtime.host_memory == "refused":
        try:
            launch()
        except LaunchError as error:
            require(error.remedy, "the refusal of a host array has no remedy")
            return
        raise AssertionError("the runtime says that it refuses host arrays, and takes one")
    launch()
    _same(x, 1)


def _devices(subject: Subject) -> None:
    """The runtime's devices are of its kind, and the current one is among them."""
    devices = list(subject.runtime.devices())
    require(devices, "the runtime has no device")
    require(all(d.kind == subject.runtime.device_kind for d in devices), "a device of another kind")
    require([d.index for d in devices] == list(range(len(devices))), "devices are numbered from 0")
    require(subject.runtime.current_device() in devices, "the current device is none of the runtime's")


def _no_such_device(subject: Subject) -> None:
    """A device that is not there is a typed error."""
    before = subject.runtime.current_device()
    _refused(lambda: subject.runtime.set_device(10_000), "device 10000")
    require(subject.runtime.current_device() == before, "the current device has changed")


def _streams(subject: Subject) -> None:
    """The current stream is a number; waiting ends; elapsed time is that of what was enqueued."""
    stream = subject.runtime.current_stream(subject.runtime.current_device())
    require(isinstance(stream, int), f"the current stream is {stream!r}")
    subject.runtime.synchronize()
    x = np.zeros(B, np.float32)
    seconds = subject.runtime.elapsed(lambda: subject.launch(k.add_one, (1,), [x, B], {"B": B}))
    require(seconds >= 0, f"{seconds} seconds passed")
    _same(x, np.full(B, x[0]))
    require(x[0] >= 1, "what elapsed() was given did not run")


def _after_errors(subject: Subject) -> None:
    """After a refused launch the next one works."""
    x = np.zeros(B, np.float32)
    _refused(lambda: subject.launch(k.add_one, (-1,), [x, B], {"B": B}), "a negative grid", (LaunchError,))
    subject.launch(k.add_one, (1,), [x, B], {"B": B})
    _same(x, 1)


def _loaded_twice(subject: Subject) -> None:
    """An image may be loaded again, and says the same of itself."""
    kernel = subject.compile(subject.source(k.add_one, [np.zeros(B, np.float32), B], {"B": B}))
    first, second = (subject.runtime.load(kernel.image, subject.device) for _ in range(2))
    require(dict(first.resources) == dict(second.resources), "loaded again, an image needs other resources")


def _too_much(subject: Subject) -> None:
    """A block that few machines hold compiles, or is refused with a typed error: no crash, no endless compile.

    A tool that is stopped at its time limit has refused, too: how long it takes depends on the machine.
    """
    x = np.zeros(16, np.float32)
    size = 512
    try:
        subject.compile(subject.source(k.too_large, [x, x], {"B": size}))
    except CodegenCrash:
        raise
    except (OutOfResources, Unsupported, CompilationError, ToolchainError):
        return


#: question -> check
CHECKS: dict[str, Callable[[Subject], None]] = {
    "empty-grid": _empty_grid,
    "wrong-grids": _wrong_grids,
    "wrong-arguments": _wrong_arguments,
    "scalars": _scalars,
    "null-pointer": _null_pointer,
    "masked-addresses": _masked_addresses,
    "alignment": _alignment,
    "specialization": _specialization,
    "order": _order,
    "host-arrays": _host_arrays,
    "devices": _devices,
    "no-such-device": _no_such_device,
    "streams": _streams,
    "after-errors": _after_errors,
    "loaded-twice": _loaded_twice,
    "too-large-a-block": _too_much,
}
