"""The site: scripts as pages and notebooks, links, the reference; and pages that nobody would find."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from integration.website.links import for_site, linked, targets
from integration.website.reference import MODULES, module_page, public_names, source_of
from integration.website.scripts import Cell, cells, notebook, page, title

TOP = Path(__file__).resolve().parents[2]
DOCS = TOP / "docs"
SCRIPT = "# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nx = 1  # one\n\n\n# %% [markdown]\n# End.\n"


def pages() -> list[Path]:
    return [TOP / "README.md", *sorted(TOP.glob("packages/*/README.md")), *sorted(DOCS.rglob("*.md"))]


# --- pages ------------------------------------------------------------------------------------------------------


def test_every_page_is_linked_by_another() -> None:
    found = linked(pages())
    lost = [p.relative_to(TOP).as_posix() for p in DOCS.rglob("*.md") if p not in found]
    assert not lost, "no page links to these"


@pytest.mark.parametrize("start", pages(), ids=lambda path: path.relative_to(TOP).as_posix())
def test_links_lead_to_files(start: Path) -> None:
    absent = [link for link in targets(start.read_text()) if not (start.parent / link).exists()]
    assert not absent


def test_the_first_commands_of_the_start_page_run(tmp_path: Path) -> None:
    block = re.search(r"```bash\n(.*?)```", (DOCS / "index.md").read_text(), flags=re.DOTALL)
    assert block is not None
    install, run, explore, profile = (shlex.split(line, comments=True) for line in block[1].splitlines())
    assert install == ["python", "-m", "pip", "install", "."]
    assert run[:2] == ["python", "tutorials/01_vector_add.py"]
    assert explore[:2] == ["tri", "explore"]
    assert profile[:3] == ["tri", "profile", "--html"]
    environment = {**os.environ, "TRI_CACHE_DIR": str(tmp_path / "cache")}
    output = tmp_path / "page.html"
    for command in ([*explore[:-1], str(output)], [*profile[:3], str(output), *profile[4:]]):
        output.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=TOP,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "<html" in output.read_text()


# --- links ------------------------------------------------------------------------------------------------------


def test_links_in_code_are_none() -> None:
    assert list(targets("`a[0](b)` [x](y.md#z) [w](#here) [s](https://e.org)\n```\n[c](d.md)\n```\n")) == [
        "y.md"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](../../tutorials/01_x.py)", "[a](../tutorials/01_x.md)"),
        ("[a](../../packages/y.py)", "a"),
        ("[a](../glossary.md#dots)", "[a](../glossary.md#dots)"),
        ("[a](../passes/)", "[a](../passes/README.md)"),
        ("[a](https://e.org) `[a](../../x)`", "[a](https://e.org) `[a](../../x)`"),
    ],
)
def test_links_of_the_site(text: str, expected: str) -> None:
    assert for_site(text, DOCS / "design" / "races.md", DOCS) == expected


# --- scripts ----------------------------------------------------------------------------------------------------


def test_cells() -> None:
    expected = [Cell(True, "# Title\n\nText."), Cell(False, "x = 1  # one"), Cell(True, "End.")]
    assert cells(SCRIPT) == expected
    assert title(SCRIPT) == "Title"


def test_a_page() -> None:
    made = page(SCRIPT, Path("tutorials/01_x.py"))
    assert made.startswith("# Title\n\nText.\n\n```python\nx = 1  # one\n```\n\nEnd.\n")
    assert "[as a notebook](01_x.ipynb)" in made


def test_a_notebook_has_the_same_cells() -> None:
    made = json.loads(notebook(SCRIPT))
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    assert ["".join(c["source"]) for c in made["cells"]] == [c.text for c in cells(SCRIPT)]
    assert [c["cell_type"] for c in made["cells"]] == ["markdown", "code", "markdown"]
    assert len({c["id"] for c in made["cells"]}) == 3


def test_text_before_the_first_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with '# %%'"):
        cells("import os\n# %%\n")


# --- reference --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_on_the_page_of_its_module(module: str) -> None:
    made, names = module_page(module), public_names(module)
    assert names
    assert [n for n in names if f"::: {module}.{n}\n" not in made and f"`{n}`" not in made] == []


def test_functions_of_stubs_have_entries() -> None:
    assert "::: tri.language.extra.libdevice.acos\n" in module_page("tri.language.extra.libdevice")
    assert "::: tri.language.load\n" in module_page("tri.language")


def test_packages_are_found_without_importing_them() -> None:
    assert source_of("tri_core.errors") == TOP / "packages/tri-core/src/tri_core/errors.py"
    assert source_of("tri.no_such_module") is None
