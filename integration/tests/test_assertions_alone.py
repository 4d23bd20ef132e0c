"""``debug=True`` with ``sanitize_overflow=False``, as PyTorch's Inductor compiles: the program's assertions and nothing else."""

# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="no-untyped-def"

from __future__ import annotations

import re
from typing import Any

import pytest

import tri
import tri.language as tl


@tri.jit
def scaled(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(o + i, value * 3 + n, mask=i < n)


@pytest.mark.parametrize(
    "target", ["cpu", "nvidia:sm_80", "nvidia:sm_90a", "amd:gfx942", "amd:gfx1100", "intel:pvc"]
)
def test_a_kernel_without_assertions_is_the_same(target: str) -> None:
    def text(**options: Any) -> str:
        source = tri.ASTSource(scaled, {"x": "*i32", "o": "*i32", "n": "i32"}, {"BLOCK": 128})
        found = str(tri.compile(source, target, options).asm["llir"])
        return re.sub(r"debug|sanitize_overflow", "", found)

    assert text(debug=True, sanitize_overflow=False) == text(debug=False, sanitize_overflow=False)
    if not target.startswith("intel"):  # which has no assertions
        assert text(debug=True, sanitize_overflow=True) != text(debug=False, sanitize_overflow=False)
