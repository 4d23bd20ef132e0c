"""Additions of 16-bit floats, two at once: the instructions, and what is in memory afterwards."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl
from tri_core.errors import SimulationError

SMALL = [["tt.divisibility", 16], ["tt.pointer_range", 32]]


@tri.jit
def update(out, old, x, n, stride, BLOCK: tl.constexpr, SEM: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    was = tl.atomic_add(out + i * stride, tl.load(x + i), mask=i < n, sem=SEM)
    tl.store(old + i, was, mask=i < n)


@functools.cache
def compiled(
    target: str, element: str, *, side_by_side: bool, small: bool = True, sem: str = "relaxed"
) -> Any:
    types = {"out": f"*{element}", "old": f"*{element}", "x": f"*{element}", "n": "i32", "stride": "i32"}
    constants = {"BLOCK": 256, "SEM": sem}
    facts: dict[Any, Any] = {(i,): SMALL if small else SMALL[:1] for i in range(3)}
    if side_by_side:
        constants["stride"] = 1
        facts[3,] = SMALL[:1]
    kinds = types | dict.fromkeys(constants, "constexpr")
    return tri.compile(
        tri.ASTSource(update, kinds, constants, facts), target=target, options={"num_warps": 1}
    )


def bits(values: npt.NDArray[Any], element: str) -> npt.NDArray[Any]:
    """As the array of ``element`` that kernels take."""
    return (
        values.astype(np.float16)
        if element == "fp16"
        else (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    )


def numbers(held: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return (
        held.astype(np.float64)
        if held.dtype == np.float16
        else (held.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    )


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("element", ["fp16", "bf16"])
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1201", "gfx1250", "gfx908"])
def test_sums(arch: str, element: str, stride: int, small: bool) -> None:
    """An odd number of elements, at odd distances: those without neighbours leave what is beside them."""
    rng = np.random.default_rng(stride)
    n = 311 if stride == 3 else 304
    out, x = (rng.integers(-8, 9, size) for size in (512 * stride, 512))
    held, old = bits(out, element), bits(np.zeros(512), element)
    made = compiled(f"sim:amd:{arch}", element, side_by_side=stride == 1, small=small)
    made[(2, 1, 1)](held, old, bits(x, element), n, *([stride] if stride > 1 else []))
    wanted = out.copy()
    wanted[: n * stride : stride] += x[:n]
    np.testing.assert_array_equal(numbers(held), wanted)
    np.testing.assert_array_equal(numbers(old)[:n], out[: n * stride : stride])


def test_what_has_no_neighbour_leaves_zeros_their_signs() -> None:
    held = bits(np.full(512 * 3, -0.0), "fp16")
    old = bits(np.zeros(512), "fp16")
    compiled("sim:amd:gfx942", "fp16", side_by_side=False)[(2, 1, 1)](
        held, old, bits(np.zeros(512), "fp16"), 512, 3
    )
    assert np.signbit(held.reshape(-1, 3)[:, 1:]).all()
    assert not np.signbit(held[::3]).any()


@pytest.mark.parametrize(
    ("arch", "element", "small", "sem", "instruction"),
    [
        ("gfx90a", "fp16", True, "relaxed", "buffer_atomic_pk_add_f16"),
        ("gfx90a", "fp16", False, "relaxed", "global_atomic_pk_add_f16"),
        ("gfx942", "fp16", True, "acq_rel", "buffer_atomic_pk_add_f16"),
        ("gfx942", "fp16", True, "relaxed", "buffer_atomic_pk_add_f16"),
        ("gfx942", "bf16", True, "relaxed", "global_atomic_pk_add_bf16"),
        ("gfx950", "bf16", True, "relaxed", "buffer_atomic_pk_add_bf16"),
        ("gfx1201", "bf16", True, "relaxed", "buffer_atomic_pk_add_bf16"),
        ("gfx1250", "bf16", True, "relaxed", "buffer_atomic_pk_add_bf16"),
    ],
)
@pytest.mark.parametrize("side_by_side", [True, False])
def test_instructions(
    arch: str, element: str, small: bool, sem: str, instruction: str, side_by_side: bool
) -> None:
    """256 elements by a wavefront: two at once where they are neighbours."""
    made = compiled(f"amd:{arch}", element, side_by_side=side_by_side, small=small, sem=sem)
    text = str(made.asm["amdgcn"])
    lanes = 32 if arch.startswith("gfx12") else 64
    assert len(re.findall(rf"\t{instruction} ", text)) == 256 // lanes // (2 if side_by_side else 1)
    assert "cmpswap" not in text


@pytest.mark.parametrize(("arch", "element"), [("gfx908", "fp16"), ("gfx90a", "bf16"), ("gfx1100", "fp16")])
def test_others_swap_words(arch: str, element: str) -> None:
    text = str(compiled(f"amd:{arch}", element, side_by_side=True).asm["amdgcn"])
    assert "cmpswap" in text
    assert "pk_add" not in text


@tri.jit
def update_between(out, x, skipped, COLUMNS: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, COLUMNS)
    tl.atomic_add(out + row + i * skipped, tl.load(x + i), sem="relaxed")


@tri.jit
def update_row(out, x, COLUMNS: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, COLUMNS)
    offsets = row + i * 2
    tl.atomic_add(out + offsets, tl.load(x + i), sem="relaxed")


@tri.jit
def update_behind(out, x, COLUMNS: tl.constexpr):
    i = tl.arange(0, COLUMNS)
    tl.atomic_add(out + 1 + i * 2, tl.load(x + i), sem="relaxed")


def _compiled_where(function: Any, target: str, element: str, *, small: bool, **constants: Any) -> Any:
    kinds = {"out": f"*{element}", "x": f"*{element}"} | dict.fromkeys(constants, "constexpr")
    facts: dict[Any, Any] = {(i,): SMALL if small else SMALL[:1] for i in range(2)}
    source = tri.ASTSource(function, kinds, constants, facts)
    return tri.compile(source, target=target, options={"num_warps": 1})


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize(
    ("function", "programs", "constants"),
    [(update_between, 2, {"skipped": 2}), (update_row, 2, {}), (update_behind, 1, {})],
)
@pytest.mark.parametrize(
    ("arch", "element"), [("gfx90a", "fp16"), ("gfx942", "fp16"), ("gfx950", "bf16"), ("gfx1201", "bf16")]
)
def test_words_that_begin_before_the_pointer(
    arch: str, element: str, function: Any, programs: int, constants: dict[str, int], small: bool
) -> None:
    """The second half of a word is where the base, or a lane's offset, is: the instruction's offset isn't negative."""
    made = _compiled_where(function, f"sim:amd:{arch}", element, small=small, COLUMNS=32, **constants)
    out, x = np.arange(64.0), np.arange(32.0) + 1
    held = bits(out, element)
    made[(programs, 1, 1)](held, bits(x, element))
    wanted = out.copy()
    for row in range(programs):
        wanted[row + (programs == 1) :: 2] += x
    np.testing.assert_array_equal(numbers(held), wanted)


@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize(("arch", "element"), [("gfx942", "fp16"), ("gfx950", "bf16"), ("gfx1201", "fp16")])
def test_the_last_word_may_end_behind_the_array(arch: str, element: str, small: bool, count: int) -> None:
    held, old = bits(np.arange(count), element), bits(np.zeros(256), element)
    made = compiled(f"sim:amd:{arch}", element, side_by_side=False, small=small)
    made[(1, 1, 1)](held, old, bits(np.ones(256), element), count, 1)
    np.testing.assert_array_equal(numbers(held), np.arange(count) + 1)
    np.testing.assert_array_equal(numbers(old)[:count], np.arange(count))


def test_an_element_behind_the_array_is_an_error_also_in_the_word_of_one_inside() -> None:
    held, old = bits(np.arange(3), "fp16"), bits(np.zeros(256), "fp16")
    made = compiled("sim:amd:gfx942", "fp16", side_by_side=False)
    with pytest.raises(SimulationError, match=r"of 2 bytes at .* outside of any buffer"):
        made[(1, 1, 1)](held, old, bits(np.ones(256), "fp16"), 4, 1)
