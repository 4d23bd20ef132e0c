"""Programs numbered by XCD: each runs once, those of an XCD are neighbours, and some kernels keep their numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_backend_amd.options import AmdOptions
from tri_core.errors import OptionError
from tri_core.remarks import remarks


@tri.jit
def square(a, c, order, BLOCK: tl.constexpr):
    """The product of block n with itself, where n is the program; which program is counted how often."""
    n = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    at = n * BLOCK * BLOCK + r[:, None] * BLOCK + r[None, :]
    x = tl.load(a + at)
    tl.store(c + at, tl.dot(x, x))
    tl.atomic_add(order + n, 1, sem="relaxed")


@tri.jit
def numbers(a, c, where, BLOCK: tl.constexpr):
    """Which program is the first, the second, and so on, by a ticket."""
    r = tl.arange(0, BLOCK)
    at = r[:, None] * BLOCK + r[None, :]
    x = tl.load(a + at)
    tl.atomic_add(c + at, tl.dot(x, x), sem="relaxed")
    place = tl.atomic_add(where + 1024, 1, sem="relaxed")
    tl.store(where + place, tl.program_id(0))


@tri.jit
def with_a_lock(a, c, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK * BLOCK + r[:, None] * BLOCK + r[None, :]
    x = tl.load(a + at)
    tl.atomic_add(c + at, tl.dot(x, x))


@tri.jit
def over_two_axes(a, c, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    at = (tl.program_id(0) + tl.program_id(1)) * BLOCK * BLOCK + r[:, None] * BLOCK + r[None, :]
    x = tl.load(a + at)
    tl.store(c + at, tl.dot(x, x))


@pytest.mark.parametrize("xcds", [3, 8])
@pytest.mark.parametrize("programs", [1, 2, 7, 8, 19, 24])
def test_every_program_runs_once(xcds: int, programs: int) -> None:
    rng = np.random.default_rng(programs)
    a = rng.standard_normal((programs, 16, 16)).astype(np.float16)
    c, order = np.full(a.shape, np.nan, np.float32), np.zeros(programs, np.int32)
    with tri.target("sim:amd:gfx942"):
        made = square[(programs,)](a, c, order, BLOCK=16, xcds=xcds, num_warps=1)
    assert "arith.remui" in made.asm["ttgir"]
    np.testing.assert_array_equal(order, 1)
    wide = a.astype(np.float64)
    np.testing.assert_allclose(c, wide @ wide, rtol=1e-5, atol=1e-4)


def number(group: int, programs: int, xcds: int) -> int:
    """The program of a group by counting: XCD after XCD, each with its groups in their order."""
    return sorted(range(programs), key=lambda each: (each % xcds, each)).index(group)


@pytest.mark.parametrize(("programs", "xcds"), [(19, 8), (5, 8), (24, 3)])
def test_programs_of_an_xcd_are_neighbours(programs: int, xcds: int) -> None:
    a, c, where = np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float32), np.zeros(1025, np.int32)
    with tri.target("sim:amd:gfx942"):
        numbers[(programs,)](a, c, where, BLOCK=16, xcds=xcds, num_warps=1)
    # the simulator runs groups in their order
    assert list(where[:programs]) == [number(group, programs, xcds) for group in range(programs)]


@pytest.mark.parametrize(
    ("kernel", "types", "why"),
    [
        (over_two_axes, {"a": "*fp16", "c": "*fp32"}, "more than one axis"),
        (with_a_lock, {"a": "*fp16", "c": "*fp32"}, "may wait for one another"),
    ],
)
def test_it_says_why_programs_keep_their_numbers(
    kernel: object, types: dict[str, str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRI_ALWAYS_COMPILE", "1")
    source = tri.ASTSource(kernel, types | {"BLOCK": "constexpr"}, {"BLOCK": 16})
    with remarks() as said:
        made = tri.compile(source, target="amd:gfx942", options={"xcds": 8})
    assert "arith.remui" not in made.asm["ttgir"]
    assert any(why in remark.text for remark in said if remark.pass_name == "amdg-remap-programs")


def test_numbers_that_no_device_has_are_refused() -> None:
    with pytest.raises(OptionError, match="xcds is -1"):
        AmdOptions(xcds=-1)
