"""The walks of Hopper kernels are what ``python -m integration.walk_hopper`` writes, from source to machine code."""

from __future__ import annotations

import pytest

from integration.walk_hopper import WALKS, Walk, page


@pytest.mark.parametrize("walk", WALKS, ids=lambda w: w.file)
def test_the_page_is_current_and_complete(walk: Walk) -> None:
    text = page(walk)
    assert walk.path.read_text() == text, "run python -m integration.walk_hopper"
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings[1:-3] == [f"## After `{name}`" for name in walk.passes]
    assert "`wgmma.mma_async" in text
    assert "ttg.warp_specialize" in text
