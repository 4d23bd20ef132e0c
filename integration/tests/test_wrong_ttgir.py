"""TTGIR that contradicts itself, its module or its target is refused, at a place and with a remedy, by every door that takes text."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import tri
from integration.ir_mutants import NUMBERS, compiled, mutant
from tri_core.compiler.optimize import optimize
from tri_core.errors import TriError, VerificationError

#: a kernel that is right: copies 256 elements, by way of shared memory
RIGHT = """
#blocked = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#linear = #ttg.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[64], [128]], block = []}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#padded = #ttg.padded_shared<[64:+4] {offset = [[1], [2], [4], [8], [16], [32], [64], [128]], block = []}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "nvidia:sm_80", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @copy(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #blocked>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #blocked>
    %from = tt.addptr %xs, %i : tensor<256x!tt.ptr<f32>, #blocked>, tensor<256xi32, #blocked>
    %v = tt.load %from : tensor<256x!tt.ptr<f32>, #blocked>
    %a = ttg.local_alloc %v : (tensor<256xf32, #blocked>) -> !ttg.memdesc<256xf32, #shared, #smem>
    %w = ttg.local_load %a : !ttg.memdesc<256xf32, #shared, #smem> -> tensor<256xf32, #linear>
    %b = ttg.local_alloc %w : (tensor<256xf32, #linear>) -> !ttg.memdesc<256xf32, #padded, #smem>
    %u = ttg.local_load %b : !ttg.memdesc<256xf32, #padded, #smem> -> tensor<256xf32, #blocked>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #blocked>
    %to = tt.addptr %ys, %i : tensor<256x!tt.ptr<f32>, #blocked>, tensor<256xi32, #blocked>
    tt.store %to, %u : tensor<256x!tt.ptr<f32>, #blocked>
    tt.return
  }
}
"""

WRONG = {
    "warps": ("warpsPerCTA = [4]", "warpsPerCTA = [8]", "warp of size 8; the module says 4"),
    "lanes": ("threadsPerWarp = [32]", "threadsPerWarp = [64]", "lane of size 64; the module says 32"),
    "no threads": ("threadsPerWarp = [32]", "threadsPerWarp = [0]", "powers of two"),
    "three threads": ("threadsPerWarp = [32]", "threadsPerWarp = [3]", "powers of two"),
    "an order": ("order = [0]}>\n#linear", "order = [65536]}>\n#linear", "not a permutation"),
    "registers": ("sizePerThread = [2]", "sizePerThread = [1073741824]", "registers"),
    "numbers beyond 32 bits": ("sizePerThread = [2]", "sizePerThread = [4294967296]", "4294967296"),
    "negative sizes": ("sizePerThread = [2]", "sizePerThread = [-2]", "powers of two"),
    "warps of the module": ('"ttg.num-warps" = 4', '"ttg.num-warps" = 8', "the module says 8"),
    "three warps": ('"ttg.num-warps" = 4', '"ttg.num-warps" = 3', "a power of two is expected"),
    "CTAs": ('"ttg.num-ctas" = 1', '"ttg.num-ctas" = -1', "a power of two is expected"),
    "two CTAs": ('"ttg.num-ctas" = 1', '"ttg.num-ctas" = 2', "2"),
    "a basis outside": ("warp = [[64], [128]]", "warp = [[64], [512]]", "tensor<256xf32"),
    "a basis twice": ("warp = [[64], [128]]", "warp = [[64], [64]]", "a basis twice"),
    "a negative basis": ("warp = [[64], [128]]", "warp = [[64], [-16]]", "-16"),
    "a number for a basis": ("warp = [[64], [128]]", "warp = [[64], 128]", "layout"),
    "bases of two ranks": ("warp = [[64], [128]]", "warp = [[64], [128, 1]]", "layout"),
    "padding: a basis outside": ("[64], [128]], block = []}>\n#smem", "[64], [1024]], block = []}>\n#smem", "does not fit"),
    "padding: a basis twice": ("[64], [128]], block = []}>\n#smem", "[64], [64]], block = []}>\n#smem", "leaves out elements"),
    "padding: one basis more": ("[64], [128]], block = []}>\n#smem", "[64], [128], [1]], block = []}>\n#smem", "several places"),
}  # fmt: skip


#: doors that know no target
NO_TARGET = ("tri opt", "tri opt, nothing to do")


def doors(text: str, folder: Path, target: str = "nvidia:sm_80") -> dict[str, Callable[[], object]]:
    """All that take TTGIR as text."""
    path = folder / "copy.ttgir"
    path.write_text(text)
    return {
        "tri opt": lambda: optimize(text, "canonicalize", path=str(path)),
        "tri opt, nothing to do": lambda: optimize(text, "", path=str(path)),
        "tri opt for a target": lambda: optimize(text, "canonicalize", path=str(path), target=target),
        "tri compile": lambda: tri.compile(path, target=target),
    }


def test_what_is_right_is_taken(tmp_path: Path) -> None:
    for door in doors(RIGHT, tmp_path).values():
        door()


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name: str, tmp_path: Path) -> None:
    right, wrong, complaint = WRONG[name]
    assert RIGHT.count(right) == 1
    for door in doors(RIGHT.replace(right, wrong), tmp_path).values():
        with pytest.raises(VerificationError, match=re.escape(complaint)) as caught:
            door()
        assert caught.value.location is not None
        assert caught.value.remedy


@pytest.mark.parametrize(
    ("target", "complaint"), [("amd:gfx942", "warps of 32 threads"), ("amd:gfx90a", "have 64")]
)
def test_a_module_of_another_target(target: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "copy.ttgir"
    path.write_text(RIGHT)
    for door in (lambda: tri.compile(path, target=target), lambda: optimize(RIGHT, "", target=target)):
        with pytest.raises(VerificationError, match=complaint):
            door()


def made_for(name: str, threads: int = 32) -> str:
    """The kernel in a module that says so."""
    text = RIGHT.replace("nvidia:sm_80", name)
    if threads == 64:
        text = text.replace("threadsPerWarp = [32]", "threadsPerWarp = [64]").replace(
            "sizePerThread = [2]", "sizePerThread = [1]"
        )
        text = text.replace("{register = [[1]], lane = [[2],", "{register = [], lane = [[1], [2],")
        text = text.replace('threads-per-warp" = 32', 'threads-per-warp" = 64')
    return text


@pytest.mark.parametrize(
    ("target", "threads", "others"),
    [
        ("nvidia:sm_90a", 32, ["hip:gfx1201", "amd:gfx1201", "xpu", "xpu:pvc", "intel:pvc", "made-up:m1"]),
        ("nvidia:sm_80", 32, ["cuda:90", "nvidia:sm_90", "cuda:89", "cuda:777", "nvidia:sm_99"]),
        ("nvidia:sm_100a", 32, ["cuda:90", "nvidia:sm_90a", "cuda:120", "sim:nvidia:sm_120a"]),
        ("nvidia:sm_90", 32, ["cuda:90"]),
        ("amd:gfx942", 64, ["cuda:80", "nvidia:sm_80", "hip:gfx90a", "hip:gfx950", "amd:gfx908", "xpu"]),
        ("amd:gfx1201", 32, ["cuda:80", "hip:gfx1100", "amd:gfx1250", "hip:"]),
        ("intel:pvc", 32, ["cuda:80", "hip:gfx1201", "cpu"]),
        ("intel:mtl", 32, ["intel:pvc", "xpu:bmg"]),
    ],
)
def test_a_module_made_for_another_target(
    target: str, threads: int, others: list[str], tmp_path: Path
) -> None:
    for other in others:
        for name, door in doors(made_for(other, threads), tmp_path, target).items():
            if name in NO_TARGET and other != "hip:":
                door()
                continue
            with pytest.raises(VerificationError, match=re.escape(f'ttg.target is "{other}"')) as caught:
                door()
            assert caught.value.location is not None
            assert caught.value.remedy


@pytest.mark.parametrize(
    ("target", "threads", "same"),
    [
        (
            "nvidia:sm_90a",
            32,
            ["nvidia:sm_90a", "cuda:90", "cuda", "cuda:80", "nvidia:sm_89", "sim:nvidia:sm_90a"],
        ),
        ("nvidia:sm_86", 32, ["nvidia:sm_80", "cuda:75"]),
        ("amd:gfx942", 64, ["amd:gfx942", "hip:gfx942", "hip"]),
        ("amd:gfx1201", 32, ["hip:gfx1200", "hip:gfx1201"]),
        ("intel:pvc", 32, ["xpu", "intel:pvc", "xpu:bmg", "sycl:pvc"]),
    ],
)
def test_a_module_made_for_the_target(target: str, threads: int, same: list[str], tmp_path: Path) -> None:
    """In the backend's words or in Triton's; for an architecture all of whose features the target has."""
    for name in same:
        for door in doors(made_for(name, threads), tmp_path, target).values():
            door()


@pytest.mark.parametrize("target", ["cpu", "nvidia:sm_90a", "amd:gfx942", "intel:pvc"])
def test_a_kernel_with_a_tensor_for_a_parameter(target: str, tmp_path: Path) -> None:
    path = tmp_path / "k.ttir"
    path.write_text(
        "module {\n  tt.func public @k(%x: tensor<8xf32>, %p: tensor<8x!tt.ptr<f32>>) {\n"
        "    tt.store %p, %x : tensor<8x!tt.ptr<f32>>\n    tt.return\n  }\n}\n"
    )
    with pytest.raises(VerificationError, match="has a parameter of type tensor<8xf32>") as caught:
        tri.compile(path, target=target)
    assert caught.value.location is not None
    assert caught.value.remedy


def test_a_hint_that_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "copy.ttgir"
    path.write_text(RIGHT.replace("%x: !tt.ptr<f32>,", '%x: !tt.ptr<f32> {tt.divisibility = "x"},'))
    with pytest.raises(
        VerificationError, match=r"the hint tt.divisibility is .x.; integers are expected"
    ) as caught:
        tri.compile(path, target="nvidia:sm_80")
    assert caught.value.remedy


_TEXTS = sorted((Path(__file__).parents[2] / "packages").glob("*/tests/**/*.ttgir"))


def test_mutants_are_refused_or_taken(capfd: pytest.CaptureFixture[str]) -> None:
    """One number of a recorded module is another: nothing but an error of ours comes of it."""
    random_ = random.Random(44)
    kinds = {True: 0, False: 0}
    for _ in range(400):
        lines = random_.choice(_TEXTS).read_text().splitlines()
        places = [
            (i, found.span())
            for i, line in enumerate(lines)
            if line.startswith(("#", "module"))
            for found in re.finditer(r"(?<![#%])-?\b\d+\b", line)
        ]
        i, (first, last) = random_.choice(places)
        lines[i] = lines[i][:first] + random_.choice(NUMBERS) + lines[i][last:]
        try:
            optimize("\n".join(lines), "")
            kinds[True] += 1
        except TriError:
            kinds[False] += 1
    capfd.readouterr()
    assert min(kinds.values()) > 20, kinds


def test_mutants_of_whole_modules() -> None:
    """Those of one seed are the same every time, and come to no harm; the nightly session has more."""
    assert mutant(0, 3) == mutant(0, 3)
    assert len({mutant(0, number).source for number in range(20)}) > 15
    for number in range(12):
        made = mutant(5, number)
        compiled(made, made.target)
