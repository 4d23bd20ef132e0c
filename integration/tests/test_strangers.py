"""Recorded kernels: what is written down is enough to compile them again, by either compiler."""

from __future__ import annotations

import enum
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from integration.kernels.softmax import softmax
from integration.strangers.classes import CLASSES, chosen, class_of
from integration.strangers.compare import held, measured, more_than_held
from integration.strangers.compilers import compile_all, result
from integration.strangers.figures import Code, Patterns, figures_of, worse
from integration.strangers.record import KEPT, Kernel, read, write
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


@pytest.mark.parametrize("every", [25, pytest.param(1, marks=pytest.mark.slow)])
def test_no_figure_is_worse_than_held(every: int, tmp_path: Path) -> None:
    target, kernels = "amd:gfx942", read()[::every]
    compile_all([(kernel.key, target) for kernel in kernels], KEPT, tmp_path)
    ours, errors = measured(kernels, target, tmp_path)
    assert set(errors) <= {kernel.key for kernel in kernels} - set(held()[target]["triton"])
    assert more_than_held(target, ours) == []


def test_figures_of_loops_are_given_for_the_same_work() -> None:
    code = Code(["g_load 4", "x", "m", "g_load 4", "x"], [["m", "g_load 4", "x"]], 8, 0, 0, 4, len)
    never = re.compile("(?!)")
    names = ("store", "shared", "asynchronous", "atomic", "cas", "fence", "barrier", "local", "wait")
    rest: dict[str, Any] = dict.fromkeys(names, never)
    rest |= {"width": lambda i: int(i[-1]), "dot": lambda i: float(i == "m"), "rank": lambda i: 1}
    patterns = Patterns(load=re.compile("g_load"), **rest)
    ours = figures_of(code, patterns, 5)
    assert (ours["loop"], ours["work"], ours["load_bytes"], ours["dots"]) == (3, 1.0, 4.0, 1)
    assert worse(ours, {**ours, "loop": 6, "work": 4.0}) == ["loop"]
    assert worse(ours, {**ours, "loop": 6, "work": 2.0}) == []
    assert worse(ours, {**ours, "residents": 8, "load_bytes": 16.0}) == ["residents", "load_bytes"]


def test_stores_of_a_dots_result_are_as_good_as_the_sectors_they_fill() -> None:
    never = re.compile("(?!)")
    names = ("load", "shared", "asynchronous", "atomic", "cas", "fence", "barrier", "local", "wait")
    rest: dict[str, Any] = dict.fromkeys(names, never)
    rest |= {"width": lambda i: int(i[6:]), "dot": lambda i: float(i == "m"), "rank": lambda i: 1}
    patterns = Patterns(store=re.compile("store"), quarter=8, **rest)

    def stored(*body: str) -> float:
        return figures_of(Code(body, [], 8, 0, 0, 4, len), patterns, 5)["store_bytes"]

    assert stored("m", "store 8") == stored("m", "store 16") == 8.0
    assert stored("m", "store 4") == 4.0
    assert (stored("store 8"), stored("store 16")) == (8.0, 16.0)


def test_copies_and_fences_of_other_warps_than_those_of_the_dots() -> None:
    """Producer warps copy in a loop of their own: for the loop of dots that is asynchronous, and its fences alone count."""
    rest: dict[str, Any] = dict.fromkeys(
        ("store", "shared", "load", "atomic", "cas", "fence", "barrier", "local", "wait"), re.compile("(?!)")
    ) | {"dot": lambda i: float(i == "m"), "width": lambda i: 16, "rank": lambda i: 1}
    patterns = Patterns(asynchronous=re.compile("copy"), proxy=re.compile("view"), **rest)
    dots, copies = ["m", "view"], ["copy", "x"]
    ours = figures_of(Code(["view", *dots, *copies], [dots, copies], 8, 0, 0, 4, len), patterns, 5)
    theirs = figures_of(Code(["m", "copy"], [["m", "copy"]], 8, 0, 0, 4, len), patterns, 5)
    assert (ours["asynchronous"], ours["fences"]) == (1, 1)
    assert "ahead" not in ours
    assert "asynchronous" not in worse(ours, theirs)
    alone = figures_of(Code(dots, [dots], 8, 0, 0, 4, len), patterns, 5)
    assert (alone["asynchronous"], alone["ahead"]) == (0, 2)
