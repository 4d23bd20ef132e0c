"""Which HIP libraries are found, and what an installation that is not whole is told; files stand for ROCm's."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import pytest

from tri_backend_amd.runtime import devices, installed
from tri_backend_amd.runtime import hip as door
from tri_backend_amd.runtime.installed import UnusableHip
from tri_core.notices import PluginWarning

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ROCm's folders on Linux")


@pytest.fixture(autouse=True)
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without ROCm, and a process that has loaded none."""
    monkeypatch.delenv("ROCM_HOME", raising=False)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(installed, "_MAPS", tmp_path / "maps")
    devices.probe.cache_clear()
    door.hip.cache_clear()


def rocm(root: Path, *names: str) -> Path:
    for name in names:
        (root / "lib").mkdir(parents=True, exist_ok=True)
        (root / "lib" / name).write_bytes(b"no library")
    return root


def maps(tmp_path: Path, *files: Path) -> None:
    """The process's map of memory, with two parts of each of ``files``."""
    line = "7f00000-7f00fff r-xp 00000000 08:01 1234      {}\n"
    text = "".join(2 * line.format(path) for path in files) + line.format("/usr/lib/libc.so.6")
    (tmp_path / "maps").write_text(text + "7f000000-7f001000 rw-p 00000000 00:00 0 \n")


@pytest.mark.parametrize("name", installed.NAMES)
@pytest.mark.parametrize("variable", ["ROCM_PATH", "ROCM_HOME"])
def test_every_name_below_rocm_is_hip(
    name: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not door.hip_present()
    monkeypatch.delenv("ROCM_PATH")
    monkeypatch.setenv(variable, str(rocm(tmp_path / "rocm", name)))
    assert installed.installed() == (tmp_path / "rocm/lib" / name,)
    assert door.hip_present()


def test_a_wheel_goes_before_rocm_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "site" / "_rocm_sdk_core"
    rocm(wheel, "libamdhip64.so.7", "libamdhip64.so")
    (wheel / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(wheel.parent))
    monkeypatch.setenv("ROCM_PATH", str(rocm(tmp_path / "rocm", "libamdhip64.so")))
    assert [path.parents[1].name for path in installed.installed()] == [
        "_rocm_sdk_core",
        "_rocm_sdk_core",
        "rocm",
    ]
    assert installed.installed()[0].name == "libamdhip64.so"


def test_the_system_finds_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def load(name: str) -> None:
        asked.append(name)
        if name != "libamdhip64.so.5":
            raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", load)
    assert door.hip_present()
    assert asked == list(installed.NAMES)


def test_what_the_process_has_loaded_is_hip(tmp_path: Path) -> None:
    torch = rocm(tmp_path / "torch", "libamdhip64.so") / "lib/libamdhip64.so"
    maps(tmp_path, torch)
    assert installed.loaded() == (torch.resolve(),)
    assert door.hip_present()
    installed.check_one()


def test_two_runtimes_are_named(tmp_path: Path) -> None:
    files = [rocm(tmp_path / at, "libamdhip64.so.6") / "lib/libamdhip64.so.6" for at in ("torch", "rocm")]
    maps(tmp_path, *files)
    with pytest.raises(UnusableHip, match="has loaded 2 HIP runtimes") as caught:
        installed.check_one()
    assert all(str(path.resolve()) in caught.value.message for path in files)
    assert "ROCM_PATH" in str(caught.value.remedy)


def test_a_library_under_two_names_is_one_runtime(tmp_path: Path) -> None:
    library = rocm(tmp_path / "rocm", "libamdhip64.so.6") / "lib/libamdhip64.so.6"
    link = library.with_name("libamdhip64.so")
    link.symlink_to(library)
    maps(tmp_path, library, link)
    installed.check_one()


def test_hip_python_is_led_to_what_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PATH", str(rocm(tmp_path / "rocm", "libamdhip64.so")))
    maps(tmp_path, rocm(tmp_path / "torch", "libamdhip64.so") / "lib/libamdhip64.so")
    with installed.leading_to_loaded():
        assert os.environ["ROCM_PATH"] == str((tmp_path / "torch").resolve())
    assert os.environ["ROCM_PATH"] == str(tmp_path / "rocm")


def test_a_library_without_its_plain_name_is_half_a_rocm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCM_PATH", str(rocm(tmp_path / "rocm", "libamdhip64.so.6")))
    assert "has libamdhip64.so.6 and no libamdhip64.so" in installed.loading_remedy()


def test_half_a_rocm_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that the system cannot load, under the real hip-python."""
    pytest.importorskip("hip")
    monkeypatch.setenv("ROCM_PATH", str(rocm(tmp_path / "rocm", "libamdhip64.so")))
    assert "the system cannot load it" in installed.loading_remedy()
    with pytest.warns(
        PluginWarning, match=r"HIP is there, but hipRuntimeGetVersion: .*install all of this ROCm"
    ):
        assert devices.probe() == ()
    devices.probe.cache_clear()


def test_rocm_path_that_names_nothing(tmp_path: Path) -> None:
    assert f"ROCM_PATH ({tmp_path / 'none'}) has no lib/libamdhip64.so" in installed.loading_remedy()
