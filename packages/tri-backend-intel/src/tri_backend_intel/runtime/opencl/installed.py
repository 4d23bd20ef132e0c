"""Intel's OpenCL driver for CPUs, as pip installs it."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

__all__ = ["announce_opencl_cpu", "opencl_cpu_library"]

_OPENCL_CPU = "intelocl64.dll" if sys.platform == "win32" else "libintelocl.so"


def opencl_cpu_library() -> Path | None:
    """The OpenCL driver for CPUs that the distribution ``intel-opencl-rt`` installed, if it did."""
    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == _OPENCL_CPU:
            path = Path(str(file.locate())).resolve()
            return path if path.exists() else None
    return None


def announce_opencl_cpu() -> None:
    """Tell the OpenCL loader of the pip-installed CPU driver; a user's own setting stays.

    The loader reads the variable when it first lists platforms, which loading it does not do.
    """
    if "OCL_ICD_FILENAMES" not in os.environ:
        library = opencl_cpu_library()
        if library is not None:
            os.environ["OCL_ICD_FILENAMES"] = str(library)
