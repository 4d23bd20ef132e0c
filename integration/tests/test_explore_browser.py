"""The explorer's page in a browser: links, passes, differences, layouts, keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from integration.tests.browsers import chromium, needs_chromium
from tri.cli.app import app

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
action_builder = pytest.importorskip("selenium.webdriver.common.actions.action_builder")
pytestmark = needs_chromium

ATTENTION = """
import tri
import tri.language as tl

@tri.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.arange(0, N)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    top = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    acc = tl.zeros((M, D), tl.float32)
    for start in range(0, n, N):
        k = tl.load(k_ptr + (start + columns)[None, :] * D + d[:, None])
        scores = tl.dot(q, k) * scale
        now = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - now[:, None])
        change = tl.exp(top - now)
        total = total * change + tl.sum(p, 1)
        v = tl.load(v_ptr + (start + columns)[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * change[:, None])
        top = now
    tl.store(o_ptr + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))
"""
SIGNATURE = "*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, fp32, 64, 32, 64"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explore")
    (folder / "attn.py").write_text(ATTENTION)
    made = folder / "page.html"
    arguments = ["explore", str(folder / "attn.py"), "-s", SIGNATURE, "-O", "num_warps=4", "-o", str(made)]
    done = CliRunner().invoke(app, [*arguments, "-t", "nvidia:sm_90a", "-t", "amd:gfx942"])
    if done.exception is not None:
        raise done.exception
    return made


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as made:
        yield made


class Screen:
    """Page as a reader sees and uses it; ``column`` is a stage's name."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(_HELPERS + script, *arguments)

    def marked(self, column: str, kind: str = "pinned") -> list[str]:
        """The texts of the marked lines of a column."""
        found: list[str] = self.run(
            "return [...column(arguments[0]).querySelectorAll('.' + arguments[1])].map(l => l.row.text);",
            column,
            kind,
        )
        return found

    def click(self, column: str, part: str) -> None:
        """Click the first line of ``column`` that contains ``part``."""
        left, middle = self.run(
            "const found = line(arguments[0], arguments[1]);"
            "found.scrollIntoView({block: 'center', inline: 'start'});"
            "const text = column(arguments[0]).querySelector('.text').getBoundingClientRect();"
            "const row = found.getBoundingClientRect();"
            "return [text.left + 80, (row.top + row.bottom) / 2];",
            column,
            part,
        )
        chain = action_builder.ActionBuilder(self.driver)
        chain.pointer_action.move_to_location(left, middle).click()
        chain.perform()

    def press(self, *keys: str) -> None:
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def button(self, column: str, name: str) -> Any:
        return self.run(
            "return [...column(arguments[0]).querySelectorAll('.head button')]"
            ".find(b => b.textContent === arguments[1] || b.ariaLabel === arguments[1]);",
            column,
            name,
        )


_HELPERS = """
const panel = document.querySelector('.panel:not([hidden])');
const column = name => [...panel.querySelectorAll('.column')].find(c => c.querySelector('h2').textContent === name);
const line = (name, part) => [...column(name).querySelectorAll('.line')].find(l => l.row.text.includes(part));
"""


@pytest.fixture
def screen(driver: Any, page: Path) -> Iterator[Screen]:
    driver.get(page.as_uri())
    yield Screen(driver)
    assert driver.get_log("browser") == []


def test_it_opens_fast_and_is_small(screen: Screen, page: Path) -> None:
    assert page.stat().st_size < 2 << 20
    assert screen.run("return document.documentElement.hasAttribute('data-ready');")
    milliseconds = screen.run(
        "const t = performance.getEntriesByType('navigation')[0]; return t.domComplete - t.responseEnd;"
    )
    # a second on an idle machine; CI's are not
    assert milliseconds < 5000
    assert screen.run("return performance.getEntriesByType('resource').length;") == 0


def test_a_source_line_marks_what_came_from_it(screen: Screen) -> None:
    screen.click("source", "scores = tl.dot")
    assert any("tt.dot" in text for text in screen.marked("ttir"))
    assert any("tt.dot" in text or "warp_group_dot" in text for text in screen.marked("ttgir"))
    assert any("mma" in text for text in screen.marked("ptx"))
    assert not any("exp" in text for text in screen.marked("ptx"))
    assert screen.marked("source") == ["        scores = tl.dot(q, k) * scale"]


