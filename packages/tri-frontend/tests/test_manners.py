"""Two versions of Triton differ in types of results and in what programs see; a setting chooses."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.compat import triton as compat
from tri.manners import version
from tri_core import knobs, plugins
from tri_core.errors import OptionError
from tri_core.plugins import PluginManager, candidate_of


@pytest.fixture(autouse=True)
def _cpu(tmp_path: Path) -> Iterator[None]:
    cpu = importlib.import_module("tri_backend_cpu.plugin")
    with plugins.use(PluginManager([candidate_of(cpu)])), knobs.scope(CACHE_DIR=tmp_path / "cache"):
        yield


@pytest.mark.parametrize(("given", "meant"), [("3.6", "3.6.0"), ("3.6.2", "3.6.0"), ("3.9.0", "3.9.0")])
def test_programs_see_a_version(monkeypatch: pytest.MonkeyPatch, given: str, meant: str) -> None:
    monkeypatch.setenv("TRI_TRITON_VERSION", given)
    with compat.installed():
        theirs: Any = importlib.import_module("triton")
        assert theirs.__version__ == importlib.metadata.version("triton") == version() == meant
        with knobs.scope(TRITON_VERSION="3.6.0"):
            assert theirs.__version__ == "3.6.0"


@pytest.mark.parametrize("given", ["3.7", "3.60", "new"])
def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("TRI_TRITON_VERSION", given)
    with pytest.raises(OptionError, match=r"write 3\.9 or 3\.6"):
        version()
    monkeypatch.delenv("TRI_TRITON_VERSION")
    with knobs.scope(TRITON_VERSION=given), pytest.raises(OptionError, match=r"write 3\.9 or 3\.6"):
        version()


@tri.jit
def sums(out_ptr, x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    wide: tl.constexpr = tl.sum(x).dtype == tl.float32
    tl.static_assert((tl.cumsum(x).dtype == tl.float32) == wide)
    tl.static_assert((tl.cumprod(x).dtype == tl.float32) == wide)
    tl.static_assert(tl.sum(x, dtype=tl.bfloat16).dtype == tl.bfloat16)
    tl.static_assert(tl.sum(x.to(tl.float16)).dtype == tl.float16)
    tl.store(out_ptr, tl.sum(x).to(tl.float32))
    tl.store(out_ptr + 1, wide)


@pytest.mark.parametrize("interpreted", [False, True])
def test_sums_of_bfloat16(interpreted: bool) -> None:
    # 1 and fifteen times 1 + 1/128: a bfloat16 near 16 is a multiple of 1/8
    bits = np.array([0x3F80, *[0x3F81] * 15], np.uint16)
    x = tri.reinterpret(bits, tl.bfloat16)
    found = {}
    for given in ("3.9", "3.6", "3.9"):  # one kernel, whose versions are kept apart
        out = np.zeros(2, np.float32)
        with knobs.scope(TRITON_VERSION=given):
            if interpreted:
                with tri.interpret():
                    sums[(1,)](out, x)
            else:
                sums[(1,)](out, x)
        found[given] = out.tolist()
    assert found["3.6"] == [16 + 15 / 128, 1.0]
    assert found["3.9"] == [16.125, 0.0]
