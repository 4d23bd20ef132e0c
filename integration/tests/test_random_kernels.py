"""Random kernels agree on the targets that execute here; ``nox -s random`` runs thousands of them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, seed, settings

from integration.random_kernels import running
from integration.random_kernels.program import RandomKernel, Stored
from integration.random_kernels.running import Disagreement, check
from integration.random_kernels.strategy import random_kernels

_FEW = settings(max_examples=30, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@seed(20261120)
@_FEW
@given(random_kernels())
def test_targets_agree(kernel: RandomKernel) -> None:
    check(kernel, ["cpu", "interpreter", "intel"])


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
