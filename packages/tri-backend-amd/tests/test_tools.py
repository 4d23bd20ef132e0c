from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from tri_backend_amd import tools
from tri_core.api import ToolchainError


def program(folder: Path, name: str, script: str = "exit 0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without ROCm, without LLVM on the path and without ziglang."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("ROCM_PATH", raising=False)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return tmp_path


def test_without_a_linker_the_remedy_is_reported(nothing: Path) -> None:
    if Path("/opt/rocm").exists():
        pytest.skip("ROCm is installed")
    with pytest.raises(ToolchainError) as caught:
        tools.find(tools.LINKER)
    assert "pip install 'tri-backend-amd[lld]'" in str(caught.value.remedy)
    assert "TRI_AMD_LLD" in str(caught.value.remedy)


def test_pypi_has_no_disassembler(nothing: Path) -> None:
    with pytest.raises(ToolchainError) as caught:
        tools.find(tools.DISASSEMBLER)
    assert "pip" not in str(caught.value.remedy)


def test_rocm_comes_before_the_path(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = program(nothing / "bin", "ld.lld")
    assert tools.find(tools.LINKER) == ("ld.lld",)
    in_rocm = program(nothing / "rocm" / "llvm" / "bin", "ld.lld")
    monkeypatch.setenv("ROCM_PATH", str(nothing / "rocm"))
    assert tools.find(tools.LINKER) == (str(in_rocm),)
    del on_path


def test_versioned_names_are_found_newest_first(nothing: Path) -> None:
    program(nothing / "bin", "ld.lld-17")
    program(nothing / "bin", "ld.lld-21")
    assert tools.find(tools.LINKER) == ("ld.lld-21",)


def test_the_knob_wins(nothing: Path) -> None:
    program(nothing / "bin", "ld.lld")
    assert tools.find(tools.LINKER, "/my/lld") == ("/my/lld",)


def test_the_package_of_pypi_links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("ziglang")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ROCM_PATH", raising=False)
    command = tools.find(tools.LINKER)
    assert os.path.basename(command[0]).startswith("zig")
    tools.run(tools.LINKER, command, ["--version"])


def test_a_failing_tool_is_reported_with_its_text(tmp_path: Path) -> None:
    broken = program(tmp_path, "ld.lld", "echo cannot open it >&2; exit 3")
    with pytest.raises(ToolchainError, match="cannot open it") as caught:
        tools.run(tools.LINKER, [str(broken)], ["x.o"])
    assert caught.value.returncode == 3


def test_a_missing_tool_is_reported() -> None:
    with pytest.raises(ToolchainError, match="cannot be run"):
        tools.run(tools.LINKER, ["/nonexistent/ld.lld"], [])
