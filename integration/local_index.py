"""``python -m integration.local_index dist``: make ``dist/simple``, an index from which pip installs what is in ``dist``.

A folder for each project with links to its files and their hashes, as the simple repository API has them (PEP 503).
"""

from __future__ import annotations

import hashlib
import html
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

__all__ = ["write_index"]

_PAGE = '<!DOCTYPE html>\n<html>\n<head><meta name="pypi:repository-version" content="1.0"><title>{title}</title></head>\n<body>\n{links}\n</body>\n</html>\n'


def write_index(folder: Path) -> Path:
    """The index of the wheels and sdists in ``folder``, made anew in its folder ``simple``."""
    projects: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")]):
        projects.setdefault(_project(path), []).append(path)
    index = folder / "simple"
    index.mkdir(exist_ok=True)
    for old in index.iterdir():
        if old.is_dir() and old.name not in projects:
            (old / "index.html").unlink(missing_ok=True)
            old.rmdir()
    for name, files in projects.items():
        (index / name).mkdir(exist_ok=True)
        links = "\n".join(map(_link, files))
        (index / name / "index.html").write_text(_PAGE.format(title=f"Links for {name}", links=links))
    roots = "\n".join(f'<a href="{name}/">{name}</a><br>' for name in projects)
    (index / "index.html").write_text(_PAGE.format(title="Simple index", links=roots))
    return index


def _project(path: Path) -> str:
    parse = parse_wheel_filename if path.suffix == ".whl" else parse_sdist_filename
    return canonicalize_name(parse(path.name)[0])


def _link(path: Path) -> str:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    python = _requires_python(path) if path.suffix == ".whl" else None
    needs = "" if python is None else f' data-requires-python="{html.escape(python)}"'
    return f'<a href="../../{path.name}#sha256={digest}"{needs}>{path.name}</a><br>'


def _requires_python(wheel: Path) -> str | None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        return HeaderParser().parsestr(archive.read(metadata).decode())["Requires-Python"]


def main() -> None:
    """Write the index of the folder that is named, and say how to use it."""
    index = write_index(Path(sys.argv[1]).resolve())
    print(f"python -m pip install --extra-index-url {index.as_uri()} tri-frontend tri-backend-nvidia")


if __name__ == "__main__":
    main()
