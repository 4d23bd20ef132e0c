"""Backends from outside: a good one is found with no change to core, a broken one harms nobody."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from integration.tests.conftest import Environment

KERNELS = dedent(
    """
    import sys
    import numpy as np
    import tri
    import tri.language as tl

    @tri.jit
    def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)

    @tri.jit
    def softmax(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
        columns = tl.arange(0, BLOCK)
        row = tl.program_id(0) * n
        x = tl.load(x_ptr + row + columns, mask=columns < n, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row + columns, e / tl.sum(e, axis=0), mask=columns < n)

    @tri.jit
    def assembly(out_ptr):
        tl.store(out_ptr, tl.inline_asm_elementwise("nop", "=r", [], tl.int32, True, 1))

    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 1000), dtype=np.float32)
    rows = rng.standard_normal((7, 100), dtype=np.float32)
    for name in sys.argv[1:]:
        with tri.target(name):
            out = np.full_like(x, np.nan)
            add[(tri.cdiv(1000, 128),)](x, y, out, 1000, BLOCK=128)
            np.testing.assert_array_equal(out, x + y)
            out = np.full_like(rows, np.nan)
            softmax[(7,)](out, rows, 100, BLOCK=128)
            e = np.exp(rows.astype(np.float64) - rows.max(axis=1, keepdims=True))
            np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=1e-5)
            print(name, "is right")
    """
)

REFUSED = KERNELS + dedent(
    """
    try:
        with tri.target("toy"):
            assembly[(1,)](np.zeros(1, np.int32))
    except tri.errors.Unsupported as error:
        print("refused:", error)
    """
)


@pytest.fixture(scope="module")
def environment_with_toy(fresh_environment: Environment, toy_wheel: Path) -> Environment:
    fresh_environment.install(toy_wheel)
    # a kernel needs source in a file
    (fresh_environment.root / "kernels.py").write_text(KERNELS)
    (fresh_environment.root / "refused.py").write_text(REFUSED)
    return fresh_environment


def test_toy_backend_is_found_and_runs_kernels(environment_with_toy: Environment) -> None:
    output = environment_with_toy.run("kernels.py", "toy", "cpu")
    assert "toy is right" in output
    assert "cpu is right" in output


def test_toy_backend_is_listed(environment_with_toy: Environment) -> None:
    listing = environment_with_toy.run("-m", "tri", "plugins", COLUMNS="200")
    for name in (
        "tri-backend-toy",
        "tri-backend-cpu",
        "tri-backend-nvidia",
        "tri-backend-amd",
        "tri-backend-intel",
    ):
        assert name in listing
    assert "quarantined" not in listing


def test_toy_backend_refuses_with_a_location(environment_with_toy: Environment) -> None:
    output = environment_with_toy.run("refused.py")
    assert "refused: inline assembly on toy:t1" in output
    assert "refused.py:" in output
    assert "remedy:" in output


@pytest.mark.parametrize(
    ("broken_plugin", "reason"),
    [
        ("import_error", "a_module_that_does_not_exist"),
        ("too_new_api", "999"),
        ("unknown_hook", "tri_pipelines"),
        ("duplicate_name", "broken"),
        ("raising_hook", "the toaster is on fire"),
    ],
    indirect=["broken_plugin"],
)
def test_broken_plugin_is_quarantined(
    environment_with_toy: Environment, broken_plugin: Path, reason: str
) -> None:
    output = environment_with_toy.run("-W", "always", "kernels.py", "toy", "cpu", extra_path=broken_plugin)
    assert "toy is right" in output
    assert "cpu is right" in output
    assert output.count("quarantine") == 1
    assert reason in output
    listing = environment_with_toy.run("-m", "tri", "plugins", extra_path=broken_plugin, COLUMNS="300")
    assert "quarantined" in listing
    assert "tri-backend-broken" in listing
