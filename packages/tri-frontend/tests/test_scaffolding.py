"""``tri new-backend``: names that are refused, what is written, and nothing overwritten."""

from __future__ import annotations

import ast
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tri.cli.app import app
from tri.scaffolding import TIERS, BackendProject, new_backend
from tri_core.errors import OptionError
from tri_core.plugins import manager

RANGES = dict.fromkeys(
    ("tri-core", "tri-gpu-dialect", "tri-runtime", "tri-backend-cpu", "tri-frontend", "tri-conformance"),
    ">=0.1,<0.2",
)


def project(name: str, tier: str = "ttgir") -> BackendProject:
    return BackendProject(name=name, ranges=RANGES, tier=tier)


@pytest.mark.parametrize("name", ["", "A", "Acme", "a", "2x", "my-gpu", "my_gpu", "é1", "a" * 17, "a.b"])
def test_a_name_that_is_no_identifier_of_all_kinds_is_refused(name: str) -> None:
    with pytest.raises(OptionError) as refused:
        project(name)
    assert "acme" in str(refused.value.remedy)


@pytest.mark.parametrize(("name", "owner"), [("sim", "part of tri"), ("llvm", "dialect")])
def test_a_name_with_another_meaning_is_refused(name: str, owner: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=owner):
        new_backend(name, tmp_path)
    assert not any(tmp_path.iterdir())


def test_the_name_of_a_plugin_is_refused_with_its_owner(tmp_path: Path) -> None:
    record = next(record for record in manager().plugins() if record.backends)
    for name in record.backends:
        with pytest.raises(OptionError, match=f"plugin {record.name}"):
            new_backend(name, tmp_path)
    assert not any(tmp_path.iterdir())


@settings(max_examples=20, deadline=None)
@given(st.from_regex(r"[a-z][a-z0-9]{1,15}", fullmatch=True), st.sampled_from(list(TIERS)))
def test_every_name_gives_files_that_parse(name: str, tier: str) -> None:
    made = project(name, tier).files()
    assert f"src/tri_backend_{name}/plugin.py" in made
    assert {".github/workflows/ci.yml", ".gitignore", "LICENSE", f"src/tri_backend_{name}/py.typed"} <= set(
        made
    )
    for path, text in made.items():
        if path.endswith(".py"):
            ast.parse(text, path)
        assert "{{" not in text.replace("${{", "")
        assert "{%" not in text
    table = tomllib.loads(made["pyproject.toml"])
    assert table["project"]["entry-points"]["tri"] == {name: f"tri_backend_{name}.plugin"}
    assert {"tri-core>=0.1,<0.2", f"{TIERS[tier]}>=0.1,<0.2"} <= set(table["project"]["dependencies"])
    tomllib.loads(made[f"src/tri_backend_{name}/conformance.toml"])


@pytest.mark.parametrize(
    ("version", "wanted"), [("0.1.0", ">=0.1,<0.2"), ("0.12.3.dev1", ">=0.12,<0.13"), ("2.3.1", ">=2.3,<3")]
)
def test_ranges_are_those_of_the_installed_versions(
    version: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: version)
    made = BackendProject.of_installed("acme").files()["pyproject.toml"]
    assert f'"tri-core{wanted}"' in made
    assert f'"tri-conformance{wanted}"' in made


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        if package == "tri-gpu-dialect":
            raise metadata.PackageNotFoundError(package)
        return "0.1.0"

    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(OptionError, match="tri-gpu-dialect") as refused:
        BackendProject.of_installed("acme")
    assert "new-backend" in str(refused.value.remedy)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = new_backend("acme", tmp_path)
    (folder / "README.md").write_text("mine")
    with pytest.raises(OptionError, match="is there already"):
        new_backend("acme", tmp_path)
    assert (folder / "README.md").read_text() == "mine"


def test_an_unknown_tier_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["new-backend", "acme", "-d", str(tmp_path), "--tier", "ptx"])
    assert result.exit_code
    with pytest.raises(OptionError, match="no tier 'ptx'") as refused:
        new_backend("acme", tmp_path, "ptx")
    assert refused.value.remedy == "choose one of ttir, ttgir, llvm"
    assert not any(tmp_path.iterdir())


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "tri-backend-acme").mkdir()
    assert (new_backend("acme", tmp_path) / "pyproject.toml").is_file()


@pytest.mark.parametrize("tier", TIERS)
def test_the_command_says_where_the_project_is(tmp_path: Path, tier: str) -> None:
    command = ["new-backend", "acme", "--directory", str(tmp_path / "new"), "--tier", tier]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "tri-backend-acme" in result.output
    written = {
        p.relative_to(tmp_path / "new" / "tri-backend-acme").as_posix()
        for p in (tmp_path / "new").rglob("*")
        if p.is_file()
    }
    assert written == set(project("acme", tier).files())
