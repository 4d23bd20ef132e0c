"""Wheels, and virtual environments that hold chosen wheels with their requirements and nothing else of ours."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from integration.releases.choice import Candidate
from integration.releases.history import History
from tri_core.errors import TriError

__all__ = ["Environment", "InstallError", "Installer", "NotAlone", "Wheelhouse", "build_wheel"]

log = logging.getLogger(__name__)

#: variables by which the caller's environment would reach into a made one
_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "PYTHONWARNINGS", "VIRTUAL_ENV", "OCL_ICD_FILENAMES")


class InstallError(TriError):
    """A wheel cannot be built, or wheels cannot be installed together."""


class NotAlone(TriError):
    """An environment holds more, less or other distributions of ours than were chosen."""


def _run(command: Sequence[str | Path], what: str, remedy: str, cwd: Path | None = None) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode != 0:
        raise InstallError(f"{what} failed:\n{(done.stdout + done.stderr)[-2000:]}", remedy=remedy)
    return done.stdout


def build_wheel(project: Path, into: Path) -> Path:
    """The wheel of ``project``, made by its own build backend, alone in the folder ``into``; else InstallError."""
    shutil.rmtree(into, ignore_errors=True)
    command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", into, project)
    _run(command, f"building {project.name}", f"see what `python -m build {project}` says")
    (wheel,) = into.glob("*.whl")
    return wheel


@dataclass(frozen=True)
class Wheelhouse:
    """Wheels in ``folder``: of the packages below ``top``, built once per object, and of releases, kept for good."""

    folder: Path
    top: Path
    _built: dict[str, Path] = field(default_factory=dict, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def wheel(self, candidate: Candidate) -> Path:
        """The wheel of ``candidate``.  HistoryError or InstallError when it cannot be made."""
        with self._lock:
            if str(candidate) not in self._built:
                self._built[str(candidate)] = self._make(candidate)
            return self._built[str(candidate)]

    def _make(self, candidate: Candidate) -> Path:
        name, release = candidate.project.name, candidate.release
        if release is None:
            return build_wheel(self.top / "packages" / name, self.folder / "tree" / name)
        into = self.folder / release.commit / name
        if kept := list(into.glob("*.whl")):
            return kept[0]
        with tempfile.TemporaryDirectory() as sources:
            project = History(self.top).export(release.commit, f"packages/{name}", Path(sources))
            return build_wheel(project, into)


@dataclass
class Installer:
    """Makes environments with ``uv`` where that works, which shares files between them, else with ``pip``."""

    uv: str | None = field(default_factory=lambda: shutil.which("uv"))

    def environment(
        self, root: Path, wheels: Mapping[str, Path], extras: Mapping[str, Sequence[str]]
    ) -> Environment:
        """A new environment at ``root`` with ``wheels`` (distribution: file) and what they require.

        ``extras`` are those of distributions.  InstallError when requirements disagree.
        """
        made = Environment(root)
        wanted = [
            f"{name}{_bracketed(extras.get(name, ()))} @ {wheel.resolve().as_uri()}"
            for name, wheel in wheels.items()
        ]
        shutil.rmtree(root, ignore_errors=True)
        if self.uv is None:
            self._with_pip(made, wanted)
            return made
        try:
            self._with_uv(made, wanted)
        except InstallError as error:
            shutil.rmtree(root, ignore_errors=True)
            self._with_pip(made, wanted)
            # it was not the wheels' fault
            log.warning("uv does not work here, pip is used: %s", error.message)
            self.uv = None
        return made

    def _with_uv(self, made: Environment, wanted: Sequence[str]) -> None:
        uv = str(self.uv)
        _run((uv, "venv", "--quiet", "--python", sys.executable, made.root), "uv venv", "install with pip")
        _run(
            (uv, "pip", "install", "--quiet", "--python", made.python, *wanted),
            "uv pip install",
            "see its words",
        )

    def _with_pip(self, made: Environment, wanted: Sequence[str]) -> None:
        _run((sys.executable, "-m", "venv", "--without-pip", made.root), "venv", "see its words")
        command: tuple[str | Path, ...] = (
            sys.executable,
            "-m",
            "pip",
            "--python",
            made.python,
            "install",
            "--quiet",
            *wanted,
        )
        _run(command, "pip install", "widen a range that excludes another's version, or see pip's words")


def _bracketed(extras: Iterable[str]) -> str:
    listed = ",".join(extras)
    return f"[{listed}]" if listed else ""


#: prints the distributions that are ours, by name or as plugins: name, version, where, installed from a wheel
_LIST = """
import importlib.metadata as m, json, re, sys
ours = []
for d in m.distributions():
    name = re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower()
    if name.startswith("tri-") or any(e.group == "tri" for e in d.entry_points):
        editable = '"editable": true' in (d.read_text("direct_url.json") or "")
        ours.append([name, d.version, str(d.locate_file("")).startswith(sys.prefix) and not editable])
print(json.dumps(ours))
"""

#: prints the architectures of the devices that the backends of one distribution find
_PROBE = """
import json, sys
from tri_core.plugins import manager
backends, records = manager().backends(), manager().plugins()
own = [r for r in records if r.dist == sys.argv[1]]
bad = [f"{r.name} is {r.state}: {r.reason}" for r in own if r.state != "active"]
found = {b: [d.arch for d in manager().probe(b)] for r in own for b in r.backends if b in backends}
print(json.dumps([bad, found]))
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment at ``root``."""

    root: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.root.absolute() / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def run(
        self, *arguments: str, timeout: float = 3600, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """``python -I *arguments``, with nothing of the caller's Python; subprocess.TimeoutExpired after ``timeout`` seconds."""
        kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        return subprocess.run(
            [str(self.python), "-I", *arguments],
            env={**kept, **variables},
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def check_alone(self, chosen: Mapping[str, str]) -> None:
        """NotAlone unless the distributions of ours are ``chosen`` (name: version), installed from wheels."""
        listed = json.loads(self._output("-c", _LIST))
        strange = [name for name, _, from_wheel in listed if not from_wheel]
        found = {name: version for name, version, _ in listed}
        if found != dict(chosen) or len(listed) != len(found) or strange:
            raise NotAlone(
                f"{self.root.name} holds {_listing(found)} and should hold {_listing(chosen)}"
                + (f"; not from wheels in it: {', '.join(strange)}" if strange else ""),
                remedy="see which package requires the others",
            )

    def devices(self, distribution: str) -> list[str]:
        """Targets of the devices that ``distribution``'s backends find; PluginError's text as InstallError if they are not active.

        The first device of a backend is named by the backend alone, others by their architecture.
        """
        bad, found = json.loads(self._output("-c", _PROBE, distribution))
        if bad or not found:
            raise InstallError(
                f"{distribution} has no active backend: {'; '.join(bad) or 'it declares none'}",
                remedy="run `tri plugins` where it is installed",
            )
        return [
            name if first else f"{name}:{arch}"
            for name, archs in found.items()
            for first, arch in ((i == 0, a) for i, a in enumerate(dict.fromkeys(archs)))
        ]

    def _output(self, *arguments: str) -> str:
        done = self.run(*arguments, timeout=300)
        if done.returncode != 0:
            raise InstallError(
                f"Python in {self.root.name} failed:\n{done.stderr[-2000:]}", remedy="see its words"
            )
        return done.stdout


def _listing(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) or "nothing"