def test_a_machine_instruction_marks_its_source(screen: Screen) -> None:
    screen.click("ptx", "ex2.approx")
    (source,) = screen.marked("source")
    assert "tl.exp(" in source
    assert all("math.exp" in text or "arith" in text or "tt." in text for text in screen.marked("ttgir"))
    assert any("math.exp" in text for text in screen.marked("ttgir"))
    screen.press("\ue00c")  # Escape
    assert screen.marked("source") == []


def test_what_is_inlined_belongs_to_its_call(screen: Screen) -> None:
    screen.click("source", "tl.sum(p, 1)")
    assert any("tt.reduce" in text for text in screen.marked("ttgir"))
    assert any("shfl" in text for text in screen.marked("ptx"))
    assert not any("max" in text for text in screen.marked("ptx"))


def test_passes_and_their_differences(screen: Screen) -> None:
    screen.run("arguments[0].click();", screen.button("ttgir", "previous pass with changes"))
    screen.run("arguments[0].click();", screen.button("ttgir", "diff"))
    added, removed = screen.marked("ttgir", "added"), screen.marked("ttgir", "removed")
    assert added
    assert f"+{len(added)} −{len(removed)}" in screen.run(
        "return column('ttgir').querySelector('.head').textContent;"
    )
    screen.run("arguments[0].click();", screen.button("ttgir", "diff"))
    assert screen.marked("ttgir", "added") == []


def test_a_layout_opens_its_picture(screen: Screen) -> None:
    screen.run("column('ttgir').querySelector('.line .layout').click();")
    assert screen.run("return document.getElementById('picture').open;")
    cells = screen.run("return [...document.querySelectorAll('#picture-table td')].map(c => c.textContent);")
    assert len(cells) > 31
    assert "lanes" in screen.run("return document.getElementById('picture-note').textContent;")
    screen.press("\ue00c")
    assert not screen.run("return document.getElementById('picture').open;")


def test_keys_move_and_keep(screen: Screen) -> None:
    screen.run("column('source').querySelector('.text').focus();")
    count = screen.run(
        "return [...column('source').querySelectorAll('.line')].indexOf(line('source', 'q = tl.load'));"
    )
    screen.press(*["\ue015"] * (count + 1))
    assert any("tt.load" in text for text in screen.marked("ttir", "linked"))
    screen.press("\ue007")  # Enter
    assert "q = tl.load" in screen.marked("source")[0]
    screen.press("\ue014")  # right: to the linked line of the next column
    assert (
        screen.run("return document.activeElement.closest('.column').querySelector('h2').textContent;")
        == "ttir"
    )
    assert "%q" in screen.run("return document.activeElement.querySelector('.current').row.text;")


def test_text_can_be_selected(screen: Screen) -> None:
    selected = screen.run(
        "getSelection().selectAllChildren(line('ttir', 'tt.dot')); return getSelection().toString();"
    )
    assert selected.strip().startswith("%")


def test_tabs(screen: Screen) -> None:
    screen.run("document.querySelectorAll('[role=tab]')[1].click();")
    assert screen.run("return column('amdgcn') !== undefined;")
    screen.click("source", "scores = tl.dot")
    assert any("v_mfma" in text or "v_fma" in text for text in screen.marked("amdgcn"))


def test_dark_and_light(screen: Screen) -> None:
    def background(scheme: str) -> str:
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        screen.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        found: str = screen.run("return getComputedStyle(document.body).backgroundColor;")
        return found

    assert background("light") == "rgb(255, 255, 255)"
    assert background("dark") == "rgb(22, 25, 29)"


def test_a_window_of_1500_pixels_reaches_each_column_whole(screen: Screen) -> None:
    before = screen.driver.get_window_size()
    screen.driver.set_window_size(1500, 900)
    cut = screen.run(
        "const frame = panel.querySelector('.columns');"
        "if (!['auto', 'scroll'].includes(getComputedStyle(frame).overflowX)) return ['no reader can scroll'];"
        "return [...panel.querySelectorAll('.column:not([hidden])')].filter(each => {"
        "  each.scrollIntoView({inline: 'nearest'});"
        "  const own = each.getBoundingClientRect(), seen = frame.getBoundingClientRect();"
        "  return own.left < seen.left - 1 || own.right > seen.right + 1;"
        "}).map(each => each.querySelector('h2').textContent);"
    )
    screen.driver.set_window_size(before["width"], before["height"])
    assert cut == []
