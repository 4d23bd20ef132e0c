"""Backends that began as ``tri new-backend`` makes them: their own files, and where they differ from the template."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.tests.conftest import TOP
from tri.scaffolding import BackendProject

__all__ = ["SampleBackend"]


@dataclass(frozen=True)
class SampleBackend:
    """The backend ``name`` in ``folder``, begun at ``tier``.

    ``changed``: files of the template that differ, with the reason, and how many lines at most; ``added``: files that it does not have.
    """

    name: str
    folder: Path
    tier: str
    changed: Mapping[str, tuple[str, int]]
    added: Collection[str]

    def template(self) -> dict[str, str]:
        """The files that the generator makes, for the versions of tri that the backend's own project writes."""
        ranges = re.findall(r'"(tri-[a-z-]+)(>=[^"]+)"', (self.folder / "pyproject.toml").read_text())
        return BackendProject(name=self.name, ranges=dict(ranges), tier=self.tier).files()

    def files(self) -> set[str]:
        """The backend's own files, by path; skips the test where git cannot tell them."""
        if shutil.which("git") is None or not (TOP / ".git").exists():
            pytest.skip(f"what belongs to {self.name} is asked of git")
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True)
        return set(listed.stdout.splitlines())

    def check_files(self) -> None:
        """It has the files of the template and those that it adds."""
        assert self.files() == set(self.template()) | set(self.added)

    def check_texts(self, without: Collection[str] = ()) -> None:
        """It differs from the template where it says so; files ``without`` it does not have."""
        for path, text in self.template().items():
            if path in without:
                continue
            mine = (self.folder / path).read_text()
            if path not in self.changed:
                assert mine == text, (
                    f"{path} differs from the template: generate it anew, or say why in CHANGED"
                )
                continue
            new = set(mine.splitlines()) - set(text.splitlines())
            reason, most = self.changed[path]
            assert 0 < len(new) <= most, f"{path} ({reason}): {len(new)} lines are not the template's"
