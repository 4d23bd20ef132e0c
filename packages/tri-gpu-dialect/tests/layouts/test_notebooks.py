"""What notebooks show of layouts and encodings."""

from __future__ import annotations

from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.layouts import LinearLayout


def test_a_layout_shows_its_bases() -> None:
    found = LinearLayout.identity1d(4, "lane", "<dim0>")._repr_html_()
    assert "<th>input</th><th>bit</th><th>&lt;dim0&gt; (4)</th>" in found
    assert "<tr><td>lane</td><td>1</td><td>1</td></tr><tr><td>lane</td><td>2</td><td>2</td></tr>" in found


def test_an_encoding_shows_its_parameters() -> None:
    found = Blocked((1, 4), (4, 8), (4, 1), (1, 0))._repr_html_()
    assert "<caption>Blocked</caption>" in found
    assert "<td>warpsPerCTA</td><td>[4, 1]</td>" in found
