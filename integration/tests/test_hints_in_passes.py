"""Hints of plugins on loads and stores go through each pass over TTIR and TTGIR, whatever it makes of the access."""

from __future__ import annotations

import random

import pytest

import tri
import tri.language as tl
from integration.programs.code import code
from integration.programs.table import choices_of, sample
from integration.tests import hinted_accesses
from integration.tests.hinted_accesses import hinted
from tri.compiler.source import ASTSource

_PROGRAMS = 5


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hinted_accesses, "found", set())


@pytest.mark.parametrize(
    ("target", "forms"),
    [
        ("nvidia:sm_80", {"tt.load", "tt.store", "ttg.async_copy_global_to_local"}),
        ("nvidia:sm_90a", {"ttg.async_copy_descriptor_to_local", "ttg.async_copy_local_to_descriptor"}),
        ("amd:gfx942", {"amdg.buffer_load"}),
        ("intel:bmg", {"ttig.tile_load"}),
    ],
)
def test_programs(target: str, forms: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each access of matmuls and attention, after each pass; ``forms`` are ops that the passes make of them."""
    with hinted(monkeypatch):
        for choice in random.Random(7).sample(sample(choices_of(target)), _PROGRAMS):
            texts = code(target, choice)
            assert not any("has lost" in text for text in texts), texts
    assert forms <= hinted_accesses.found


@tri.jit
def blocks(x: tl.tensor, out: tl.tensor, n: tl.tensor, N: tl.constexpr) -> None:
    """Blocks through descriptors outside of loops, and selected, grown and invariant loads."""
    source = tl.make_tensor_descriptor(x, [N, N], [N, 1], [N, N])
    target = tl.make_tensor_descriptor(out, [N, N], [N, 1], [N, N])
    i = tl.arange(0, N)
    row = tl.load(x + i, mask=i < n)
    row = tl.where(i < n, row, 1.0)
    for k in range(n):
        row += tl.load(x + i * 0 + n, mask=(i * 0 + k) < n, other=0.0)
    target.store([0, 0], source.load([0, 0]) + row[None, :])


@pytest.mark.parametrize("target", ["cpu", "nvidia:sm_80", "nvidia:sm_90a", "amd:gfx942", "intel:pvc"])
def test_blocks_through_descriptors(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with hinted(monkeypatch):
        source = ASTSource(blocks, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"N": 32})
        tri.compile(source, target=target)
    assert {"tt.load", "tt.descriptor_load", "tt.descriptor_store"} <= hinted_accesses.found
