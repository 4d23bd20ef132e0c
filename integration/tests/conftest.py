"""A fresh environment with wheels of every package, for tests of what users install."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

import tri
from integration.sharded_tests import WHEELS
from tri_core.errors import Unsupported

TOP = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Environment:
    """A virtual environment; third-party dependencies come from the environment that runs the tests."""

    root: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.root / "bin" / "python"

    @property
    def site(self) -> Path:
        """Its site-packages."""
        return self.root / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"

    def install(self, *wheels: Path) -> None:
        """Install wheels without their dependencies."""
        command = [str(self.python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
        subprocess.run([*command, "--disable-pip-version-check", *map(str, wheels)], check=True)

    def run(self, *arguments: str, extra_path: Path | None = None, **variables: str) -> str:
        """Standard output and error of ``python *arguments``, which must succeed."""
        environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONWARNINGS"}}
        environment |= {"TRI_CACHE_DIR": str(self.root / "cache"), **variables}
        if extra_path is not None:
            environment["PYTHONPATH"] = str(extra_path)
        done = subprocess.run(
            [str(self.python), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            cwd=self.root,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


def build_wheel(project: Path, into: Path) -> Path:
    """A wheel of ``project``, built by its own build backend."""
    into.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(into),
        str(project),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = into.glob(f"{project_name(project)}-*.whl")
    return wheel


def project_name(project: Path) -> str:
    """The distribution's name as a wheel's file name writes it."""
    line = next(x for x in (project / "pyproject.toml").read_text().splitlines() if x.startswith("name = "))
    return line.split('"')[1].replace("-", "_")


@pytest.fixture(scope="session")
def fresh_environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A new environment in which a wheel of every package of the repository is installed."""
    root = tmp_path_factory.mktemp("environment")
    venv.create(root, with_pip=True)
    environment = Environment(root)
    (environment.site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    wheels = Path(os.environ.get(WHEELS, root / "wheels"))
    projects = [each.parent for each in sorted(TOP.glob("packages/*/pyproject.toml"))]
    environment.install(*(_built(project, wheels) for project in projects))
    return environment


def _built(project: Path, into: Path) -> Path:
    """The wheel of ``project``, which the first of all processes that want it builds."""
    into.mkdir(parents=True, exist_ok=True)
    with (into / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = next(into.glob(f"{project_name(project)}-*.whl"), None)
        return build_wheel(project, into) if made is None else made


@pytest.fixture(scope="session")
def toy_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the toy backend."""
    return build_wheel(TOP / "integration" / "toy_backend", tmp_path_factory.mktemp("toy"))


@pytest.fixture
def broken_plugin(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder for PYTHONPATH in which the broken plugin's variant ``request.param`` is installed."""
    source = TOP / "integration" / "broken_backend"
    project = tmp_path / "project"
    (project / "tri_backend_broken").mkdir(parents=True)
    shutil.copy(source / "pyproject.toml", project)
    (project / "tri_backend_broken" / "__init__.py").touch()
    shutil.copy(source / "variants" / f"{request.param}.py", project / "tri_backend_broken" / "plugin.py")
    site = tmp_path / "site"
    shutil.unpack_archive(build_wheel(project, tmp_path / "wheels"), site, "zip")
    return site


#: one simulated target per vendor
SIMULATED = ("sim:nvidia:sm_80", "sim:amd:gfx942", "sim:intel:pvc")


@pytest.fixture(params=["compiled", "interpreted", *SIMULATED])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """On the CPU target, in the interpreter under the CPU target's rules, or on a simulated target."""
    if request.param in SIMULATED:
        with tri.target(request.param):
            yield "compiled"
        return
    with tri.target("cpu"), tri.interpret() if request.param == "interpreted" else nullcontext():
        yield request.param


def _simulated(item: pytest.Item) -> str | None:
    """The simulated target of a test that uses ``mode``."""
    spec = getattr(item, "callspec", None)
    found = spec.params.get("mode") if spec is not None else None
    return found if found in SIMULATED else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave each test on one simulated target, all three being used alike: simulating takes its time."""
    if config.getoption("keyword"):
        return
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        target = _simulated(item)
        name = item.nodeid.replace(target, "") if target is not None else ""
        chosen = target is None or SIMULATED[zlib.crc32(name.encode()) % len(SIMULATED)] == target
        (kept if chosen else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A simulated target that refuses a kernel skips the test, with what it says."""
    try:
        yield
    except Unsupported as error:
        if _simulated(item) is None:
            raise
        pytest.skip(error.message)
