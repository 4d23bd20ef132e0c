"""Random kernels agree on the targets that execute here; ``nox -s random`` runs thousands of them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, seed, settings

from integration.random_kernels import running
from integration.random_kernels.productions import EPSILON, FUNCTIONS, call_of
from integration.random_kernels.program import HEADER, RandomKernel, Stored
from integration.random_kernels.running import Disagreement, check
from integration.random_kernels.strategy import random_kernels

_FEW = settings(max_examples=30, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@seed(20261120)
@_FEW
@given(random_kernels())
def test_targets_agree(kernel: RandomKernel) -> None:
    check(kernel, ["cpu", "interpreter", "intel"])


@pytest.mark.parametrize("data", ["float32", "int16", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_function_agrees(dtype: str, data: str) -> None:
    """Each function of the generator's table, on quarters, on numbers and on huge ones."""
    lines = [
        f"    x = tl.load(x0 + tl.arange(0, 64)).to(tl.{dtype})",
        "    y = tl.load(x1 + tl.arange(0, 64))",
    ]
    lines += [
        f"    tl.store(out{i} + tl.arange(0, 64), {call_of(name, 'x', f'y.to(tl.{dtype})')})"
        for i, name in enumerate(FUNCTIONS)
    ]
    outputs = tuple(Stored(f"out{i}", dtype, 64, 64 * EPSILON[dtype]) for i in range(len(FUNCTIONS)))
    names = ", ".join(o.name for o in outputs)
    source = HEADER + f"\n\n@tri.jit\ndef kernel(x0, x1, {names}, n, flag):\n" + "\n".join(lines) + "\n"
    kernel = RandomKernel(source, (data, "float32"), outputs, 0, 0, 2, seed=4)
    check(kernel, ["cpu", "interpreter", "intel"])


@seed(20261121)
@settings(_FEW, max_examples=10)
@given(random_kernels())
def test_simulated_targets_agree(kernel: RandomKernel) -> None:
    """What a target refuses is left out; the sweep of ``nox -s random`` counts it."""
    targets = ["cpu", "sim:nvidia:sm_80", "sim:amd:gfx1100", "sim:intel:pvc"]
    check(kernel, targets, lambda target, error: None)


def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison finds one element of an output that differs."""
    source = (
        "import tri\nimport tri.language as tl\n\n\n@tri.jit\ndef kernel(x0, out0, n, flag):\n"
        "    tl.store(out0 + tl.arange(0, 16), tl.arange(0, 16) + n)\n"
    )
    kernel = RandomKernel(source, ("int32",), (Stored("out0", "int32", 16, 0.0),), 1, 0, 1, 0)
    check(kernel, ["cpu", "cpu"])
    right = running.run(kernel, "cpu")
    wrong = [right[0].copy()]
    wrong[0][7] += 1
    monkeypatch.setattr(running, "run", lambda kernel, target: right if target == "cpu" else wrong)
    with pytest.raises(Disagreement, match=r"disagree in out0 \(int32\) at \[7\]"):
        check(kernel, ["cpu", "intel"])
