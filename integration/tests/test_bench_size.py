from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from integration.bench_size import TOP, closure, megabytes


def _installs(site: Path, name: str, requires: Sequence[str], extras: Sequence[str] = ()) -> None:
    """A distribution that ``site`` has, with one file of 2,000 bytes."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0"]
    lines += [f"Provides-Extra: {extra}" for extra in extras]
    lines += [f"Requires-Dist: {text}" for text in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "RECORD").write_text(f"{name}.bin,,2000\n")
    (site / f"{name}.bin").write_bytes(bytes(2000))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    return tmp_path


def test_what_a_package_brings_is_without_its_extras_unless_they_are_named(site: Path) -> None:
    needs = ["tri_x_needed>=1", "tri-x-driver; extra == 'cpu'", "tri-x-sycl>=2; extra == 'sycl'"]
    _installs(site, "tri_x", needs, ["cpu", "sycl"])
    _installs(site, "tri_x_needed", ["tri-x[cpu]; python_version < '3'", "tri-x-absent"])
    _installs(site, "tri_x_driver", ["tri-x-needed"])
    _installs(site, "tri_x_sycl", ["tri-x"])
    assert closure(["tri-x"]) == {"tri-x", "tri-x-needed"}
    assert closure(["tri-x[cpu]"]) == {"tri-x", "tri-x-needed", "tri-x-driver"}
    assert closure(["tri-x", "tri-x[sycl]"]) == {"tri-x", "tri-x-needed", "tri-x-sycl"}
    assert closure(["tri-x-absent"]) == set()


def test_sizes_are_those_of_the_files(site: Path) -> None:
    _installs(site, "tri_x", [])
    assert megabytes("tri-x") == pytest.approx(0.002)


def test_packages_of_the_checkout_are_read_there() -> None:
    """An editable installation has the requirements of its day, and no files."""
    needed = closure(["tri-backend-nvidia"])
    assert {"tri-core", "cuda-python"} <= needed
    source = sum(path.stat().st_size for path in (TOP / "packages/tri-runtime/src").rglob("*.py"))
    assert source < megabytes("tri-runtime") * 1e6 < 4 * source
