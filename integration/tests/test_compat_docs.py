"""``docs/compat.md`` names what the compatibility layer has, what it refuses, and the published kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.published.projects import PROJECTS
from tri.compat.triton.table import GONE, MODULES, VERSION

TEXT = (Path(__file__).parents[2] / "docs" / "compat.md").read_text()


@pytest.mark.parametrize("name", sorted(MODULES))
def test_every_module_is_in_the_table(name: str) -> None:
    assert f"`{name}`" in TEXT or f"`.{name.rpartition('.')[2]}`" in TEXT


@pytest.mark.parametrize("name", sorted(GONE))
def test_every_absent_module_is_named(name: str) -> None:
    assert any(f"`{name}`" in TEXT or name.startswith(f"{parent}.") for parent in GONE)


def test_versions() -> None:
    assert VERSION in TEXT
    for project in PROJECTS.values():
        assert f"{project.name} {project.version}" in TEXT
