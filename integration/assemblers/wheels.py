"""Versions of ptxas from their wheels: downloaded by pip, of which only ptxas is kept."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

__all__ = ["fetched"]


def fetched(version: str) -> Path:
    """The ptxas of ``version`` (``"13.0.88"``), kept in ``$TRI_PTXAS_DIR`` or ``~/.cache/tri-ptxas``; CalledProcessError where pip finds none."""
    folder = Path(os.environ.get("TRI_PTXAS_DIR") or Path.home() / ".cache" / "tri-ptxas") / version
    place = folder / "ptxas"
    if place.is_file():
        return place
    package = "nvidia-cuda-nvcc-cu12" if version.startswith("12.") else "nvidia-cuda-nvcc"
    with tempfile.TemporaryDirectory() as wheels:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "-d",
            wheels,
            f"{package}=={version}",
        ]
        subprocess.run(command, check=True, timeout=1200)
        for wheel in Path(wheels).glob("*.whl"):
            with zipfile.ZipFile(wheel) as packed:
                name = next(each for each in packed.namelist() if each.endswith("/bin/ptxas"))
                folder.mkdir(parents=True, exist_ok=True)
                beside = folder / f"ptxas.{os.getpid()}"
                beside.write_bytes(packed.read(name))
                beside.chmod(0o755)
                beside.rename(place)
    return place
