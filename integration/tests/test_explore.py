"""``tri explore`` on every backend: what the page holds."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tri.cli.app import app

KERNEL = """
import tri
import tri.language as tl

@tri.jit
def doubled(x):
    return x * 3.5

@tri.jit
def scale(x_ptr, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + i, doubled(x), mask=i < n)
"""
SIGNATURE = "*fp32:16, i32, 32"
#: rows of unknown alignment: no pass copies them ahead, and each says so
UNALIGNED = """
import tri
import tri.language as tl

@tri.jit
def unaligned(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tile = i[:, None] * n + i[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n, BLOCK):
        total = tl.dot(tl.load(a_ptr + tile + k), tl.load(b_ptr + tile + k * n), total)
    tl.store(c_ptr + tile, total)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "explored.py"
    path.write_text(KERNEL)
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["explore", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.output


def data_of(page: Path) -> list[Any]:
    """The tabs' data."""
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page.read_text(), re.S)
    assert found is not None
    tabs: list[Any] = json.loads(found[1])
    return tabs


def text_of(tab: Any, column: str, version: int = -1) -> list[str]:
    """The lines of a column's version."""
    (versions,) = [c["versions"] for c in tab["columns"] if c["name"] == column]
    at = version % len(versions)
    while versions[at].get("same"):
        at -= 1
    return [tab["lines"][n][0] for n in versions[at]["lines"]]


def linked(tab: Any, column: str, version: int, part: str) -> set[tuple[str, int]]:
    """Files' names and lines of the places of the lines that contain ``part``."""
    (versions,) = [c["versions"] for c in tab["columns"] if c["name"] == column]
    at = version % len(versions)
    while versions[at].get("same"):
        at -= 1
    numbers = [tab["lines"][n] for n in versions[at]["lines"]]
    return {
        (Path(tab["files"][f]).name, line)
        for text, p in numbers
        if part in text
        for f, line in tab["places"][p]
    }


def test_a_page_with_all_passes(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run(f"{file}:scale", "-t", "cpu", "-s", SIGNATURE, "-o", page).strip() == str(page)
    (tab,) = data_of(page)
    assert [c["name"] for c in tab["columns"]][:2] == ["ttir", "llir"]
    titles = [v["title"] for v in tab["columns"][0]["versions"]]
    assert titles[0] == "as built"
    assert titles.index("inline") < titles.index("canonicalize") < titles.index("licm")
    assert len(text_of(tab, "ttir", 0)) > len(text_of(tab, "ttir"))
    assert not any("loc(" in line for line in text_of(tab, "ttir"))
    assert linked(tab, "ttir", -1, "arith.mulf") == {("explored.py", 7), ("explored.py", 13)}
    assert linked(tab, "ttir", -1, "tt.load") == {("explored.py", 12)}


def test_signatures_and_targets_are_tabs(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(file, "-t", "cpu", "-s", SIGNATURE, "-s", "*fp32, i32, 64", "-o", page)
    tabs = data_of(page)
    assert len(tabs) == 2
    assert any("tensor<64xf32>" in line for line in text_of(tabs[1], "ttir"))
    assert page.read_text().count('role="tab"') >= 2


def test_the_source_has_the_functions_that_were_used(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(file, "-t", "cpu", "-s", SIGNATURE, "-o", page)
    (tab,) = data_of(page)
    (source,) = tab["sources"]
    assert source["first"] == 5
    assert "@tri.jit" in source["lines"][0]
    assert source["lines"][7 - source["first"]] == "    return x * 3.5"


def test_ir_is_its_own_source(tmp_path: Path) -> None:
    text = """module {
  tt.func public @k(%n: i32) {
    %a = arith.muli %n, %n : i32
    tt.assert %n, "<!--</script>" : i1
    tt.return
  }
}
""".replace(
        'tt.assert %n, "<!--</script>" : i1',
        'tt.print "<!--</script>: " {hex = false, isSigned = array<i32: 1>} : %a : i32',
    )
    file = tmp_path / "k.ttir"
    file.write_text(text)
    page = tmp_path / "page.html"
    run(file, "-t", "cpu", "-o", page)
    (tab,) = data_of(page)
    (source,) = tab["sources"]
    assert source["lines"] == text.split("\n")
    assert linked(tab, "ttir", 0, "arith.muli") == {("k.ttir", 3)}
    assert "<!--</script>" in "".join(text_of(tab, "ttir"))


def test_the_page_fetches_nothing(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(file, "-t", "cpu", "-s", SIGNATURE, "-o", page)
    text = page.read_text()
    assert "default-src 'none'" in text
    assert not re.search(r"<(?:link|img|iframe)\b|<script[^>]* src|@import|url\(|https?://", text)


#: the columns of each target's page, and the instruction that loads in the last one with lines
TARGETS = {
    "nvidia:sm_90a": (["ttir", "ttgir", "llir", "ptx"], "ptx", "ld.global"),
    "amd:gfx942": (["ttir", "ttgir", "llir", "amdgcn"], "amdgcn", "buffer_load"),
    "intel:pvc": (["ttir", "ttgir", "llir"], "llir", "load"),
}


@pytest.mark.parametrize("target", TARGETS)
def test_lines_are_linked_down_to_the_machine(file: Path, tmp_path: Path, target: str) -> None:
    names, last, load = TARGETS[target]
    page = tmp_path / "page.html"
    run(file, "-t", target, "-s", "*fp32:16, i32, 256", "-o", page)
    (tab,) = data_of(page)
    assert [c["name"] for c in tab["columns"]][: len(names)] == names
    # TTGIR in its last version has the target's own access
    ttgir_load = "amdg.buffer_load" if target.startswith("amd") else "tt.load"
    assert linked(tab, "ttgir", -1, ttgir_load) == {("explored.py", 12)}
    assert ("explored.py", 12) in linked(tab, last, -1, load)
    # inlined at line 13, which assembly does not say and TTGIR does
    assert linked(tab, last, -1, "mul") >= {("explored.py", 7), ("explored.py", 13)}


def test_layouts_have_pictures(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(file, "-t", "nvidia:sm_80", "-s", "*fp32:16, i32, 256", "-o", page)
    (tab,) = data_of(page)
    (last,) = [c["versions"][-1] for c in tab["columns"] if c["name"] == "ttgir"]
    definition = last["layouts"]["#blocked"]
    assert tab["definitions"][definition].startswith("#ttg.blocked<{")
    (picture,) = [p for p in tab["pictures"] if p["definition"] == definition]
    assert picture["shape"] == [256]
    bits = [vector for vectors in picture["vectors"].values() for vector in vectors]
    assert sorted(v[0] for v in bits if v[0]) == [1 << i for i in range(8)]


def test_resources_and_occupancy_are_at_the_top(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(file, "-t", "nvidia:sm_90a", "-s", "*fp32:16, i32, 256", "-O", "num_warps=4", "-o", page)
    text = page.read_text()
    for part in ("128 per CTA (4 × 32)", "per thread", "bytes per CTA", "100.0 %: 16 × 4 of 64 warps"):
        assert part in text
    assert "limited by <strong>warps</strong>" in text


def test_a_cpu_has_no_occupancy(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(file, "-t", "cpu", "-s", SIGNATURE, "-o", page)
    assert "occupancy</dt>" not in page.read_text()


def test_machine_code_that_cannot_be_shown_says_how_to_get_it(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tri_backend_nvidia.disassembly.find", lambda *_: None)
    page = tmp_path / "page.html"
    run(file, "-t", "nvidia:sm_90a", "-s", "*fp32:16, i32, 256", "-o", page)
    assert "pip install nvidia-cuda-nvdisasm" in page.read_text()


def test_remarks_of_explain_are_at_the_top(tmp_path: Path) -> None:
    kernel, page = tmp_path / "unaligned.py", tmp_path / "page.html"
    kernel.write_text(UNALIGNED)
    arguments = [str(kernel), "-t", "nvidia:sm_90a", "-s", "*fp16:16, *fp16:16, *fp32:16, i32, 32"]
    run(*arguments, "-o", page)
    explained = CliRunner().invoke(app, ["explain", *arguments]).output.splitlines()[1:]
    assert len(explained) > 3
    for line in explained:
        assert line.strip() in unescape(page.read_text())
