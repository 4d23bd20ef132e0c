"""Atomics in SPIR-V: tiles between two barriers of memory, loads where nothing is changed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl

#: opcodes of SPIR-V
NAMES = {225: "MemoryBarrier", 227: "AtomicLoad", 234: "AtomicIAdd", 241: "AtomicOr", 6035: "AtomicFAdd"}


@tri.jit
def wait_and_add(flag, flags, out, N: tl.constexpr, SEM: tl.constexpr):
    i = tl.arange(0, N)
    while tl.atomic_add(flag, 0, sem=SEM) < 3:
        pass
    tl.atomic_poll(flag, 3, sem=SEM)
    tl.store(out + i, tl.atomic_or(flags + i, 0, sem=SEM) + tl.atomic_load(flag, sem=SEM))


@tri.jit
def add_tile(out, N: tl.constexpr, SEM: tl.constexpr):
    tl.atomic_add(out + tl.arange(0, N), tl.arange(0, N).to(tl.float32), sem=SEM)


def found(made: Any) -> list[str]:
    words, at, names = np.frombuffer(made.asm["spv"], np.uint32), 5, []
    while at < len(words):
        names.append(NAMES.get(int(words[at] & 0xFFFF), ""))
        at += int(words[at] >> 16)
    return [name for name in names if name]


@functools.cache
def reader(target: str, sem: str, element: str = "i32") -> Any:
    kinds = {
        "flag": f"*{element}",
        "flags": f"*{element}",
        "out": "*i32",
        "N": "constexpr",
        "SEM": "constexpr",
    }
    source = tri.ASTSource(wait_and_add, kinds, {"N": 64, "SEM": sem}, {})
    return tri.compile(source, target=target, options={"num_warps": 4})


@pytest.mark.parametrize("element", ["i32", "i64"])
@pytest.mark.parametrize("sem", ["relaxed", "acquire"])
def test_what_changes_nothing_is_a_load(sem: str, element: str) -> None:
    names = found(reader("intel:pvc", sem, element))
    assert set(names) == {"AtomicLoad", *(["MemoryBarrier"] if sem == "acquire" else [])}
    assert names.count("AtomicLoad") >= 4


@pytest.mark.parametrize(
    ("sem", "before", "behind"), [("relaxed", 0, 0), ("release", 1, 0), ("acq_rel", 1, 1)]
)
def test_a_tile_has_one_fence_on_either_side(sem: str, before: int, behind: int) -> None:
    kinds = {"out": "*fp32", "N": "constexpr", "SEM": "constexpr"}
    made = tri.compile(
        tri.ASTSource(add_tile, kinds, {"N": 512, "SEM": sem}, {}),
        target="intel:pvc",
        options={"num_warps": 4},
    )
    fence = "MemoryBarrier"
    assert found(made) == [*[fence] * before, *["AtomicFAdd"] * 8, *[fence] * behind]


def test_loads_give_what_is_there() -> None:
    flag, flags, out = np.array([3], np.int32), np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    reader("sim:intel:pvc", "acquire")[(1, 1, 1)](flag, flags, out)
    np.testing.assert_array_equal(out, flags + 3)
