"""A new backend out of the templates beside this file.

The folder ``backend`` holds the project as it will be, each file as a Jinja template (or as it is, without the
suffix); :data:`_PLACES` names the folders that are called otherwise there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tri_core.errors import OptionError
from tri_core.files import make_folder, write
from tri_core.hookspecs import HOOKSPEC_API
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["BackendProject", "new_backend"]

_TEMPLATES = Path(__file__).with_name("backend")
_SUFFIX = ".jinja"
#: packages of tri that a generated backend requires, or tests itself with
_REQUIRED = ("tri-core", "tri-gpu-dialect", "tri-runtime", "tri-frontend", "tri-conformance")
#: names that mean something else where a backend's name is written
_RESERVED = frozenset({"sim", "tri", "tt", "ttg"})
_NAME = re.compile(r"[a-z][a-z0-9]{1,15}")


@dataclass(frozen=True, kw_only=True)
class BackendProject:
    """The project ``tri-backend-NAME``.

    ``name``: 2 to 16 lower-case letters and digits, a letter first, which becomes part of the names of the
    distribution, the module, the target, the dialect and the classes; OptionError for any other.
    ``ranges``: version specifiers of the packages of tri, by distribution.
    """

    name: str
    ranges: Mapping[str, str]

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise OptionError(
                f"a backend cannot be called {self.name!r}",
                remedy="name it with 2 to 16 lower-case letters and digits, a letter first: acme, npu2",
            )

    @classmethod
    def of_installed(cls, name: str) -> Self:
        """The project for the installed versions; OptionError when one is missing, or ``name`` is taken."""
        made = cls(name=name, ranges={package: _range(package) for package in _REQUIRED})
        owner = _owner(name)
        if owner:
            raise OptionError(f"the name {name!r} is taken: {owner}", remedy="choose another name")
        return made

    @property
    def distribution(self) -> str:
        """The name under which the project is installed."""
        return f"tri-backend-{self.name}"

    @property
    def architecture(self) -> str:
        """The made-up device that the project starts with."""
        return f"{self.name[0]}1"

    def files(self) -> dict[str, str]:
        """The text of each file, by its path below the project's folder, in order."""
        environment = _environment()
        found = {}
        for path in sorted(p for p in _TEMPLATES.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            inside = path.relative_to(_TEMPLATES).as_posix()
            if path.suffix == _SUFFIX:
                text = environment.get_template(inside).render(self._variables())
            else:
                text = path.read_text(encoding="utf-8")
            found[self._place(inside.removesuffix(_SUFFIX))] = text
        return found

    def _variables(self) -> dict[str, object]:
        return {
            "name": self.name,
            "title": self.name.capitalize(),
            "constant": self.name.upper(),
            "arch": self.architecture,
            "ranges": self.ranges,
            "api": HOOKSPEC_API,
        }

    def _place(self, inside: str) -> str:
        """Destination of the template ``inside``: packages have names, and hidden files a dot."""
        first, *rest = inside.split("/")
        named = {"package": f"tri_backend_{self.name}"}
        hidden = f".{first}" if first in ("github", "gitignore") else first
        return "/".join([hidden, *(named.get(part, part) for part in rest)])

    def write(self, folder: Path) -> list[Path]:
        """Write the project into ``folder``, which must be empty or not be there; gives the files.

        OptionError when something is there: nothing is overwritten.
        """
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OptionError(
                f"{folder} is there already, and is no empty folder",
                remedy="name another place with --directory, or move it away",
            )
        written = []
        for inside, text in self.files().items():
            path = folder / inside
            make_folder(path.parent)
            write(path, text)
            written.append(path)
        return written


def new_backend(name: str, directory: Path) -> Path:
    """Write ``tri-backend-NAME`` into ``directory``, for the installed versions of tri; gives its folder."""
    project = BackendProject.of_installed(name)
    folder = directory / project.distribution
    project.write(folder)
    return folder


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True
    )


def _range(package: str) -> str:
    """The releases of ``package`` that promise what the installed one does: the same 0.x, later the same major."""
    try:
        major, minor = (int(part) for part in metadata.version(package).split(".")[:2])
    except metadata.PackageNotFoundError as error:
        raise OptionError(
            f"{package} is not installed; the new backend would require it",
            remedy="pip install 'tri-frontend[new-backend]'",
        ) from error
    return f">={major}.{minor},<{major + 1}" if major else f">=0.{minor},<0.{minor + 1}"


def _owner(name: str) -> str:
    """Present owner of ``name``, as words; empty if it is free."""
    from tri_core.plugins import manager

    for record in manager().plugins():
        if name == record.name or name in record.backends:
            return f"it is that of the plugin {record.name} ({record.dist} {record.version})"
    for backend, info in manager().backends().items():
        if name in info.device_kinds:
            return f"the backend {backend} has devices of this kind"
    if name in _RESERVED or _is_dialect(name):
        return "it is that of a dialect, or of a part of tri"
    return ""


def _is_dialect(name: str) -> bool:
    """True if MLIR has a dialect ``name``: the backend's machine ops would clash with it."""
    from tri_core import mlir

    with mlir.session() as context:
        try:
            context.get_dialect_descriptor(name)
        except ValueError:
            return False
    return True
