"""What goes through buffer descriptors, and that it is right: against NumPy, in the simulator."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl
from tri_core.errors import LaunchError

TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201", "gfx1250")
SMALL = [["tt.divisibility", 4], ["tt.pointer_range", 32]]


@tri.jit
def gather(out, x, first, stride, shift, n, other, BLOCK: tl.constexpr, OTHER: tl.constexpr):
    """``out[i] = x[first + i * stride]`` for ``shift <= i < n``, else ``other``, zero, or unchanged."""
    i = tl.arange(0, BLOCK) + tl.program_id(0) * BLOCK
    inside = (i >= shift) & (i < n)
    place = x + first + i * stride
    if OTHER == "value":
        value = tl.load(place, mask=inside, other=other)
    else:
        value = tl.load(place, mask=inside, other=0)
    tl.store(out + i, value, mask=i < n)


@tri.jit
def walk(out, x, first, step, count, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    """The sum of ``count`` blocks of ``x``, each ``step`` behind the one before: pointers that a loop carries."""
    lanes = tl.arange(0, BLOCK)
    place = x + first + (lanes.to(tl.int64) if WIDE else lanes)
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(count):
        total += tl.load(place)
        place += step
    tl.store(out + lanes, total)


@tri.jit
def apart(out, x, BLOCK: tl.constexpr, APART: tl.constexpr):
    """The sum of three blocks of ``x``, each ``APART`` behind the one before: scalar pointers at constant distances."""
    lanes = tl.arange(0, BLOCK)
    second = x + APART
    total = tl.load(x + lanes) + tl.load(second + lanes) + tl.load(second + APART + lanes)
    tl.store(out + lanes, total)


@functools.cache
def compiled(kernel: Any, target: str, signature: tuple[str, ...], **constants: Any) -> Any:
    names = [n for n in kernel.arg_names if n not in constants]
    types = {**dict(zip(names, signature, strict=True)), **dict.fromkeys(constants, "constexpr")}
    facts = {(i,): SMALL for i, t in enumerate(signature) if t.startswith("*")}
    return tri.compile(
        tri.ASTSource(kernel, types, constants, facts), target=target, options={"num_warps": 1}
    )


GATHER = ("*fp32", "*fp32", "i32", "i32", "i32", "i32", "fp32")
WALK = ("*fp32", "*fp32", "i32", "i32", "i32")
X = np.random.default_rng(30).standard_normal(4096, dtype=np.float32)
#: its first element is that in the middle of ``X``, and its memory reaches in both directions
AROUND_MIDDLE = X.reshape(2, -1)[::-1]


@settings(max_examples=25, deadline=None)
@given(
    arch=st.sampled_from(TARGETS),
    base=st.integers(0, 4095),
    stride=st.integers(-7, 7),
    shift=st.integers(0, 40),
    n=st.integers(1, 128),
    other=st.sampled_from(["value", "zero"]),
)
def test_masked_gathers(arch: str, base: int, stride: int, shift: int, n: int, other: str) -> None:
    i = np.arange(n)
    # the pointer is in the middle of its array, so offsets of both signs are valid
    middle = 2048
    first = base - middle
    inside = (i >= shift) & (base + i * stride >= 0) & (base + i * stride < len(X))
    if not inside[shift:].all():
        n = int(np.argmin(np.append(inside[shift:], False))) + shift
        i = i[:n]
    expected = np.where(
        i >= shift, X[np.where(i >= shift, base + i * stride, 0)], 7 if other == "value" else 0
    )
    out = np.full(128, -1, np.float32)
    kernel = compiled(gather, f"sim:amd:{arch}", GATHER, BLOCK=64, OTHER=other)
    kernel[(2, 1, 1)](out, AROUND_MIDDLE, first, stride, shift, n, 7.0)
    np.testing.assert_array_equal(out[:n], expected)
    assert (out[n:] == -1).all()


@settings(max_examples=20, deadline=None)
@given(
    arch=st.sampled_from(TARGETS), step=st.integers(-150, 150), count=st.integers(0, 6), wide=st.booleans()
)
def test_pointers_that_a_loop_carries(arch: str, step: int, count: int, wide: bool) -> None:
    out, middle = np.zeros(64, np.float32), 2048
    rows = [X[middle + i * step : middle + i * step + 64] for i in range(count)]
    kernel = compiled(walk, f"sim:amd:{arch}", WALK, BLOCK=64, WIDE=wide)
    kernel[(1, 1, 1)](out, AROUND_MIDDLE, 0, step, count)
    np.testing.assert_allclose(out, np.sum(rows, axis=0) if rows else np.zeros(64), rtol=1e-5, atol=1e-5)


def code(kernel: Any, arch: str, signature: tuple[str, ...], **constants: Any) -> str:
    text: str = compiled(kernel, f"amd:{arch}", signature, **constants).asm["amdgcn"]
    return text.split(".section")[0]


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("wide", [False, True])
def test_small_arrays_are_buffered_whatever_their_offsets(arch: str, wide: bool) -> None:
    for text in (
        code(gather, arch, GATHER, BLOCK=64, OTHER="zero"),
        code(walk, arch, WALK, BLOCK=64, WIDE=wide),
    ):
        assert "buffer_load" in text
        assert "buffer_store" in text
        assert "global_load" not in text.replace("s_load", "")


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("distance", [64, 0, -64, 600, 992])
def test_scalar_pointers_at_constant_distances(arch: str, distance: int) -> None:
    sizes = {"BLOCK": 64, "APART": distance}
    out, middle = np.zeros(64, np.float32), 2048
    compiled(apart, f"sim:amd:{arch}", ("*fp32", "*fp32"), **sizes)[(1, 1, 1)](out, AROUND_MIDDLE)
    blocks = [X[middle + i * distance : middle + i * distance + 64] for i in range(3)]
    np.testing.assert_allclose(out, np.sum(blocks, axis=0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("arch", TARGETS)
def test_constant_distances_go_into_the_instruction(arch: str) -> None:
    text = code(apart, arch, ("*fp32", "*fp32"), BLOCK=64, APART=64)
    loads = [line for line in text.splitlines() if "buffer_load" in line]
    assert all(any(f"offset:{distance}" in line for line in loads) for distance in (256, 512))
    assert len({line.split("s[")[1].split("]")[0] for line in loads}) == 1  # one descriptor


def test_zeros_are_not_selected_again() -> None:
    def selects(other: str) -> int:
        text = code(gather, "gfx942", GATHER, BLOCK=64, OTHER=other)
        return text.count("v_cndmask")

    # the value of what is masked off costs a select; zero is what the buffer gives
    assert selects("value") > selects("zero")


def test_arrays_of_unknown_size_have_whole_addresses() -> None:
    types = dict(
        zip([*gather.arg_names[:7], "BLOCK", "OTHER"], [*GATHER, "constexpr", "constexpr"], strict=True)
    )
    source = tri.ASTSource(gather, types, {"BLOCK": 64, "OTHER": "zero"})
    text = tri.compile(source, target="amd:gfx942").asm["amdgcn"]
    assert "buffer_load" not in str(text)


# --- the JIT ------------------------------------------------------------------------------------------------


def launched(x: npt.NDArray[Any]) -> str:
    out = np.zeros(64, np.float32)
    with tri.target("sim:amd:gfx942"):
        made = walk[(1,)](out, x, 0, 16, 3, BLOCK=64, WIDE=False)
    np.testing.assert_allclose(out, x[:64] + x[16:80] + x[32:96], rtol=1e-6)
    return str(made.asm["ttir"])


def test_the_jit_says_which_arrays_are_small() -> None:
    assert launched(X).count("tt.pointer_range = 32") == 2


def test_a_part_of_a_large_array_is_not_small() -> None:
    # memory that is never touched is none
    large = np.zeros(1 << 29, np.float32)
    part = large[1 << 28 : (1 << 28) + 4096]
    part[:] = X
    assert launched(part).count("tt.pointer_range = 32") == 1


def test_a_kernel_for_small_arrays_refuses_large_ones() -> None:
    large, out = np.zeros(1 << 29, np.float32), np.zeros(64, np.float32)
    kernel = compiled(walk, "sim:amd:gfx942", WALK, BLOCK=64, WIDE=False)
    with pytest.raises(LaunchError, match="less than 2 GiB"):
        kernel[(1, 1, 1)](out, large, 0, 0, 1)
