"""``python -m integration.stubs``: write the stubs of the kernel language; ``--check``: say which are not what it writes."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from integration.stubs.modules import MODULES, stub
from integration.stubs.triton import TYPINGS, stubs

_SOURCES = Path(__file__).parents[2] / "packages" / "tri-frontend" / "src"


def path_of(module: str) -> Path:
    """Path of the stub of ``module``: beside it."""
    place = _SOURCES.joinpath(*module.split("."))
    return place / "__init__.pyi" if place.is_dir() else place.with_suffix(".pyi")


def made() -> Iterator[tuple[Path, str]]:
    """Each stub's place and text, formatted."""
    for module in MODULES:
        yield path_of(module), _formatted(stub(module))
    for path, text in stubs():
        yield _SOURCES / path, _formatted(text)


def _formatted(text: str) -> str:
    command = [sys.executable, "-m", "ruff"]
    for arguments in (
        ["check", "--quiet", "--select", "I,F401,PIE790,RUF022", "--fix-only"],
        ["format", "--quiet"],
    ):
        done = subprocess.run(
            [*command, *arguments, "--stdin-filename", str(_SOURCES / "stub.pyi"), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = done.stdout
    return text


def main() -> int:
    """Write, or check; 1 if a stub is not what would be written."""
    parser = argparse.ArgumentParser(prog="python -m integration.stubs", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; name the stubs that are out of date"
    )
    check = parser.parse_args().check
    wanted = list(made())
    stale = [(p, t) for p, t in wanted if not p.is_file() or p.read_text() != t]
    gone = [p for p in (_SOURCES / TYPINGS).rglob("*.pyi") if p not in dict(wanted)]
    for path in gone:
        if check:
            print(f"{path}: a stub of no module")
        else:
            path.unlink()
    for path, text in stale:
        if check:
            print(f"{path}: not what `python -m integration.stubs` writes")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return int(check and bool(stale or gone))


if __name__ == "__main__":
    sys.exit(main())
