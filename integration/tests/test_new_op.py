"""An elementwise op of a third party: a few edits in its own package, and every part of the system takes it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from integration.tests.conftest import TOP, Environment, build_wheel

#: edits by hand that an elementwise op may take from end to end
MOST_EDITS = 6


@dataclass(frozen=True)
class Edit:
    """``text`` at the end of ``file``."""

    file: str
    text: str


#: all that a new op takes: what it is and means, and its name in kernels
EDITS = (
    Edit(
        "ops.py",
        '''

        class SoftsignOp(Act.Operation, name="softsign", traits=[Pure, Elementwise, Decomposable]):
            """``x / (1 + |x|)``."""

            x: ext.Operand[Any]
            result: ext.Result[Any]

            def decompose(self) -> ir.Value:
                """An addition and a division."""
                below = compute("arith.addf", splat(self.x, 1.0), compute("math.absf", self.x))
                return compute("arith.divf", self.x, below)
        ''',
    ),
    Edit(
        "language.py",
        '''

        @tl.builtin
        def softsign(x, *, _semantic):
            """``x / (1 + |x|)``, elementwise."""
            return _semantic.value("act.softsign", x.type, x)
        ''',
    ),
)

KERNELS = dedent(
    """
    import sys
    import numpy as np
    import tri
    import tri.language as tl

    @tri.jit
    def elements(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
        first = tl.extra.act.softsign(tl.load(x_ptr))
        tl.store(out_ptr + offsets, tl.extra.act.softsign(x) + tl.extra.act.square(first), mask=offsets < n)

    @tri.jit
    def dots(a_ptr, b_ptr, out_ptr, K, N: tl.constexpr, BLOCK: tl.constexpr):
        rows, k = tl.arange(0, N)[:, None], tl.arange(0, BLOCK)
        total = tl.zeros((N, N), tl.float32)
        for start in range(0, K, BLOCK):
            a = tl.load(a_ptr + rows * K + start + k[None, :])
            b = tl.load(b_ptr + (start + k[:, None]) * N + tl.arange(0, N)[None, :])
            total = tl.dot(tl.extra.act.softsign(a), b, total)
        tl.store(out_ptr + rows * N + tl.arange(0, N)[None, :], total)

    rng = np.random.default_rng(1)
    x = rng.standard_normal(1000, dtype=np.float32)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, 256), (256, 64)))

    def softsign(v):
        v = v.astype(np.float64)
        return v / (1 + abs(v))

    for name in sys.argv[1:]:
        with tri.target(name):
            out = np.full_like(x, np.nan)
            elements[(8,)](x, out, 1000, BLOCK=128)
            np.testing.assert_allclose(out, softsign(x) + softsign(x[:1]) ** 2, rtol=1e-6, atol=1e-6)
            out = np.full((64, 64), np.nan, np.float32)
            dots[(1,)](a, b, out, 256, N=64, BLOCK=64)
            np.testing.assert_allclose(out, softsign(a) @ b.astype(np.float64), rtol=1e-2, atol=2e-2)
            print(name, "is right")
    """
)

PIPELINED = KERNELS + dedent(
    """
    signature = {"a_ptr": "*fp16", "b_ptr": "*fp16", "out_ptr": "*fp32", "K": "i32"}
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(4)}
    source = tri.ASTSource(fn=dots, signature=signature, constexprs={"N": 64, "BLOCK": 64}, attrs=attrs)
    text = tri.compile(source, target="nvidia:sm_80").asm["ttgir"]
    print(*(f"{text.count(op)} {op}" for op in ("act.softsign", "tt.load", "async_copy_global_to_local")))
    """
)

TARGETS = ("cpu", "sim:nvidia:sm_80", "sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:intel:pvc")


@pytest.fixture(scope="module")
def environment_with_op(
    fresh_environment: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Environment:
    project = tmp_path_factory.mktemp("new_op") / "project"
    shutil.copytree(TOP / "integration" / "new_op", project)
    for edit in EDITS:
        with (project / "src" / "tri_activations" / edit.file).open("a") as file:
            file.write(dedent(edit.text))
    fresh_environment.install(build_wheel(project, project.parent / "wheels"))
    (fresh_environment.root / "new_op.py").write_text(KERNELS)
    (fresh_environment.root / "new_op_pipelined.py").write_text(PIPELINED)
    return fresh_environment


def test_a_new_op_takes_few_edits() -> None:
    assert len(EDITS) <= MOST_EDITS


@pytest.mark.parametrize("target", TARGETS)
def test_a_new_op_runs_everywhere(environment_with_op: Environment, target: str) -> None:
    assert f"{target} is right" in environment_with_op.run("new_op.py", target)


def test_a_new_op_runs_in_the_interpreter(environment_with_op: Environment) -> None:
    assert "cpu is right" in environment_with_op.run("new_op.py", "cpu", TRI_INTERPRET="1")


def test_a_new_op_is_pipelined(environment_with_op: Environment) -> None:
    """Its declaration is enough for its operand's load to be copied ahead, like the other's."""
    output = environment_with_op.run("new_op_pipelined.py")
    counts = {op: int(count) for count, op in zip(output.split()[::2], output.split()[1::2], strict=True)}
    assert counts["act.softsign"] > 0
    assert counts["tt.load"] == 0
    assert counts["async_copy_global_to_local"] > 0


def test_an_op_without_meaning_is_refused(environment_with_op: Environment, tmp_path: Path) -> None:
    site = tmp_path / "site"
    project = tmp_path / "project"
    shutil.copytree(TOP / "integration" / "new_op", project)
    ops = project / "src" / "tri_activations" / "ops.py"
    ops.write_text(
        ops.read_text().replace("traits=[Pure, Elementwise, Decomposable]", "traits=[Pure, Elementwise]")
    )
    shutil.unpack_archive(build_wheel(project, tmp_path / "wheels"), site, "zip")
    script = KERNELS.replace("softsign(x) +", "square(x) +").replace("softsign(tl.load", "square(tl.load")
    refused = script.split("rng =")[0] + dedent(
        """
        for name in sys.argv[1:]:
            with tri.target(name):
                try:
                    elements[(1,)](np.ones(128, np.float32), np.ones(128, np.float32), 128, BLOCK=128)
                except tri.errors.Unsupported as error:
                    print(name, "refused:", error)
        """
    )
    (environment_with_op.root / "refused_op.py").write_text(refused)
    output = environment_with_op.run("refused_op.py", *TARGETS, extra_path=site)
    assert output.count("refused:") == len(TARGETS)
    assert output.count("act.square") >= len(TARGETS)
    assert output.count("refused_op.py:") == len(TARGETS)
