"""Repositories of made-up packages, with history, for the tests of releases and of the matrix."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "{version}"
dependencies = [{requires}]

[project.entry-points.tri]
{entry}

[tool.hatch.build.targets.wheel]
packages = ["src/{module}"]
"""


def git(top: Path, *arguments: str) -> str:
    """Output of git; an error if it fails."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(top), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass
class MadeUp:
    """A repository at ``top``; its packages are written with :meth:`package`."""

    top: Path
    recorded: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.top.mkdir(parents=True, exist_ok=True)
        git(self.top, "init", "--quiet", "--initial-branch=main")

    def package(
        self,
        name: str,
        version: str,
        requires: Iterable[str] = (),
        sources: Mapping[str, str] | None = None,
        plugin: bool = False,
    ) -> Path:
        """Write (over) a package whose modules are ``sources``: file name to text."""
        folder, module = self.top / "packages" / name, name.replace("-", "_")
        (folder / "src" / module).mkdir(parents=True, exist_ok=True)
        text = PYPROJECT.format(
            name=name,
            version=version,
            module=module,
            requires=", ".join(f'"{r}"' for r in requires),
            entry=f'mine = "{module}.plugin"' if plugin else "",
        )
        (folder / "pyproject.toml").write_text(text)
        (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## {version} (unreleased)\n")
        for file, content in {"__init__.py": f'__version__ = "{version}"\n', **(sources or {})}.items():
            (folder / "src" / module / file).write_text(content)
        return folder

    def commit(self) -> str:
        """Commit the tree; its name."""
        git(self.top, "add", "--all")
        git(self.top, "commit", "--quiet", "--allow-empty", "-m", "made up")
        return git(self.top, "rev-parse", "HEAD")

    def release(self, version: str, *names: str) -> None:
        """Commit the tree, and record it as ``version`` of the packages."""
        made = self.commit()
        self.recorded |= {(name, version): made for name in names}
        lines = [f'[{n}]\n"{v}" = "{c}"' for (n, v), c in sorted(self.recorded.items())]
        tables: dict[str, list[str]] = {}
        for line in lines:
            head, entry = line.split("\n")
            tables.setdefault(head, []).append(entry)
        text = "\n".join("\n".join([head, *entries]) for head, entries in tables.items())
        (self.top / "releases.toml").write_text(text + "\n")
