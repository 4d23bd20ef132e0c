"""Pictures of layouts: the numbers that the descriptions of Triton's architecture print, and every other layout."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core import mlir
from tri_core.api import OptionError, VerificationError
from tri_core.plugins import manager
from tri_gpu_dialect.drawing import (
    Owner,
    Ownership,
    draw_page,
    draw_svg,
    draw_text,
    ownership_of,
    parse_encoding,
)
from tri_gpu_dialect.encodings import Blocked, DotOperand, SharedLinear, Slice, SwizzledShared

_BOXES = "sizePerThread = [2, 2], threadsPerWarp = [8, 4], warpsPerCTA = [1, 2], order = [1, 0]"


@pytest.fixture(autouse=True)
def _registered() -> None:
    manager().register_ir(mlir.registry)


def found_of(text: str, *shape: int) -> Ownership:
    with mlir.session():
        return ownership_of(parse_encoding(text, len(shape)), shape)


def lines_of(text: str, *shape: int) -> list[str]:
    return draw_text(found_of(text, *shape)).splitlines()[1:]


# --- what is printed ----------------------------------------------------------------------------------------

_FIRST = [
    "[ 0  0  1  1  2  2  3  3  ; 32 32 33 33 34 34 35 35 ]",
    "[ 0  0  1  1  2  2  3  3  ; 32 32 33 33 34 34 35 35 ]",
    "[ 4  4  5  5  6  6  7  7  ; 36 36 37 37 38 38 39 39 ]",
    "[ 4  4  5  5  6  6  7  7  ; 36 36 37 37 38 38 39 39 ]",
]
_LAST = ["[ 28 28 29 29 30 30 31 31 ; 60 60 61 61 62 62 63 63 ]"] * 2


def test_a_16x16_tensor_over_two_warps() -> None:
    lines = lines_of(f"#ttg.blocked<{{{_BOXES}}}>", 16, 16)
    assert lines[:4] == _FIRST
    assert lines[-2:] == _LAST
    assert len(lines) == 16


def test_a_32x32_tensor_over_two_warps() -> None:
    lines = lines_of(f"#ttg.blocked<{{{_BOXES}}}>", 32, 32)
    twice = [f"{line[:-2]}  {line[2:]}" for line in _FIRST]
    assert twice[0] == (
        "[ 0  0  1  1  2  2  3  3  ; 32 32 33 33 34 34 35 35  0  0  1  1  2  2  3  3  ; 32 32 33 33 34 34 35 35 ]"
    )
    assert lines[:4] == lines[16:20] == twice
    last = "[ 28 28 29 29 30 30 31 31 ; 60 60 61 61 62 62 63 63  28 28 29 29 30 30 31 31 ; 60 60 61 61 62 62 63 63 ]"
    assert lines[14:16] == lines[30:] == [last] * 2


def test_a_32x32_tensor_over_four_blocks() -> None:
    lines = lines_of(f"#ttg.blocked<{{{_BOXES}, CGALayout = [[0, 1], [1, 0]]}}>", 32, 32)
    upper, lower = lines[: lines.index("")], lines[lines.index("") + 1 :]
    assert upper[0] == "CTA [0,0]                                              CTA [0,1]"
    assert lower[0] == "CTA [1,0]                                              CTA [1,1]"
    for part in (upper, lower):
        assert part[1:5] == [f"{line}  {line}" for line in _FIRST]
        assert part[-2:] == [f"{line}  {line}" for line in _LAST]
        assert len(part) == 17


def _split(ctas: str, pieces: str, order: str) -> str:
    return f"CTAsPerCGA = {ctas}, CTASplitNum = {pieces}, CTAOrder = {order}"


def test_ctas_that_count_along_columns_are_numbered() -> None:
    lines = lines_of(f"#ttg.blocked<{{{_BOXES}, {_split('[2, 2]', '[2, 2]', '[0, 1]')}}}>", 32, 32)
    assert [line.split("  ")[0].strip() for line in lines if line.startswith("CTA")] == [
        "CTA [0,0] (block 0)",
        "CTA [1,0] (block 1)",
    ]
    assert [line.rpartition("  ")[2] for line in lines if line.startswith("CTA")] == [
        "CTA [0,1] (block 2)",
        "CTA [1,1] (block 3)",
    ]


def test_ctas_that_hold_copies_are_all_named() -> None:
    found = found_of(f"#ttg.blocked<{{{_BOXES}, {_split('[2, 2]', '[2, 1]', '[1, 0]')}}}>", 32, 32)
    lines = draw_text(found).splitlines()[1:]
    assert [line for line in lines if line.startswith("CTA")] == [
        "CTA [0,0] (blocks 0, 1)",
        "CTA [1,0] (blocks 2, 3)",
    ]
    assert draw_text(found, "block").splitlines()[2].split()[1:3] == ["0|1", "0|1"]
    assert draw_text(found, "all").splitlines()[2].split()[1] == "b0w0l0r0|b1w0l0r0"


def test_ctas_of_one_dimension() -> None:
    text = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [4], warpsPerCTA = [1], order = [0], CGALayout = [[1]]}>"
    assert lines_of(text, 8) == ["CTA [0]      CTA [1]", "[ 0 1 2 3 ]  [ 0 1 2 3 ]"]


def test_the_memory_of_each_cta() -> None:
    swizzle = "vec = 1, perPhase = 1, maxPhase = 2, order = [1, 0]"
    text = f"#ttg.swizzled_shared<{{{swizzle}, {_split('[2, 1]', '[2, 1]', '[1, 0]')}}}>"
    assert lines_of(text, 4, 2) == [
        "CTA 0",
        "A_{0, 0}  A_{0, 1}   [phase 0]",
        "A_{1, 1}  A_{1, 0}   [phase 1]",
        "",
        "CTA 1",
        "A_{2, 0}  A_{2, 1}   [phase 0]",
        "A_{3, 1}  A_{3, 0}   [phase 1]",
    ]
    copies = f"#ttg.swizzled_shared<{{{swizzle}, {_split('[2, 2]', '[1, 2]', '[1, 0]')}}}>"
    assert lines_of(copies, 2, 4) == [
        "CTAs 0, 2",
        "A_{0, 0}  A_{0, 1}   [phase 0]",
        "A_{1, 1}  A_{1, 0}   [phase 1]",
        "",
        "CTAs 1, 3",
        "A_{0, 2}  A_{0, 3}   [phase 0]",
        "A_{1, 3}  A_{1, 2}   [phase 1]",
    ]


def test_an_order_distributes_columns_first() -> None:
    text = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 4], warpsPerCTA = [1, 1], order = [0, 1]}>"
    assert lines_of(text, 4, 4) == [
        "[ 0  4  8  12 ]",
        "[ 1  5  9  13 ]",
        "[ 2  6  10 14 ]",
        "[ 3  7  11 15 ]",
    ]


def test_swizzled_rows() -> None:
    lines = lines_of("#ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [1, 0]}>", 4, 4)
    assert lines == [
        "A_{0, 0}  A_{0, 1}  A_{0, 2}  A_{0, 3}   [phase 0]",
        "A_{1, 0}  A_{1, 1}  A_{1, 2}  A_{1, 3}   [phase 0]",
        "A_{2, 2}  A_{2, 3}  A_{2, 0}  A_{2, 1}   [phase 1]",
        "A_{3, 2}  A_{3, 3}  A_{3, 0}  A_{3, 1}   [phase 1]",
    ]


def test_swizzling_16_by_16_words() -> None:
    """perPhase = 128 / (16 * 4) = 2, eight phases for sixteen rows, packages of two: col / 2 ^ phase, times 2."""
    found = ownership_of(SwizzledShared(2, 2, 8, (1, 0)), (16, 16))
    for i, (owner,) in enumerate(found.owners):
        row, column = divmod(i, 16)
        phase = row // 2 % 8
        assert owner.offset == row * 16 + ((column // 2) ^ phase) * 2 + column % 2


def test_an_offset_in_the_leading_dimension() -> None:
    """16x128 bytes as two tiles of 64 columns: element (0, 64) is 16 rows of 64 further, else 64."""
    tiles = ((0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (0, 64))
    assert ownership_of(SharedLinear(2, tiles), (16, 128)).owners[64] == (Owner(offset=16 * 64),)
    assert ownership_of(SwizzledShared(1, 1, 1, (1, 0)), (16, 128)).owners[64] == (Owner(offset=64),)


# --- other layouts ------------------------------------------------------------------------------------------


def test_gaps_of_a_padded_layout() -> None:
    lines = lines_of("#ttg.padded_shared<[4:+2] {order = [1, 0]}>", 2, 4)
    assert lines == ["A_{0, 0}  A_{0, 1}  A_{0, 2}  A_{0, 3}", "-  -  A_{1, 0}  A_{1, 1}  A_{1, 2}  A_{1, 3}"]


def test_owners_of_a_slice_and_a_dot_operand_are_several() -> None:
    parent = Blocked((1, 1), (4, 8), (2, 1), (1, 0))
    sliced = ownership_of(Slice(0, parent), (8,))
    assert sliced.copies == 8  # four rows of lanes, two of warps
    operand = ownership_of(DotOperand(0, parent), (8, 4))
    assert operand.copies == 8  # eight columns of lanes
    assert "each element up to 8 times" in sliced.summary()
    assert "w0l0r0|w0l8r0" in draw_text(sliced, "all")


def test_matrices_of_three_dimensions_say_where_they_are() -> None:
    text = "#ttg.blocked<{sizePerThread = [1, 1, 1], threadsPerWarp = [2, 2, 2], warpsPerCTA = [1, 1, 1], order = [2, 1, 0]}>"
    assert lines_of(text, 2, 2, 2) == ["[0]", "[ 0 1 ]", "[ 2 3 ]", "[1]", "[ 4 5 ]", "[ 6 7 ]"]


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(2)), st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_owners_are_what_the_layout_says(order: list[int], logs: list[int]) -> None:
    a, b, c, d, e, f, m, n = (1 << k for k in logs)
    encoding = Blocked((a, b), (c, d), (e, f), tuple(order))
    shape = (4 * m, 4 * n)
    found = ownership_of(encoding, shape)
    layout = found.layout
    assert sum(len(owners) for owners in found.owners) == 1 << layout.in_bits
    for i, owners in enumerate(found.owners):
        for o in owners:
            at = layout.apply(
                {"register": o.register, "lane": o.lane, "warp": o.warp, "block": o.block}  # type: ignore[dict-item]
            )
            assert (int(at["dim0"]), int(at["dim1"])) == divmod(i, shape[1])


# --- pictures -----------------------------------------------------------------------------------------------


def test_the_picture_has_a_square_for_each_element() -> None:
    root = ET.fromstring(draw_svg(found_of(f"#ttg.blocked<{{{_BOXES}}}>", 16, 16)))
    ns = "{http://www.w3.org/2000/svg}"
    cells = root.findall(f"{ns}g")
    assert [cell.findtext(f"{ns}text") for cell in cells[:10]] == [
        "0",
        "0",
        "1",
        "1",
        "2",
        "2",
        "3",
        "3",
        "32",
        "32",
    ]
    assert len(cells) == 256
    assert cells[9].findtext(f"{ns}title") == "(0, 9): warp 1, lane 0, register 1"


def _colours(svg: str) -> list[str]:
    return re.findall(r'fill="(hsl[^"]*)"', svg)


def test_the_lanes_of_one_warp_have_a_colour_each() -> None:
    one = "sizePerThread = [1, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]"
    assert len(set(_colours(draw_svg(found_of(f"#ttg.blocked<{{{one}}}>", 4, 8))))) == 32


def test_warps_differ_in_hue_and_their_lanes_in_lightness() -> None:
    four = "sizePerThread = [1, 1], threadsPerWarp = [4, 8], warpsPerCTA = [2, 2], order = [1, 0]"
    found = found_of(f"#ttg.blocked<{{{four}}}>", 8, 16)
    hues = [colour.split(",")[0] for colour in _colours(draw_svg(found))]
    assert len(set(zip(hues, (owners[0].warp for owners in found.owners), strict=True))) == 4
    assert len(set(_colours(draw_svg(found)))) == 16


def test_the_picture_says_which_ctas_have_a_part() -> None:
    found = found_of(f"#ttg.blocked<{{{_BOXES}, {_split('[2, 2]', '[2, 1]', '[1, 0]')}}}>", 32, 32)
    root = ET.fromstring(draw_svg(found))
    ns = "{http://www.w3.org/2000/svg}"
    assert [name.text for name in root.findall(f"{ns}text")] == ["CTA 0, 1", "CTA 2, 3"]
    path = root.find(f"{ns}path")
    assert path is not None
    # one line across, above row 16: 24 of margin, 30 per element
    assert re.findall(r"M(\d+) (\d+)([hv]\d+)", path.attrib["d"]) == [
        (str(24 + 30 * c), "504", "h30") for c in range(32)
    ]
    last = root.findall(f"{ns}g")[-1]
    assert last.findtext(f"{ns}title") == (
        "(31, 31): block 2, warp 1, lane 31, register 7; block 3, warp 1, lane 31, register 7"
    )
    assert root.findall(f"{ns}g")[0].findtext(f"{ns}text") == "0"


def test_a_picture_of_one_cta_has_no_parts() -> None:
    svg = draw_svg(found_of(f"#ttg.blocked<{{{_BOXES}}}>", 16, 16))
    assert "CTA" not in svg.partition("</desc>")[2]
    assert "block" not in svg.partition("</desc>")[2]


def test_the_page_knows_the_ctas() -> None:
    found = found_of(f"#ttg.blocked<{{{_BOXES}, {_split('[2, 1]', '[2, 1]', '[1, 0]')}}}>", 32, 32)
    page = draw_page(found)
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    assert data["blocks"] == 2
    assert [owner[0][3] for owner in data["owners"]] == [0] * 512 + [1] * 512
    assert ">CTA 1</text>" in page


def test_the_page_is_whole_and_self_contained() -> None:
    page = draw_page(
        found_of("#ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [1, 0]}>", 4, 4)
    )
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    assert data["shape"] == [4, 4]
    assert [owner[0][4] for owner in data["owners"][8:12]] == [10, 11, 8, 9]
    assert not re.search(r"""(?:src|href)\s*=|@[A-Z]+@""", page)
    HTMLParser().feed(page)


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("blocked", "starts with #"),
        ("#ttg.nothing<{}>", "is no layout"),
        ("#ttg.blocked<{sizePerThread = [3, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1], order = [1, 0]}>", "powers"),
        ("#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1], order = [1, 0]}>", "entries"),
        ("#ttg.blocked<{sizes = [1]}>", "unknown keys"),
        ("#ttg.blocked<{sizePerThread = [1, 1", "is no layout"),
        ("#ttg.slice<{dim = 0}>", "parent"),
        ("#ttg.swizzled_shared<{vec = 3, perPhase = 2, maxPhase = 4, order = [1, 0]}>", "powers"),
    ],
)  # fmt: skip
def test_malformed_attributes(text: str, why: str) -> None:
    with mlir.session(), pytest.raises(VerificationError, match=why):
        parse_encoding(text)


def test_shapes_that_do_not_fit() -> None:
    encoding = Blocked((1, 1), (8, 4), (1, 1), (1, 0))
    with pytest.raises(OptionError, match="powers of two"):
        ownership_of(encoding, (12, 4))
    with pytest.raises(VerificationError, match="does not fit"):
        ownership_of(encoding, (16,))
    with pytest.raises(OptionError, match="can be shown"):
        ownership_of(encoding, (4096, 4096))
