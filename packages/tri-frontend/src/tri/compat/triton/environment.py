"""An environment in which ``import triton`` is tri in every process: ``python -m tri.compat.triton --on``.

A ``.pth`` file puts the folder of the stand-in on the path of each interpreter that starts there, in notebooks, ``python -m``
and workers of any kind; the metadata of a distribution ``triton`` lets installers and programs find the version that it
answers for.  Both belong to that distribution, so that ``pip uninstall triton`` removes them, too.
``TRI_AS_TRITON=0`` leaves it out of a single program.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Self

from tri.compat.triton.paths import FOLDER
from tri_core.errors import TriError
from tri_core.files import make_folder, write
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Environment"]

_NAME = "triton"
_PTH = "tri_as_triton.pth"
#: whose metadata it is
_INSTALLER = "tri.compat.triton"
#: first on the path: a Triton that is hidden lies behind it
_LINE = (
    "import os, sys; os.environ.get('TRI_AS_TRITON', '1') not in ('0', 'off', 'no', 'false') and "
    "({version}, sys.path.insert(0, {folder!r}))\n"
)
_METADATA = """Metadata-Version: 2.1
Name: triton
Version: {version}
Summary: tri under Triton's name, by `python -m tri.compat.triton --on`
"""


@dataclass(frozen=True)
class Environment:
    """The folder of a Python environment's packages, ``site``."""

    site: Path

    @classmethod
    def current(cls) -> Self:
        """That of this interpreter."""
        return cls(Path(sysconfig.get_path("purelib")))

    @property
    def is_on(self) -> bool:
        """``import triton`` is tri there."""
        return (self.site / _PTH).is_file()

    def turn_on(self, version: str, *, hides: bool = False) -> None:
        """Have ``import triton`` mean tri, as Triton ``version``; TriError where a Triton is installed, unless it ``hides`` that.

        OptionError where the folder cannot be written.
        """
        real = self.real()
        if real is not None and not hides:
            raise TriError(
                f"Triton {real} is installed in {self.site}, and would be hidden",
                remedy="pip uninstall triton, or say --hide; for one program: python -m tri.compat.triton script.py",
            )
        setting = f"os.environ.setdefault('TRI_TRITON_VERSION', {version!r})"
        write(self.site / _PTH, _LINE.format(version=setting, folder=FOLDER))
        self._remove_metadata()
        if real is None:
            self._write_metadata(version)

    def turn_off(self) -> None:
        """Undo :meth:`turn_on`."""
        (self.site / _PTH).unlink(missing_ok=True)
        self._remove_metadata()

    def real(self) -> str | None:
        """The version of the Triton that is installed; None without one."""
        for found in metadata.distributions(name=_NAME, path=[str(self.site)]):
            if not _is_ours(found):
                return found.version
        return "without metadata" if (self.site / _NAME / "__init__.py").is_file() else None

    def says(self) -> str:
        """On or off, the Triton that is hidden, and what ``import triton`` is in a new process."""
        state = f"on, by {self.site / _PTH}" if self.is_on else "off"
        real = self.real()
        lines = [f"tri as triton: {state}"]
        if real is not None:
            lines.append(f"Triton {real} is installed here{', and hidden' if self.is_on else ''}")
        return "\n".join([*lines, f"import triton: {_imported()}"])

    def _write_metadata(self, version: str) -> None:
        folder = make_folder(self.site / f"{_NAME}-{version}.dist-info")
        files = {
            f"{folder.name}/METADATA": _METADATA.format(version=version),
            f"{folder.name}/INSTALLER": f"{_INSTALLER}\n",
        }
        for name, text in files.items():
            write(self.site / name, text)
        files[_PTH] = (self.site / _PTH).read_text()
        rows = [f"{name},{_digest(text)},{len(text.encode())}" for name, text in files.items()]
        write(folder / "RECORD", "\n".join([*rows, f"{folder.name}/RECORD,,", ""]))

    def _remove_metadata(self) -> None:
        for folder in self.site.glob(f"{_NAME}-*.dist-info"):
            if _is_ours(metadata.PathDistribution(folder)):
                shutil.rmtree(folder)


def _is_ours(found: metadata.Distribution) -> bool:
    return (found.read_text("INSTALLER") or "").strip() == _INSTALLER


def _digest(text: str) -> str:
    """As RECORD files have it (PEP 376, PEP 427)."""
    made = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
    return f"sha256={made.decode()}"


def _imported() -> str:
    """Version and file of the ``triton`` that a new process imports, which inherits nothing of this one."""
    program = "import triton, sys; print(triton.__version__, 'of', getattr(triton, '__file__', None))"
    inherited = {name: value for name, value in os.environ.items() if name != "TRI_TRITON_VERSION"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(sys.executable).parent,
        env=inherited,
    )
    return done.stdout.strip() or (done.stderr.strip().splitlines() or ["nothing"])[-1]
