"""The HIP libraries that this machine has, and those that this process has loaded.

hip-python opens the one of the wheel ``rocm-sdk``, else ``ROCM_PATH``'s (or ``ROCM_HOME``'s, or ``/opt/rocm``'s), else whichever
the system finds by name.  PyTorch brings one along and loads it first.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tri_core.api import DeviceError

__all__ = [
    "NAMES",
    "check_one",
    "found_by_name",
    "installed",
    "leading_to_loaded",
    "loaded",
    "loading_remedy",
]

_POSIX = ("libamdhip64.so", *(f"libamdhip64.so.{major}" for major in (7, 6, 5)))
_WINDOWS = ("amdhip64.dll", *(f"amdhip64_{major}.dll" for major in (7, 6, 5)))
#: the library's names: the one that hip-python opens first, then those of ROCm's versions
NAMES = _WINDOWS if sys.platform == "win32" else _POSIX
_FOLDER = "bin" if sys.platform == "win32" else "lib"
_WHEEL = "_rocm_sdk_core"
_MAPS = Path("/proc/self/maps")
_INSTALL = "install ROCm, or compile without launching by naming a target such as amd:gfx942"


class UnusableHip(DeviceError):
    """HIP is on this machine, and this environment cannot use it."""


def _roots() -> Iterator[Path]:
    """The folders that hold a ROCm, in hip-python's order."""
    wheel = importlib.util.find_spec(_WHEEL)
    yield from map(Path, (wheel.submodule_search_locations or ()) if wheel is not None else ())
    named = os.environ.get("ROCM_PATH") or os.environ.get("ROCM_HOME")
    if named or sys.platform != "win32":
        yield Path(named or "/opt/rocm")


def installed() -> tuple[Path, ...]:
    """The library's files below ROCm's folders, those that hip-python prefers first; it opens the first of them or none."""
    found = (root / _FOLDER / name for root in _roots() for name in NAMES)
    return tuple(path for path in found if path.exists())


def loaded() -> tuple[Path, ...]:
    """The files of HIP that this process has loaded, each once; none where the system does not tell."""
    try:
        lines = _MAPS.read_text(errors="replace").splitlines()
    except OSError:
        return ()
    paths = (Path(line.split(maxsplit=5)[-1]) for line in lines if "amdhip64" in line)
    named = {path for path in paths if path.name.startswith((*_POSIX[:1], *_WINDOWS[:1]))}
    return tuple(sorted({path.resolve() for path in named}))


def found_by_name() -> bool:
    """True where the system finds the library by one of its names."""
    for name in NAMES:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


@contextmanager
def leading_to_loaded() -> Iterator[None]:
    """Let hip-python find the library that PyTorch has loaded, rather than load another one beside it, in a ``with`` block."""
    first = next((path for path in loaded() if path.parent.name == _FOLDER), None)
    before = os.environ.get("ROCM_PATH")
    unlinked = first is None or not (first.parent / NAMES[0]).exists()
    if first is None or unlinked or any(path.resolve() == first for path in installed()[:1]):
        yield
        return
    os.environ["ROCM_PATH"] = str(first.parent.parent)
    try:
        yield
    finally:
        if before is None:
            del os.environ["ROCM_PATH"]
        else:
            os.environ["ROCM_PATH"] = before


def check_one() -> None:
    """UnusableHip where this process has two HIP libraries: streams and events of one mean nothing to the other."""
    files = loaded()
    if len(files) > 1:
        raise UnusableHip(
            f"this process has loaded {len(files)} HIP runtimes: {', '.join(map(str, files))}",
            remedy="let ROCM_PATH name the one that PyTorch uses (the folder above its lib), or remove the other one",
        )


def loading_remedy() -> str:
    """The remedy where the library cannot be loaded: of half a ROCm it names the half that is there."""
    files = installed()
    if not files:
        named = os.environ.get("ROCM_PATH") or os.environ.get("ROCM_HOME")
        return f"ROCM_PATH ({named}) has no {_FOLDER}/{NAMES[0]}: {_INSTALL}" if named else _INSTALL
    first = files[0]
    if first.name != NAMES[0]:
        return f"{first.parent} has {first.name} and no {NAMES[0]}, which hip-python opens: install ROCm's development files, or link it"
    try:
        ctypes.CDLL(str(first))
    except OSError as failure:
        return (
            f"{first} is there, and the system cannot load it ({failure}): install all of this ROCm's runtime"
        )
    return f"{first} is there and can be loaded: does the installed hip-python fit that ROCm?"
