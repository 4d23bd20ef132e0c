"""Packages from a folder of wheels, by the line that each package's README has."""

from __future__ import annotations

import re
import sysconfig
import venv
from pathlib import Path

import pytest

from integration.local_index import write_index
from integration.tests.conftest import TOP, Environment, build_wheel

PACKAGES = sorted(p.parent.name for p in TOP.glob("packages/*/pyproject.toml"))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of an index of all packages' wheels."""
    folder = tmp_path_factory.mktemp("dist")
    for name in PACKAGES:
        build_wheel(TOP / "packages" / name, folder)
    return write_index(folder).as_uri()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with pip and nothing else."""
    root = tmp_path_factory.mktemp("environment")
    venv.create(root, with_pip=True)
    return Environment(root)


def install(environment: Environment, index: str, *what: str) -> str:
    """``pip install`` of ``what`` from the index and nowhere else."""
    command = ["-m", "pip", "--isolated", "--disable-pip-version-check", "install", "--no-cache-dir"]
    return environment.run(
        *command,
        "--index-url",
        index,
        *what,
        PIP_CONFIG_FILE="/dev/null",
        PIP_FIND_LINKS="",
        PIP_CONSTRAINT="",
    )


def lines_of_readme(name: str) -> list[str]:
    """Install commands in the README of a package."""
    text = (TOP / "packages" / name / "README.md").read_text()
    return re.findall(r"^ *pip install ([^#\n]+)", text, flags=re.MULTILINE)


WITH_LINES = [name for name in PACKAGES if lines_of_readme(name)]


def test_backends_of_gpus_say_how_they_are_installed() -> None:
    assert {"tri-backend-amd", "tri-backend-intel", "tri-backend-nvidia"} <= set(WITH_LINES)


@pytest.mark.parametrize("name", WITH_LINES)
def test_readmes_name_packages_that_the_index_has(name: str, index: str, environment: Environment) -> None:
    """Each line of a README, from the index alone; what others publish is left out."""
    for line in lines_of_readme(name):
        words = [w.strip("'\"") for w in line.split()]
        known = [w for w in words if w.partition("[")[0] in PACKAGES]
        assert name in [w.partition("[")[0] for w in known]
        install(environment, index, "--no-deps", *known)
    assert name in environment.run("-m", "pip", "--disable-pip-version-check", "list")


def test_kernels_run_from_the_index(index: str, environment: Environment) -> None:
    """All that a backend requires of ours comes from the index."""
    packages = (
        "tri-backend-nvidia",
        "tri-gpu-dialect",
        "tri-core",
        "tri-runtime",
        "tri-frontend",
        "tri-backend-cpu",
    )
    install(environment, index, "--no-deps", *packages)
    (environment.site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    script = environment.root / "kernel.py"
    script.write_text(
        "import tri, tri.language as tl\n"
        "@tri.jit\n"
        "def kernel(x, N: tl.constexpr):\n"
        "    tl.store(x + tl.arange(0, N), 1.0)\n"
        "source = tri.ASTSource(kernel, {'x': '*fp32', 'N': 'constexpr'}, {'N': 128})\n"
        "print(tri.compile(source, target='nvidia:sm_90a').asm['ptx'])\n"
        "print(tri.__file__, tri.__version__)\n"
    )
    said = environment.run(str(script))
    assert ".target sm_90a" in said
    assert str(environment.root) in said
    assert environment.run("-m", "tri", "--version").startswith("tri ")


def test_files_that_were_changed_are_refused(tmp_path: Path, environment: Environment) -> None:
    """The index has the hashes of its files."""
    wheel = build_wheel(TOP / "packages" / "tri-core", tmp_path / "dist")
    address = write_index(wheel.parent).as_uri()
    with wheel.open("ab") as file:
        file.write(b"more")
    with pytest.raises(AssertionError, match=r"DO NOT MATCH|hash"):
        install(environment, address, "--no-deps", "--force-reinstall", "tri-core")


def test_projects_that_are_gone_leave_the_index(tmp_path: Path) -> None:
    wheel = build_wheel(TOP / "packages" / "tri-core", tmp_path)
    index = write_index(tmp_path)
    assert (index / "tri-core" / "index.html").is_file()
    wheel.unlink()
    write_index(tmp_path)
    assert [p.name for p in index.iterdir()] == ["index.html"]
