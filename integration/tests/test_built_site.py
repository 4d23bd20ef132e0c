"""The site as ``nox -s site`` built it: no page asks another server for anything, and it is searched from its folder."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from integration.tests.browsers import chromium, needs_chromium

_FOLDER = os.environ.get("TRI_TEST_SITE")
pytestmark = pytest.mark.skipif(_FOLDER is None, reason="`nox -s site` builds the site and runs these")
SITE = Path(_FOLDER or ".")
_ADDRESS = re.compile(r"(?:https?:)?//")
#: attributes by which a page loads something; of a link that a reader follows, nothing is loaded
_LOADS = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class _Loaded(HTMLParser):
    """Addresses that the page of ``text`` loads from."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if (tag, name) in _LOADS and value]


def _files(kind: str) -> list[Path]:
    found = sorted(SITE.rglob(f"*.{kind}"))
    assert found, f"{SITE} has no {kind}"
    return found


def test_addresses_are_found() -> None:
    page = _Loaded(
        '<a href="https://a"><script src="//b/c.js"></script><link href="https://d"><img src="e.png">'
    )
    assert page.found == ["//b/c.js", "https://d", "e.png"]
    assert [bool(_ADDRESS.match(f)) for f in page.found] == [True, True, False]


def test_pages_load_nothing_from_elsewhere() -> None:
    pages = {page: _Loaded(page.read_text()).found for page in _files("html")}
    elsewhere = {page: [f for f in found if _ADDRESS.match(f)] for page, found in pages.items()}
    assert {page: found for page, found in elsewhere.items() if found} == {}
    assert not [
        sheet for sheet in _files("css") if re.search(r"(url\(|@import )['\"]?https?:", sheet.read_text())
    ]


def test_what_pages_load_is_there() -> None:
    absent = {
        f"{page}: {link}"
        for page in _files("html")
        if page.name != "404.html"  # served from any path, so its links begin at the root
        for link in _Loaded(page.read_text()).found
        if not link.startswith("data:") and not (page.parent / link.partition("?")[0]).exists()
    }
    assert absent == set()


def test_signatures_have_no_internal_parameters() -> None:
    signature = re.compile(r'<div class="doc-signature.*?</div>', flags=re.DOTALL)
    signatures = [
        s for page in (SITE / "reference").glob("*.html") for s in signature.findall(page.read_text())
    ]
    assert len(signatures) > 200
    assert [s for s in signatures if "_semantic" in s] == []


# --- in a browser -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as made:
        yield made


def _until(ask: Callable[[], Any]) -> Any:
    """The first answer of ``ask`` that is true; the last one after a minute."""
    end = time.monotonic() + 60
    while not (answer := ask()) and time.monotonic() < end:
        time.sleep(0.1)
    return answer


@needs_chromium
@pytest.mark.parametrize("start", ["index.html", "guides/vendor.html"])
def test_a_word_is_found_from_a_folder(driver: Any, start: str) -> None:
    driver.get((SITE / start).absolute().as_uri())
    assert driver.execute_script("return window.Worker === window.IFrameWorker")
    field = driver.find_element("css selector", "input.md-search__input")
    driver.execute_script("document.querySelector('#__search').click(); arguments[0].focus()", field)
    field.send_keys("softmax")
    links = "return [...document.querySelectorAll('a.md-search-result__link')].map(a => a.href)"
    found = _until(lambda: driver.execute_script(links))
    assert any("02_softmax.html" in link for link in found), driver.get_log("browser")
    assert all(link.startswith("file:") for link in found)
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
