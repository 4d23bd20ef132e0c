"""``path="auto"``: the cheaper path of a kernel with dots, and a remark that says which and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import simd_support
import tri
import tri.language as tl
from simd_support import matmul, source
from tri.cli.app import app
from tri_backend_intel.xegpu import choice


def compiled(*args: Any, target: str = "intel:pvc", warps: int = 32, **options: Any) -> Any:
    return tri.compile(source(*args), target=target, options={"num_warps": warps, "path": "auto"} | options)


def path_of(kernel: Any) -> tuple[str, str]:
    """The path, and the remark about it."""
    return kernel.metadata.attrs["path"], " ".join(
        r for r in kernel.resources.remarks if r.startswith("path")
    )


@pytest.mark.parametrize("warps", [8, 32])
def test_a_matmul_takes_the_path_of_fewer_instructions(warps: int) -> None:
    path, said = path_of(compiled(warps=warps))
    assert path == "simt"
    numbers = [int(word) for word in said.replace(",", "").split() if word.isdigit()]
    # by the driver's compiler 41 and 41, 68 and 68
    wanted = (39, 39) if warps == 32 else (65, 65)
    assert numbers == pytest.approx(wanted, abs=3)


def test_the_simd_path_is_taken_where_it_is_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = iter([1, 2])  # of the SIMD path, of the SIMT path
    monkeypatch.setattr(choice, "step_cost", lambda kernel: next(costs))
    make = np.random.default_rng(3)
    a, b = (make.integers(-3, 4, (64, 64)).astype("f2") for _ in range(2))
    c = np.zeros((64, 64), "f4")
    with tri.target("sim:intel:pvc"):
        kernel = matmul[(1, 1)](
            a, b, c, 64, 64, 64, 64, 64, 64, False, False, False, 64, 64, 32, num_warps=8, path="auto"
        )
    assert path_of(kernel)[0] == "simd"
    np.testing.assert_array_equal(c, a.astype("f8") @ b.astype("f8"))


def test_what_the_simd_path_cannot_carry_says_why() -> None:
    path, said = path_of(compiled("fp32"))
    assert path == "simt"
    assert "tt.dot: no instruction multiplies f32 by f32 to f32 with input_precision='ieee'" in said
    assert "simd_support.py" in said


@tri.jit
def added(x_ptr, out_ptr, SIZE: tl.constexpr):
    """No dot."""
    offsets = tl.arange(0, SIZE)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) + 1)


def test_kernels_without_dots_are_those_of_simt() -> None:
    given = tri.ASTSource(added, {"x_ptr": "*fp32", "out_ptr": "*fp32", "SIZE": "constexpr"}, {"SIZE": 64})
    made, plain = (
        tri.compile(given, target="intel:pvc", options={"path": path}) for path in ("auto", "simt")
    )
    assert path_of(made) == ("simt", "path: simt, for the kernel has no dot")
    assert made.asm["spv"] == plain.asm["spv"]


@pytest.mark.parametrize(("target", "options"), [("intel:dg2", {}), ("intel:pvc", {"warp_size": 32})])
def test_where_no_kernel_can_take_the_simd_path_there_is_no_choice(
    target: str, options: dict[str, Any]
) -> None:
    assert "path" not in compiled(target=target, warps=8, **options).metadata.attrs


SIGNATURE = "*{0}:16, *{0}:16, *fp32:16, i32, i32, i32, i32:16, i32:16, i32:16, 0, 0, 0, 64, 64, 32"


@pytest.mark.parametrize(
    ("file", "signature", "said"),
    [
        (f"{simd_support.__file__}:matmul", SIGNATURE.format("fp16"), "path: simt, of a step of the kernel's loop: simd "),
        (f"{simd_support.__file__}:matmul", SIGNATURE.format("fp32"), "path: simt, for the SIMD path has no tt.dot: "),
        (f"{__file__}:added", "*fp32, *fp32, 64", "path: simt, for the kernel has no dot"),
    ],
    ids=["cost", "refused", "no dot"],
)  # fmt: skip
def test_explain_says_which_path_and_why(file: str, signature: str, said: str) -> None:
    options = ["-t", "intel:pvc", "-s", signature, "-O", "path=auto", "-O", "num_warps=8"]
    result = CliRunner().invoke(app, ["explain", file, *options])
    assert result.exit_code == 0, result.output
    title, *lines = result.output.splitlines()
    assert title.endswith("for intel:pvc")
    (line,) = (each.strip() for each in lines if each.strip().startswith("path:"))
    assert line.startswith(said)
