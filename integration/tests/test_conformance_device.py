"""The kit on a device whose runtime refuses host arrays: they are held in the runtime's own memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_conformance import Selection, Subject, cases, judge
from tri_core import plugins
from tri_core.errors import LaunchError
from tri_runtime import Buffer

#: arrays of types that few libraries know, in descriptors and in tuples, and ones that start anywhere
CASES = (
    "language/add/int32-1000*",
    "language/load-store/fp8e5-37*",
    "language/cast-to-bf16/fp32*",
    "language/descriptor-of-host/fp16-16x32*",
    "language/tuple/int32-64*",
    "runtime/alignment",
    "runtime/host-arrays",
    "runtime/wrong-arguments",
)


@pytest.fixture
def subject(monkeypatch: pytest.MonkeyPatch) -> Subject:
    """A device that is there, made as strict as GPUs are."""
    if not plugins.manager().probe("intel"):
        pytest.skip("no device of intel")
    found = Subject("intel")
    monkeypatch.setattr(found.runtime, "host_memory", "refused")
    return found


def test_cases_pass_without_host_arrays(subject: Subject) -> None:
    picked, _ = cases(Selection(select=CASES))
    assert len(picked) >= len(CASES)
    for case in picked:
        result = judge(case, subject)
        assert result.verdict == "passed", (case.id, result.detail)


def test_a_host_array_is_refused_where_the_kit_does_not_help(subject: Subject) -> None:
    with tri.target("intel"), pytest.raises(LaunchError, match="host memory"):
        plus_one[(1,)](np.zeros(64, np.float32), B=64, num_warps=2)


@tri.jit
def plus_one(x: Any, B: tl.constexpr) -> None:
    i: Any = tl.arange(0, B)
    value: Any = tl.load(x + i)
    tl.store(x + i, value + 1)


def test_a_buffer_is_an_argument(subject: Subject) -> None:
    """No array library at all: its address, its type and its device say everything."""
    x = np.random.default_rng(3).standard_normal(64).astype(np.float32)
    runtime, device = subject.runtime, subject.device
    with Buffer(runtime.memory(device), x.nbytes, device) as buffer:  # type: ignore[attr-defined]
        buffer.copy_from(x.ctypes.data)
        plus_one[(1,)](buffer.argument("fp32"), B=64)
        runtime.synchronize()
        made = np.zeros_like(x)
        buffer.copy_to(made.ctypes.data)
    np.testing.assert_array_equal(made, x + 1)
