"""Recorded kernels: what is written down is enough to compile them again, by either compiler."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from integration.kernels.softmax import softmax
from integration.strangers.classes import CLASSES, chosen, class_of
from integration.strangers.compilers import compile_all, result
from integration.strangers.record import Kernel, read, write
from integration.strangers.recorder import Recorder
from integration.strangers.texts import NotPortable, texts_of


class Kind(enum.IntEnum):
    TWICE = 2


FACTOR = tl.constexpr(3)


@tri.constexpr_function
def power(n: int) -> int:
    return 1 << n


@tri.jit
def scaled(x, KIND: tl.constexpr):  # type: ignore[no-untyped-def]
    return x * FACTOR * KIND


@tri.jit
def helped(out_ptr, n, N: tl.constexpr):  # type: ignore[no-untyped-def]
    places = tl.arange(0, power(N))
    values = scaled(tl.math.exp2(places.to(tl.float32)), Kind.TWICE)
    tl.store(out_ptr + places, values, mask=places < n)


@pytest.fixture
def heard() -> list[Kernel]:
    return []


@pytest.fixture
def recorder(heard: list[Kernel]) -> Recorder:
    return Recorder("mine", "1", heard=heard.append)


def test_a_launch_is_written_down_and_does_not_run(recorder: Recorder, heard: list[Kernel]) -> None:
    x, out = np.ones((4, 64), np.float32), np.zeros((4, 64), np.float32)
    with recorder.listening():
        for _ in range(2):
            softmax[(4,)](out, x, 64, 64, 64, BLOCK=64, num_warps=8)
    assert not out.any()
    (kernel,) = heard
    assert list(kernel.signature) == ["out_ptr", "x_ptr", "x_stride", "out_stride", "n_cols", "BLOCK"]
    assert kernel.attributes["x_stride"] == [["tt.divisibility", 16]]
    assert (kernel.grid, kernel.options) == ((4, 1, 1), {"num_warps": 8})


def test_a_launch_runs_where_it_is_asked_to(recorder: Recorder, heard: list[Kernel]) -> None:
    recorder.runs = True
    out = np.zeros(8, np.float32)
    with recorder.listening():
        helped[(1,)](out, 8, N=3)
    assert out.tolist() == [6.0 * 2**n for n in range(8)]
    assert {kernel.name for kernel in heard} == {"helped"}


def test_helpers_constants_and_enums_compile_again_from_text(
    recorder: Recorder, heard: list[Kernel], tmp_path: Path
) -> None:
    with recorder.listening():
        helped[(1,)](np.zeros(8, np.float32), 8, N=3)
    store = tmp_path / "store.jsonl.xz"
    assert write([*heard, *heard], store) == 1
    (kernel,) = read(store)
    assert kernel.key == heard[0].key
    jobs = [(kernel.key, "nvidia:sm_80"), (kernel.key, "amd:gfx942")]
    compile_all(jobs, store, tmp_path / "out")
    for job in jobs:
        found = result(tmp_path / "out", job)
        assert "error" not in found, found["error"]
        assert found["code"]
        assert found["ms"] > 0


def test_what_a_compiler_refuses_is_a_result(tmp_path: Path) -> None:
    kernel = Kernel(
        "mine", "1", "", "k", [{"name": "k", "src": "def k(p):\n    nowhere(p)\n", "kind": "jit", "globals": {}}],
        {"p": "*fp32"}, {}, {}, {},
    )  # fmt: skip
    write([kernel], tmp_path / "store.jsonl.xz")
    compile_all([(kernel.key, "nvidia:sm_80")], tmp_path / "store.jsonl.xz", tmp_path / "out")
    assert "nowhere" in result(tmp_path / "out", (kernel.key, "nvidia:sm_80"))["error"]


def test_an_object_has_no_text() -> None:
    thing: Any = object()

    @tri.jit
    def odd(p):  # type: ignore[no-untyped-def]
        tl.store(p, thing)

    with pytest.raises(NotPortable, match="object"):
        texts_of(odd)


def test_the_kept_kernels_cover_the_classes() -> None:
    kept = read()
    assert len(kept) == 300
    assert {class_of(kernel) for kernel in kept} == set(CLASSES)
    assert len({kernel.key for kernel in kept}) == len(kept)
    assert all(kernel.version for kernel in kept)
    assert {kernel.key for kernel in chosen(kept, 300)} == {kernel.key for kernel in kept}
    assert len(chosen(kept, 64)) == 64
