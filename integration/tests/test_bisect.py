"""``tri opt --bisect``: the pass that makes a kernel wrong is found, and kernels are right with the required passes alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import ml_dtypes
import numpy as np
import pytest

import tri
import tri.language as tl
from integration.changes import MANDATORY, passes_of
from tri_core import knobs, mlir
from tri_core.compiler.optimize import known_passes

#: a pass behind ``coalesce`` turns additions of floats into subtractions
PLANTED = dedent(
    """
    import sys
    from dataclasses import dataclass
    from typing import ClassVar

    import numpy as np

    import tri
    import tri.language as tl
    from integration.changes import Change, changed
    from tri_core.api import Pass
    from tri_core.ir.walking import collect
    from tri_core.mlir import ir

    @dataclass(frozen=True)
    class Subtract(Pass):
        name: ClassVar[str] = "subtract"

        def apply(self, module, context):
            for op in collect(module.operation):
                if op.name == "arith.addf":
                    with ir.InsertionPoint(op), op.location:
                        made = ir.Operation.create("arith.subf", results=[op.results[0].type], operands=list(op.operands))
                    op.results[0].replace_all_uses_with(made.results[0])
                    op.erase()

    @tri.jit
    def add(x, y, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i) + tl.load(y + i))

    target = "sim:nvidia:sm_80"
    x, y, out = np.ones(64, np.float32), np.ones(64, np.float32), np.zeros(64, np.float32)
    with tri.target(target), changed(target, Change(more=Subtract(), at="ttgir.coalesce")):
        add[(1,)](x, y, out, BLOCK=64)
    sys.exit(not (out == 2).all())
    """
)
TOP = Path(__file__).parents[2]
TARGETS = (
    "cpu",
    "sim:nvidia:sm_80",
    "sim:nvidia:sm_90a",
    "sim:nvidia:sm_100a",
    "sim:nvidia:sm_80:level=text",
    "sim:nvidia:sm_90a:level=text",
    "sim:amd:gfx942",
    "sim:intel:pvc",
)


@tri.jit
def softmax(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=-float("inf"))
    above = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * n + i, above / tl.sum(above, 0), mask=i < n)


@tri.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK, BLOCK])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BLOCK, BLOCK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK, BLOCK])
    m, n = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        total = tl.dot(a.load([m, k]), b.load([k, n]), total)
    c.store([m, n], total.to(tl.float16))


@tri.jit
def scaled(a_ptr, scale_ptr, b_ptr, out_ptr):
    i, k, s = tl.arange(0, 32), tl.arange(0, 64), tl.arange(0, 2)
    a, b = tl.load(a_ptr + i[:, None] * 64 + k[None, :]), tl.load(b_ptr + k[:, None] * 32 + i[None, :])
    scale = tl.load(scale_ptr + i[:, None] * 2 + s[None, :])
    tl.store(out_ptr + i[:, None] * 32 + i[None, :], tl.dot_scaled(a, scale, "e4m3", b, None, "fp16"))


@tri.jit
def doubled(x):
    return x * 2


@tri.jit
def branches(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if n < 3:
        tl.store(out_ptr + i, tl.load(x_ptr + i))
        return
    tl.store(out_ptr + i, doubled(tl.load(x_ptr + i)))


@pytest.mark.parametrize("target", TARGETS)
def test_the_required_passes_alone_make_right_code(target: str) -> None:
    random = np.random.default_rng(1)
    with tri.target(target), knobs.scope(OPT_BISECT_LIMIT=0):
        x = random.standard_normal((4, 100)).astype(np.float32)
        out = np.full_like(x, np.nan)
        softmax[(4,)](x, out, 100, BLOCK=128)
        above = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        np.testing.assert_allclose(out, above / above.sum(1, keepdims=True), rtol=1e-5)

        a, b = (random.integers(-3, 4, (64, 64)).astype(np.float16) for _ in range(2))
        c = np.full((64, 64), np.nan, np.float16)
        product[(2, 2)](a, b, c, 64, 64, 64, BLOCK=32)
        np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))

        small = random.integers(-3, 4, (32, 64)).astype(ml_dtypes.float8_e4m3fn)
        right, out = (
            random.integers(-3, 4, (64, 32)).astype(np.float16),
            np.full((32, 32), np.nan, np.float32),
        )
        scaled[(1,)](small, np.full((32, 2), 128, np.uint8), right, out)
        np.testing.assert_array_equal(out, 2 * small.astype(np.float64) @ right.astype(np.float64))

        y, out = x[0, :64].copy(), np.full(64, np.nan, np.float32)
        branches[(1,)](y, out, 5, BLOCK=64)
        np.testing.assert_array_equal(out, 2 * y)


def test_what_programs_cannot_do_without_is_required() -> None:
    known_passes()
    assert all(mlir.registry.passes[name].required for name in MANDATORY)
    assert not mlir.registry.passes["pipeline"].required
    assert set(MANDATORY) <= set(passes_of("sim:nvidia:sm_90a"))


def test_a_planted_pass_is_found(tmp_path: Path) -> None:
    program = tmp_path / "planted.py"
    program.write_text(PLANTED)
    command = [sys.executable, "-m", "tri", "opt", "--bisect", f"{sys.executable} {program}"]
    paths = os.pathsep.join(filter(None, [str(TOP), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("subtract (pass ")
    assert "of stage ttgir) of add for sim:nvidia:sm_80" in done.stdout
    tried = done.stderr.splitlines()
    assert tried[:2] == ["all passes: wrong", "0 passes: right"]


@pytest.mark.parametrize(
    ("code", "words"),
    [("pass", "there is nothing to look for"), ("raise SystemExit(1)", "before a kernel is compiled")],
)
def test_what_cannot_be_looked_for(tmp_path: Path, code: str, words: str) -> None:
    (tmp_path / "program.py").write_text(code)
    command = [sys.executable, "-m", "tri", "opt", "--bisect", f"{sys.executable} {tmp_path / 'program.py'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert words in done.stderr
