"""Kernels of packages for AMD's GPUs as their launchers specialize them; one process for a package and an architecture.

``python -m integration.strangers.amd.recording PACKAGE FOLDER ARCHITECTURE OUT`` is that process: a line of JSON in ``OUT`` for each kernel.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import tri.compat.triton
from integration.published.limits import TooLong, limited
from integration.strangers.record import Kernel, read

__all__ = ["ARCHITECTURES", "PACKAGES", "recorded"]

PACKAGES = ("aiter", "vllm")
#: what packages are asked to launch for, by the GPU that is compiled for: they have no configurations of RDNA4's, whose fp8 is gfx950's
ARCHITECTURES = {"gfx942": "gfx942", "gfx950": "gfx950", "gfx1201": "gfx950"}
#: seconds for one launcher, and for a package
_LIMIT, _WHOLE = 60, 600
#: one of so many of the kernels in git that are fla's
_EVERY = 8


def recorded(folder: Path, target: str) -> list[Kernel]:
    """Kernels to compile for ``target``: what packages in ``folder`` launch there, what they have for gfx950 alone, and fla's in git."""
    found = [kernel for name in PACKAGES for kernel in _of(name, folder, ARCHITECTURES[target])]
    names = {kernel.name for kernel in found}
    if target == "gfx942":
        others = (kernel for name in PACKAGES for kernel in _of(name, folder, "gfx950"))
        found += [kernel for kernel in others if kernel.name not in names]
    return found + [kernel for kernel in read() if kernel.package == "fla-core"][::_EVERY]


def _of(name: str, folder: Path, architecture: str) -> list[Kernel]:
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary, "kernels")
        command = [sys.executable, "-W", "ignore", "-m", "integration.strangers.amd.recording"]
        subprocess.run(
            [*command, name, str(folder), architecture, str(out)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=_WHOLE, check=False,
        )  # fmt: skip
        return [Kernel(**json.loads(line)) for line in out.read_text().splitlines()] if out.exists() else []


def _listened(name: str, folder: Path, architecture: str) -> Iterator[Kernel]:
    """The kernels that the calls of a package launch; what a call dies of is written to stderr."""
    from integration.strangers.amd.device import standing_in
    from integration.strangers.recorder import Recorder

    source = importlib.import_module(f"integration.strangers.amd.{name}")
    try:
        version = next(
            d.version for d in importlib.metadata.distributions(name=source.NAME, path=[str(folder)])
        )
    except StopIteration:
        sys.stderr.write(f"{source.NAME} is not in {folder}\n")
        return
    heard: list[Kernel] = []
    recorder = Recorder(source.NAME, version, heard=heard.append)
    with standing_in(architecture), recorder.listening():
        for label, call in source.calls(folder):
            recorder.operator = label
            try:
                with limited(_LIMIT):
                    call()
            except (Exception, TooLong) as error:
                sys.stderr.write(
                    f"{source.NAME} {label} for {architecture}: {type(error).__name__}: {error}\n"
                )
            yield from heard
            heard.clear()
    sys.stderr.writelines(f"not recorded, {n} times: {why}\n" for why, n in recorder.skipped.most_common())


def main(name: str, folder: Path, architecture: str, out: Path) -> None:
    """Record the package ``name``."""
    tri.compat.triton.install()
    with out.open("w") as file:
        for kernel in _listened(name, folder, architecture):
            print(json.dumps(asdict(kernel)), file=file, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), sys.argv[3], Path(sys.argv[4]))
