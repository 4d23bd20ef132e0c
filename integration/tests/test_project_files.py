"""Files around the packages: what they say of versions and commands is true."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((TOP / ".github" / "ISSUE_TEMPLATE").glob("*.md"))
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]


def test_the_citation_has_version_and_licence_of_the_project() -> None:
    fields = dict(re.findall(r"^(\w[\w-]*): (.+)$", (TOP / "CITATION.cff").read_text(), flags=re.MULTILINE))
    assert (fields["version"], fields["license"]) == (PROJECT["version"], PROJECT["license"])
    assert fields["cff-version"] == "1.2.0"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_templates_have_names(template: Path) -> None:
    assert re.match(r"---\nname: \S.*\nabout: \S.*\n---\n", template.read_text())


def test_sessions_that_the_pull_request_template_names_exist() -> None:
    named = re.findall(r"nox -s ([a-z -]+)`", (TOP / ".github" / "pull_request_template.md").read_text())
    sessions = set(re.findall(r"^def (\w+)\(session", (TOP / "noxfile.py").read_text(), flags=re.MULTILINE))
    assert named
    assert all(set(names.split()) <= sessions for names in named)


def test_the_table_of_support_has_the_pythons_of_the_packages() -> None:
    low, high = re.findall(r"3\.(\d+)", PROJECT["requires-python"])
    page = (TOP / "docs" / "support.md").read_text()
    assert f"| Python 3.{low} |" in page
    assert f"to 3.{int(high) - 1} |" in page
    for package in TOP.glob("packages/*/pyproject.toml"):
        assert (
            tomllib.loads(package.read_text())["project"]["requires-python"] == PROJECT["requires-python"]
        ), package


def test_older_pips_build_the_packages_of_a_checkout_anew() -> None:
    """They keep a folder's wheel for the next time if its path ends like a release's name, as NAME-VERSION."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    texts = [
        *project["dependencies"],
        *(t for each in project["optional-dependencies"].values() for t in each),
    ]
    places = [text.split(" @ {root:uri}/") for text in texts if "@" in text]
    assert len(places) >= 8
    for name, place in places:
        assert "-" not in place.rpartition("/")[2]
        assert tomllib.loads((TOP / place / "pyproject.toml").read_text())["project"]["name"] == name
