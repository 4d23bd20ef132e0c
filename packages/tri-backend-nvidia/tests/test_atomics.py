"""Atomics on tiles: vectors as wide as the hardware takes, and what is in memory afterwards."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl

Array = npt.NDArray[Any]
ALIGNED = [["tt.divisibility", 16]]
TYPES = ("fp16", "bf16", "fp32", "i32")


@tri.jit
def update(
    out, old, x, n, START: tl.constexpr, STRIDE: tl.constexpr, RUN: tl.constexpr, BLOCK: tl.constexpr,
    SEM: tl.constexpr, READ: tl.constexpr,
):  # fmt: skip
    """Runs of ``RUN`` elements are masked in turn (0: what is beyond ``n``)."""
    i = tl.arange(0, BLOCK)
    mask = i // RUN % 3 != 1 if RUN > 0 else i < n
    was = tl.atomic_add(out + START + i * STRIDE, tl.load(x + i), mask=mask, sem=SEM)
    if READ:
        tl.store(old + i, was, mask=mask)


@functools.cache
def compiled(
    target: str, element: str, *, num_warps: int = 4, aligned_n: bool = False, **constants: Any
) -> Any:
    constants = {
        "START": 0,
        "STRIDE": 1,
        "RUN": 0,
        "BLOCK": 1024,
        "SEM": "relaxed",
        "READ": False,
        **constants,
    }
    types = {"out": f"*{element}", "old": f"*{element}", "x": f"*{element}", "n": "i32"}
    facts: dict[Any, Any] = {(i,): ALIGNED for i in range(4 if aligned_n else 3)}
    kinds = types | dict.fromkeys(constants, "constexpr")
    source = tri.ASTSource(update, kinds, constants, facts)
    return tri.compile(source, target=target, options={"num_warps": num_warps})


def instructions(made: Any) -> list[str]:
    return re.findall(r"(?:atom|red)\.global[\w.]*", made.asm["ptx"])


def held(values: Array, element: str) -> Array:
    """As the array of ``element`` that kernels take."""
    if element == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype({"fp16": np.float16, "fp32": np.float32, "i32": np.int32}[element])


@pytest.mark.parametrize(
    ("arch", "element", "wanted"),
    [
        ("sm_90a", "fp16", ["add.noftz.v4.f16x2"]),
        ("sm_90a", "bf16", ["add.noftz.v4.bf16x2"]),
        ("sm_90a", "fp32", ["add.v4.f32"] * 2),
        ("sm_90a", "i32", ["add.u32"] * 8),
        ("sm_100a", "fp16", ["add.noftz.v4.f16x2"]),
        ("sm_80", "fp16", ["add.noftz.f16x2"] * 4),
        ("sm_75", "fp16", ["add.noftz.f16x2"] * 4),
        ("sm_80", "fp32", ["add.f32"] * 8),
    ],
)
@pytest.mark.parametrize("read", [False, True])
def test_vectors(arch: str, element: str, wanted: list[str], read: bool) -> None:
    """A tile of 1024 by 128 threads, which ptxas accepts; ``red`` where nobody reads the old values."""
    made = compiled(f"nvidia:{arch}", element, aligned_n=True, READ=read)
    name = "atom" if read else "red"
    assert instructions(made) == [f"{name}.global.gpu.relaxed.{each}" for each in wanted]
    assert "cubin" in made.asm


@pytest.mark.parametrize(
    ("start", "run", "wanted"),
    [
        (0, 8, "v4.f16x2"),
        (4, 8, "v2.f16x2"),
        (0, 4, "v2.f16x2"),
        (2, 8, "f16x2"),
        (0, 2, "f16x2"),
        (1, 8, "f16"),
        (0, 1, "f16"),
    ],
)
def test_vectors_are_aligned_and_under_one_mask(start: int, run: int, wanted: str) -> None:
    made = compiled("nvidia:sm_90a", "fp16", START=start, RUN=run)
    assert set(instructions(made)) == {f"red.global.gpu.relaxed.add.noftz.{wanted}"}


def test_what_is_not_adjacent_is_added_one_by_one() -> None:
    assert set(instructions(compiled("nvidia:sm_90a", "fp32", STRIDE=3))) == {
        "red.global.gpu.relaxed.add.f32"
    }


def ordered(made: Any) -> list[str]:
    """Atomics, atomic loads and fences, without scope, space and operands."""
    text = re.findall(r"(?:atom|red|ld|fence)\.[\w.]*(?:gpu|cta|sys)[\w.]*", made.asm["ptx"])
    return [each.replace(".gpu", "").replace(".global", "") for each in text]


@pytest.mark.parametrize(
    ("arch", "sem", "before", "behind"),
    [
        ("sm_90a", "acq_rel", ["fence.release"], ["fence.acquire"]),
        ("sm_90a", "release", ["fence.release"], []),
        ("sm_90a", "acquire", [], ["fence.acquire"]),
        ("sm_80", "acq_rel", ["fence.acq_rel"], ["fence.acq_rel"]),
        ("sm_75", "release", ["fence.acq_rel"], []),
    ],
)
@pytest.mark.parametrize("read", [False, True])
def test_a_tile_has_one_fence_on_either_side(
    arch: str, sem: str, before: list[str], behind: list[str], read: bool
) -> None:
    made = compiled(f"nvidia:{arch}", "fp32", SEM=sem, READ=read, RUN=64)
    name = f"{'atom' if read else 'red'}.relaxed.add" + (".v4.f32" if arch == "sm_90a" else ".f32")
    count = 2 if arch == "sm_90a" else 8
    assert ordered(made) == [*before, *[name] * count, *behind]
    assert "cubin" in made.asm


@tri.jit
def read_flags(flag, flags, out, N: tl.constexpr, SEM: tl.constexpr, KIND: tl.constexpr):
    i = tl.arange(0, N)
    if KIND == "add":
        while tl.atomic_add(flag, 0, sem=SEM) < 3:
            pass
        got = tl.atomic_add(flags + i, 0, sem=SEM)
    elif KIND == "or":
        got = tl.atomic_or(flags + i, 0, mask=i < N // 2, sem=SEM)
    elif KIND == "and":
        got = tl.atomic_and(flags + i, -1, sem=SEM)
    elif KIND == "max":
        got = tl.atomic_max(flags + i, -2147483648, sem=SEM)
    elif KIND == "poll":
        tl.atomic_poll(flag, 3, sem=SEM)
        got = tl.atomic_poll(flags + i, i, sem=SEM).to(tl.int32)
    else:
        got = tl.atomic_load(flags + i, sem=SEM) + tl.atomic_load(flag, sem=SEM)
    tl.store(out + i, got, mask=i < N // 2 if KIND == "or" else i < N)


@functools.cache
def reader(target: str, kind: str, sem: str, element: str = "i32") -> Any:
    kinds = {"flag": f"*{element}", "flags": f"*{element}", "out": "*i32"}
    constants = {"N": 64, "SEM": sem, "KIND": kind}
    source = tri.ASTSource(read_flags, kinds | dict.fromkeys(constants, "constexpr"), constants, {})
    return tri.compile(source, target=target, options={"num_warps": 4})


@pytest.mark.parametrize(
    ("kind", "sem", "wanted"),
    [
        ("add", "acquire", ["ld.acquire.b32", "ld.relaxed.b32", "fence.acquire"]),
        ("add", "relaxed", ["ld.relaxed.b32", "ld.relaxed.b32"]),
        ("or", "relaxed", ["ld.relaxed.b32"]),
        ("and", "relaxed", ["ld.relaxed.b32"]),
        ("max", "relaxed", ["ld.relaxed.b32"]),
        ("poll", "acquire", ["ld.relaxed.b32", "fence.acquire", "ld.relaxed.b32", "fence.acquire"]),
        ("poll", "relaxed", ["ld.relaxed.b32", "ld.relaxed.b32"]),
        ("load", "acquire", ["ld.relaxed.b32", "fence.acquire", "ld.acquire.b32"]),
        # others may acquire from what it writes
        ("or", "acq_rel", ["fence.release", "atom.relaxed.or.b32", "fence.acquire"]),
        ("or", "release", ["fence.release", "atom.relaxed.or.b32"]),
    ],
)
def test_what_changes_nothing_is_a_load(kind: str, sem: str, wanted: list[str]) -> None:
    made = reader("nvidia:sm_90a", kind, sem)
    assert ordered(made) == wanted
    assert "cubin" in made.asm


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_polls_of_every_width_are_loads(bits: int) -> None:
    found = ordered(reader("nvidia:sm_80", "poll", "relaxed", f"i{bits}"))
    assert found == [f"ld.relaxed.b{bits}"] * 2


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("kind", ["add", "or", "and", "max", "poll", "load"])
def test_loads_give_what_is_there(arch: str, kind: str) -> None:
    """64 elements by 128 threads."""
    flag, flags, out = np.array([3], np.int32), np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    reader(f"sim:nvidia:{arch}", kind, "acquire")[(1, 1, 1)](flag, flags, out)
    wanted = {"poll": np.ones(64), "or": np.where(flags < 32, flags, 0), "load": flags + 3}.get(kind, flags)
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(flags, np.arange(64))


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("element", TYPES)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    start=st.sampled_from([0, 1, 2, 4, 6, 8]),
    stride=st.sampled_from([1, 1, 1, 2, 3]),
    run=st.sampled_from([0, 0, 1, 2, 3, 4, 8, 16]),
    block=st.sampled_from([16, 64, 256, 1024]),
    rest=st.integers(0, 40),
    read=st.booleans(),
    sem=st.sampled_from(["relaxed", "acq_rel", "release", "acquire"]),
)
def test_sums(
    arch: str, element: str, start: int, stride: int, run: int, block: int, rest: int, read: bool, sem: str
) -> None:
    """Tiles of few elements are held by several threads, of which one adds; arrays end where the mask does."""
    constants = {"START": start, "STRIDE": stride, "RUN": run, "BLOCK": block, "READ": read, "SEM": sem}
    n = max(block - rest, 1)
    made = compiled(f"sim:nvidia:{arch}", element, aligned_n=n % 16 == 0, **constants)
    rng = np.random.default_rng(block + start)
    i = np.arange(block)
    mask = i < n if run == 0 else i // run % 3 != 1
    places = (start + i * stride)[mask]
    out, x = rng.integers(-8, 9, places.max() + 1), rng.integers(-8, 9, block)
    given, old = held(out, element), held(np.full(block, 77), element)
    made[(1, 1, 1)](given, old, held(x, element), n)
    wanted, was = out.copy(), np.full(block, 77)
    wanted[places] += x[mask]
    if read:
        was[mask] = out[places]
    np.testing.assert_array_equal(given, held(wanted, element))
    np.testing.assert_array_equal(old, held(was, element))
