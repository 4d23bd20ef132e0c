"""What the explorer reads from texts and files, and how it writes its page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tri.cli.sources import read_kernel
from tri.explore import Column, Page, Tab, Version, render
from tri.explore.encodings import find_uses
from tri.explore.excerpts import excerpts
from tri_core.errors import OptionError
from tri_core.listings import Listing, Place, plain

KERNEL = """
import tri
import tri.language as tl

@tri.jit
def doubled(x):
    return x * 2

@tri.jit
def scale(x_ptr, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + i, doubled(x), mask=i < n)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "explored.py"
    path.write_text(KERNEL)
    return path


def _data(page: str) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def _page(*texts: str) -> str:
    versions = tuple(Version(str(i), plain(text), {}) for i, text in enumerate(texts))
    tab = Tab("k<1>", "a:b", (), None, (), (Column("ir", versions),), (), ("a & b",))
    return render(Page("k<1> & co", (tab,)))


def test_a_version_is_stored_once_and_changes_lead_from_one_to_the_next() -> None:
    texts = ["a\nb\nc", "a\nb\nc", "a\nx\ny\nc", "a\nc\nd"]
    (tab,) = _data(_page(*texts))
    first, same, *later = tab["columns"][0]["versions"]
    assert same["same"]
    assert "lines" not in same
    assert first["changes"] == []
    before = first["lines"]
    for text, version in zip(texts[2:], later, strict=True):
        made, at = [], 0
        for i, j, k, m in version["changes"]:
            made += before[at:i] + version["lines"][k:m]
            at = j
        assert made + before[at:] == version["lines"]
        assert [tab["lines"][n][0] for n in version["lines"]] == text.split("\n")
        before = version["lines"]
    assert len(tab["lines"]) == 6


def test_texts_cannot_end_the_script_nor_become_elements() -> None:
    text = "<!--</script><script>alert(1)</script>"
    page = _page(text)
    (tab,) = _data(page)
    assert tab["lines"][0][0] == text
    assert page.count("</script>") == 2
    assert "<title>k&lt;1&gt; &amp; co</title>" in page
    assert "a &amp; b" in page


def test_lines_share_places_of_the_same_lines() -> None:
    places = ((Place("f.py", 1, 5),), (Place("f.py", 1, 9),), (Place("f.py", 2, 1), Place("f.py", 1, 1)))
    tab = Tab(
        "k", "a:b", (), None, (), (Column("ir", (Version("x", Listing(("a", "a", "b"), places), {}),)),), ()
    )
    (data,) = _data(render(Page("k", (tab,))))
    assert data["files"] == ["f.py"]
    assert data["places"] == [[[0, 1]], [[0, 2], [0, 1]]]
    assert data["columns"][0]["versions"][0]["lines"] == [0, 0, 1]


def test_a_file_with_one_kernel_needs_no_name(file: Path) -> None:
    assert read_kernel(str(file)).__name__ == "scale"
    file.write_text(KERNEL + KERNEL.replace("scale", "other"))
    with pytest.raises(OptionError, match="has 2 kernels") as caught:
        read_kernel(str(file))
    assert "scale, other" in str(caught.value.remedy)


def test_encodings_are_found_with_their_shapes() -> None:
    parent = "#ttg.blocked<{order = [1, 0]}>"
    found = find_uses(f"""#blocked = {parent}
#shared = #ttg.swizzled_shared<{{vec = 1}}>
#smem = #ttg.shared_memory
%a = x : tensor<8x!tt.ptr<f32>, #ttg.slice<{{dim = 1, parent = #blocked}}>> -> tensor<8x4xf16, #blocked>
%b = y : !ttg.memdesc<2x8x4xf16, #shared, #smem, mutable>, tensor<4xi32>, f32
""")
    slice_ = f"#ttg.slice<{{dim = 1, parent = {parent}}}>"
    assert found.definitions == {
        "#ttg.slice<{dim = 1, parent = #blocked}>": slice_,
        "#blocked": parent,
        "#shared": "#ttg.swizzled_shared<{vec = 1}>",
    }
    assert found.shapes == {
        (slice_, (8,)),
        (parent, (8, 4)),
        ("#ttg.swizzled_shared<{vec = 1}>", (2, 8, 4)),
    }


def test_excerpts_of_files_that_cannot_be_read(tmp_path: Path) -> None:
    short = tmp_path / "short.py"
    short.write_text("a = 1\n")
    broken = tmp_path / "broken.py"
    broken.write_text("def f(:\n  x\n")
    places = [Place(str(tmp_path / "gone.py"), 3), Place(str(short), 9), Place(str(broken), 2)]
    gone, changed, whole = excerpts([Listing(("a", "b", "c"), tuple((p,) for p in places))], {})
    assert "No such file" in gone.note
    assert "line 9 is named: it was changed" in changed.note
    assert whole.lines == ("def f(:", "  x", "")
