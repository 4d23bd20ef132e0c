"""Content hashes: they change with what is imported, and with nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tri_core.plugins import fingerprint as fp
from tri_core.plugins.discovery import canonical

EMPTY = "TRI_PLUGIN_API = (1, 0)\n"


@pytest.fixture
def of() -> Callable[[str], str]:
    """The fingerprint of a distribution, as a new process would compute it."""

    def compute(name: str) -> str:
        fp.forget()
        return fp.distribution_fingerprint(name)

    return compute


def make_editable(site: Any, name: str) -> None:
    """Turn what ``site`` installed into an editable install: the record knows no file of the package."""
    elsewhere = site.root / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (site.root / f"fake_{name}").rename(elsewhere / f"fake_{name}")
    (site.root / f"_{name}.pth").write_text(f"{elsewhere}\n")
    (site.root / f"tri_{name}-1.0.dist-info" / "RECORD").write_text(f"_{name}.pth,,\n")
    sys.path.insert(0, str(elsewhere))


def test_an_installed_wheel_is_its_record(site: Any, of: Any) -> None:
    package = site.install("a", EMPTY)
    before = of("tri-a")
    (package / "notes.txt").write_text("not recorded")
    assert of("tri-a") == before == of("TRI_A")
    (site.root / "tri_a-1.0.dist-info" / "RECORD").write_text("fake_a/__init__.py,sha256=2,1\n")
    assert of("tri-a") != before


def test_versions_count(site: Any, of: Any) -> None:
    site.install("a", EMPTY)
    before = of("tri-a")
    metadata = site.root / "tri_a-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("1.0", "1.1"))
    assert of("tri-a") != before


def test_an_editable_install_is_its_files(site: Any, of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    site.install("a", EMPTY)
    make_editable(site, "a")
    package = site.root / "elsewhere" / "fake_a"
    seen = {of("tri-a")}
    (package / "plugin.py").write_text(EMPTY + "# changed")
    seen.add(of("tri-a"))
    (package / "data").mkdir()
    (package / "data" / "table.bin").write_bytes(b"\0\1")
    seen.add(of("tri-a"))
    (package / "data" / "table.bin").rename(package / "data" / "other.bin")
    seen.add(of("tri-a"))
    assert len(seen) == 4
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "plugin.cpython-311.pyc").write_bytes(b"\0")
    assert of("tri-a") in seen


def test_a_package_shadowed_on_the_path_is_what_is_imported(
    site: Any, of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.install("a", EMPTY)
    before = of("tri-a")
    shadow = tmp_path / "shadow" / "fake_a"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(shadow.parent)
    first = of("tri-a")
    (shadow / "__init__.py").write_text("x = 1")
    assert len({before, first, of("tri-a")}) == 3


def test_requirements_count_down_to_the_libraries(site: Any, of: Any) -> None:
    site.install("lib", EMPTY)
    site.install("deep", EMPTY, requires=("tri-core>=0.1", "tri-lib"))
    site.install("a", EMPTY, requires=("tri-core", "tri-deep>=1", "tri-absent; extra == 'more'", "tri-gone"))
    seen = {of("tri-a")}

    def record(name: str, text: str) -> None:
        (site.root / f"tri_{name}-1.0.dist-info" / "RECORD").write_text(text)
        seen.add(of("tri-a"))

    record("deep", "fake_deep/__init__.py,sha256=3,1\n")
    record("lib", "fake_lib/__init__.py,sha256=4,1\n")
    site.install("gone", EMPTY)
    seen.add(of("tri-a"))
    assert len(seen) == 4
    site.install("absent", EMPTY)
    assert of("tri-a") in seen


def test_distributions_that_need_each_other(site: Any, of: Any) -> None:
    site.install("a", EMPTY, requires=("tri-core", "tri-b"))
    site.install("b", EMPTY, requires=("tri-core", "tri-a"))
    assert of("tri-a") == of("tri-b")


def test_a_single_file_and_a_name_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "fake_single.py").write_text("x = 1")
    fp.forget()
    before = fp.package_fingerprint("fake_single")
    (tmp_path / "fake_single.py").write_text("x = 2")
    fp.forget()
    assert fp.package_fingerprint("fake_single") != before
    assert fp.package_fingerprint("fake_none") != fp.package_fingerprint("fake_nil")
    assert "fake_single" not in sys.modules


def test_core_is_hashed() -> None:
    assert len(fp.core_fingerprint()) == 64
    assert fp.core_fingerprint() == fp.core_fingerprint()


@pytest.mark.parametrize("name", ["Tri_Core", "tri.core", "tri-_core", "TRI-CORE"])
def test_names_are_compared_as_indexes_do(name: str) -> None:
    assert canonical(name) == "tri-core"
