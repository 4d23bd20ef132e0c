"""Content hashes: they change with what is imported, and with nothing else."""

from __future__ import annotations

import importlib
import os
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


def test_an_installed_wheel_is_its_files(site: Any, of: Any) -> None:
    package = site.install("a", EMPTY)
    before = of("tri-a")
    assert of("TRI_A") == before
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "plugin.cpython-311.pyc").write_bytes(b"\0")
    assert of("tri-a") == before
    (package / "plugin.py").write_text(EMPTY + "# edited")
    assert of("tri-a") != before


def test_an_edit_that_keeps_size_and_time_stamps_is_seen(site: Any, of: Any) -> None:
    file = site.install("a", "VALUE = 1\n") / "plugin.py"
    before, status = of("tri-a"), file.stat()
    file.write_text("VALUE = 2\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert of("tri-a") != before


def test_a_part_of_a_namespace_is_its_recorded_files(site: Any, of: Any) -> None:
    site.install("a", EMPTY)
    (site.root / "fake_a" / "__init__.py").unlink()
    before = of("tri-a")
    (site.root / "fake_a" / "of_another_distribution.py").touch()
    assert of("tri-a") == before
    (site.root / "fake_a" / "plugin.py").write_text(EMPTY + "# edited")
    assert of("tri-a") != before


def test_a_module_is_its_outermost_package_that_is_no_namespace(tmp_path: Path, site: Any) -> None:
    folder = site.root / "fake_space" / "part"
    folder.mkdir(parents=True)
    for name in ("__init__", "plugin", "rules"):
        (folder / f"{name}.py").touch()
    importlib.import_module("fake_space.part.plugin")
    before = fp.module_fingerprint("fake_space.part.plugin")
    (folder / "rules.py").write_text("RULE = 1")
    fp.forget()
    assert fp.module_fingerprint("fake_space.part.plugin") != before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in folders are POSIX's")
def test_what_is_no_file_is_not_read(site: Any, of: Any) -> None:
    package = site.install("a", EMPTY)
    os.mkfifo(package / "pipe")
    (package / "dangling").symlink_to("nowhere")
    (package / "loop").symlink_to(package)
    assert of("tri-a") == of("tri-a")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_to_folders_are_followed(site: Any, of: Any, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (site.install("a", EMPTY) / "rules").symlink_to(tmp_path / "rules")
    before = of("tri-a")
    (tmp_path / "rules" / "table.py").write_text("RULE = 1")
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

    (site.root / "fake_deep" / "plugin.py").write_text(EMPTY + "# edited")
    seen.add(of("tri-a"))
    (site.root / "tri_lib-1.0.dist-info" / "RECORD").write_text("fake_lib/__init__.py,sha256=4,1\n")
    seen.add(of("tri-a"))
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
