"""A new backend out of the templates beside this file.

The folder ``backend`` holds the project of tier ``ttgir`` as it will be, each file as a Jinja template (or as it is,
without the suffix); :meth:`BackendProject._place` names what is called otherwise there.  A folder for each other tier
holds what differs, and :data:`_COMMON` names what all have.
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

__all__ = ["TIERS", "BackendProject", "new_backend"]

_TEMPLATES = Path(__file__).parent
_FIRST = "backend"
_SUFFIX = ".jinja"
#: level of the IR at which kernels leave tri -> the package that a backend starts from there, beside those of every backend
TIERS = {"ttir": "tri-runtime", "ttgir": "tri-gpu-dialect", "llvm": "tri-backend-cpu"}
#: packages of tri that every generated backend requires, or tests itself with
_REQUIRED = ("tri-core", "tri-runtime", "tri-frontend", "tri-conformance")
#: what every tier has of the first folder
_COMMON = frozenset(
    {
        "CHANGELOG.md.jinja",
        "LICENSE",
        "github/workflows/ci.yml.jinja",
        "gitignore.jinja",
        "noxfile.py.jinja",
        "pyproject.toml.jinja",
        "src/package/__init__.py.jinja",
        "src/package/py.typed",
        "tests/kernels.py.jinja",
        "tests/test_conformance.py.jinja",
    }
)
#: names that mean something else where a backend's name is written
_RESERVED = frozenset({"sim", "tri", "tt", "ttg"})
_NAME = re.compile(r"[a-z][a-z0-9]{1,15}")


@dataclass(frozen=True, kw_only=True)
class BackendProject:
    """The project ``tri-backend-NAME``.

    ``name``: 2 to 16 lower-case letters and digits, a letter first, which becomes part of the names of the
    distribution, the module, the target, the dialect and the classes; OptionError for any other.
    ``ranges``: version specifiers of the packages of tri, by distribution.
    ``tier``: where kernels leave tri, one of :data:`TIERS`; OptionError for any other.
    """

    name: str
    ranges: Mapping[str, str]
    tier: str = "ttgir"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise OptionError(
                f"a backend cannot be called {self.name!r}",
                remedy="name it with 2 to 16 lower-case letters and digits, a letter first: acme, npu2",
            )
        if self.tier not in TIERS:
            raise OptionError(f"there is no tier {self.tier!r}", remedy=f"choose one of {', '.join(TIERS)}")

    @classmethod
    def of_installed(cls, name: str, tier: str = "ttgir") -> Self:
        """The project for the installed versions; OptionError when one is missing, or ``name`` is taken."""
        packages = dict.fromkeys((*_REQUIRED, TIERS.get(tier, "tri-core")))
        made = cls(name=name, ranges={package: _range(package) for package in packages}, tier=tier)
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

    @property
    def target(self) -> str:
        """The target on which the project's tests run kernels, or compile them where it needs a driver."""
        return self.name if self.tier == "llvm" else f"{self.name}:{self.architecture}"

    def files(self) -> dict[str, str]:
        """The text of each file, by its path below the project's folder, in order."""
        environment, variables = _environment(), self._variables()
        found = {}
        for inside, path in self._templates().items():
            if path.suffix == _SUFFIX:
                text = environment.get_template(path.relative_to(_TEMPLATES).as_posix()).render(variables)
            else:
                text = path.read_text(encoding="utf-8")
            found[self._place(inside.removesuffix(_SUFFIX))] = text
        return dict(sorted(found.items()))

    def _templates(self) -> dict[str, Path]:
        """Templates of the tier, by their paths in their folder."""
        first = _inside(_TEMPLATES / _FIRST)
        if self.tier == "ttgir":
            return first
        return {name: first[name] for name in _COMMON} | _inside(_TEMPLATES / self.tier)

    def _variables(self) -> dict[str, object]:
        return {
            "name": self.name,
            "title": self.name.capitalize(),
            "constant": self.name.upper(),
            "arch": self.architecture,
            "target": self.target,
            "tier": self.tier,
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


def new_backend(name: str, directory: Path, tier: str = "ttgir") -> Path:
    """Write ``tri-backend-NAME`` of ``tier`` into ``directory``, for the installed versions of tri; gives its folder.

    OptionError as :class:`BackendProject`.
    """
    project = BackendProject.of_installed(name, tier)
    folder = directory / project.distribution
    project.write(folder)
    return folder


def _inside(folder: Path) -> dict[str, Path]:
    """The files of ``folder``, by their paths in it."""
    files = (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {path.relative_to(folder).as_posix(): path for path in sorted(files)}


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
