"""Intel's offline compiler, ``ocloc``, unpacked into a folder of its own: ``python -m integration.bench_intel_static.fetch_ocloc [FOLDER]``.

It is the compiler that Intel's GPU driver has, and runs without a GPU.  The packages are those of Debian's unstable, through
the mirror that apt is configured with, with the C library that they want; nothing is installed.  Prints the path of a
wrapper.  Where it cannot be had (no apt, no Debian mirror, no network, another processor) the reason is printed and the exit
status is 1.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["NotToBeHad", "fetch", "folder"]

#: the program, and the compiler and its front end, which it opens while it runs
_PACKAGES = ("intel-ocloc", "libigc2", "libigdfcl2")
_SECONDS = 300


class NotToBeHad(Exception):
    """Error with the reason that there is no ``ocloc``."""


def folder() -> Path:
    """Folder to which it is unpacked."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tri-igc"


def fetch(to: Path | None = None) -> Path:
    """The wrapper in ``to``, fetched where it is not there yet; :class:`NotToBeHad` says why not."""
    to = to or folder()
    wrapper = to / "ocloc"
    if wrapper.exists():
        return wrapper
    if platform.machine() != "x86_64" or not all(map(shutil.which, ("apt-get", "dpkg"))):
        raise NotToBeHad("packages of Debian for x86-64 are unpacked, and this machine has no apt for them")
    shutil.rmtree(to, ignore_errors=True)
    try:
        options = _settings(to, _mirror())
        _run(["apt-get", "-qq", *options, "update"])
        _run(["apt-get", "-qq", "-y", "--download-only", *options, "install", *_PACKAGES])
        root = to / "root"
        for package in sorted((to / "archives").glob("*.deb")):
            _run(["dpkg", "-x", str(package), str(root)])
        _write(wrapper, _command(root))
        _run([str(wrapper), "--version"])
    except NotToBeHad:
        wrapper.unlink(missing_ok=True)
        raise
    return wrapper


def _mirror() -> str:
    """Of Debian, among those that apt is configured with."""
    said = _run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"])
    found = [uri for uri in said.split() if uri.rstrip("/").endswith("/debian")]
    if not found:
        raise NotToBeHad("apt has no mirror of Debian")
    return found[0]


def _settings(to: Path, mirror: str) -> list[str]:
    """Options with which apt keeps everything in ``to``, and takes nothing for installed."""
    for name in ("lists/partial", "archives/partial", "root"):
        (to / name).mkdir(parents=True)
    (to / "status").touch()
    keyring = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    signed = f"[signed-by={keyring}] " if keyring.exists() else ""
    (to / "sources.list").write_text(f"deb {signed}{mirror} sid main\n")
    names = {
        "Dir::Etc::sourcelist": to / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": to / "lists",
        "Dir::State::status": to / "status",
        "Dir::Cache::archives": to / "archives",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Acquire::Languages": "none",
        "APT::Install-Recommends": "false",
    }
    return [word for name, value in names.items() for word in ("-o", f"{name}={value}")]


def _command(root: Path) -> list[str]:
    """``ocloc`` under the C library that it was built for."""
    libraries = next(root.rglob("libocloc.so"), None)
    loader = next((p for p in root.rglob("ld-linux-x86-64.so.2") if p.resolve().is_file()), None)
    program = max((root / "usr/bin").glob("ocloc*"), default=None)
    if libraries is None or loader is None or program is None or not any(root.rglob("libigc.so*")):
        raise NotToBeHad("the packages hold no ocloc, or no compiler for it")
    return [str(loader), "--library-path", str(libraries.parent), str(program)]


def _write(wrapper: Path, command: Sequence[str]) -> None:
    words = " ".join(f"'{word}'" for word in command)
    wrapper.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    wrapper.chmod(0o755)


def _run(command: Sequence[str]) -> str:
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotToBeHad(f"{command[0]}: {error}") from error
    if made.returncode:
        raise NotToBeHad(f"{' '.join(command[:2])}: {(made.stderr or made.stdout).strip()[-500:]}")
    return made.stdout


def main(arguments: Sequence[str]) -> int:
    """Print the path, or why there is none."""
    try:
        sys.stdout.write(f"{fetch(Path(arguments[0]) if arguments else None)}\n")
    except NotToBeHad as error:
        sys.stderr.write(f"no ocloc here: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
