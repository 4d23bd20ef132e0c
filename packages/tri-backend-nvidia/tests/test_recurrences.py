"""Recurrences: what a step loads is there before it begins."""

from __future__ import annotations

import re
from typing import Any

import tri
import tri.language as tl


@tri.jit
def recurrence(k: Any, v: Any, g: Any, o: Any, n: Any) -> None:
    rows = tl.arange(0, 32)
    columns = tl.arange(0, 32)
    state = tl.zeros((32, 32), tl.float32)
    for t in range(n):
        key = tl.load(k + t * 32 + rows)
        value = tl.load(v + t * 32 + columns)
        decay = tl.load(g + t)
        state = state * decay + key[:, None] * value[None, :]
        tl.store(o + t * 32 + columns, tl.sum(state * key[:, None], 0))


def test_no_step_waits_for_its_own_loads() -> None:
    """Rows are copied; the number is loaded with a mask, off past the end of the loop: it is of a step that may not be there."""
    signature = dict.fromkeys("kvgo", "*fp32") | {"n": "i32"}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(4)}
    source = tri.ASTSource(recurrence, signature, {}, aligned)
    kernel = tri.compile(source, target="nvidia:sm_90a", options={"num_warps": 1, "num_stages": 3})
    _, _, loop = kernel.asm["ttgir"].partition("scf.for")
    assert "ttg.async_copy_global_to_local" in loop
    (decay,) = re.findall(r"tt.load (.*?) :", loop)
    assert "," in decay
    assert "cp.async" in kernel.asm["ptx"]
