"""Design pages name only files, folders and modules that the repository holds."""

import re
from functools import cache
from pathlib import Path, PurePath

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "docs" / "design").glob("*.md")),
    ROOT / "docs" / "architecture.md",
    ROOT / "CONTRIBUTING.md",
]
ROOTED = ("packages/", "docs/", "integration/", "tri_")


@cache
def known_paths() -> frozenset[str]:
    """Every file and folder below packages, docs and integration, also by each ending of its path."""
    tops = (ROOT / top for top in ("packages", "docs", "integration"))
    found = [path.relative_to(ROOT).parts for top in tops for path in (top, *top.rglob("*"))]
    return frozenset("/".join(parts[start:]) for parts in found for start in range(len(parts)))


def missing(text: str) -> list[str]:
    """The paths in backticks of `text` that do not exist."""
    names = re.findall(r"`([\w./-]+)`", text)
    paths = [name.rstrip("/") for name in names if name.endswith(".py") or is_rooted(name)]
    return [path for path in paths if str(PurePath(path)).removeprefix("../") not in known_paths()]


def is_rooted(name: str) -> bool:
    return "/" in name and name.startswith(ROOTED)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_paths_exist(page: Path) -> None:
    assert missing(page.read_text()) == []


def test_an_unknown_path_is_found() -> None:
    assert missing("see `tri_core/no_such_folder/` and `no_such_file.py`") == [
        "tri_core/no_such_folder",
        "no_such_file.py",
    ]
