"""Tables of notebooks."""

from __future__ import annotations

from tri_core.notebooks import html_table


def test_text_is_escaped() -> None:
    found = html_table(["a<b"], [["<script>", 1]], "t&u")
    assert "<caption>t&amp;u</caption>" in found
    assert "<th>a&lt;b</th>" in found
    assert "<td>&lt;script&gt;</td><td>1</td>" in found


def test_what_is_empty_is_left_out() -> None:
    assert html_table([], [["x"]]) == "<table><tbody><tr><td>x</td></tr></tbody></table>"
