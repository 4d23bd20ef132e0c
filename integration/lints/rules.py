"""The rules: each takes a :class:`Package` file by file and yields findings.

1. A vendor's name stands only in that vendor's package.
2. No package imports another's private module or name.
3. No package imports a distribution that its ``pyproject.toml`` does not declare.
4. No import cycles among the modules of a package; imports for type checking count, and so do those in functions.  No folders
   that import each other.
5. Functions stay under 61 lines, files under 601.
6. Locks and threads are known to ``tri_core.forks``, or a forked child waits for a thread that it does not have.
7. Nothing links objects by LLVM, which ends the process where an address does not fit: ``tri_runtime.loader`` does.
8. What an op is stands in its dialect, not in lists of ops in passes.
9. Policies are typed records: no pass asks one for a field by ``getattr``.
10. Passes know no op by name and no operand by number, but for a budget that may only fall.
11. Who goes through a namespace (``vars``, ``globals``, ``sys.modules``) goes through a copy: another thread may add a name.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from integration.lints import op_names
from integration.lints.import_circles import import_circles
from integration.lints.op_lists import op_lists

__all__ = ["RULES", "Finding", "Package", "check", "module_name", "op_counts", "packages"]

VENDORS = {
    "nvidia": r"nvidia|cuda|ptx|ptxas|cubin",
    "amd": r"amd(?!64)|amdgpu|rocm|hip|hsaco|amdgcn",  # amd64 is an instruction set
    "intel": r"intel|spirv|level_zero|dpctl|sycl",
}

#: import name to distribution, where they differ
DISTRIBUTIONS = {
    "cuda": "cuda-python",
    "elftools": "pyelftools",
    "hip": "hip-python",
    "ml_dtypes": "ml-dtypes",
    "torch_mlir": "torch-mlir",
    "tri": "tri-frontend",
}

#: names of other vendors that a package has to say, with the reason
ALLOWED = {
    ("tri-backend-amd", "cuda"): "PyTorch calls HIP devices and their streams so",
}

#: names that Triton's interface has everywhere, with a vendor's in them
INTERFACE = re.compile(r"\buse_cuda_graph\b")

#: what a child has no thread for; files that renew it there call ``forks.in_child``
THREADED = {
    *("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier", "Thread", "Timer"),
    *("ThreadPoolExecutor", "register_at_fork", "cached_property"),
}
#: files of processes of our own, which the user's code never forks
OWN_PROCESSES = {"tri_core/codegen/worker.py", "tri_conformance/workers.py", "tri_core/forks.py"}
#: LLVM's ways of linking in memory
LINKERS = {"create_lljit_compiler", "create_mcjit_compiler", "JITLibraryBuilder"}

#: expressions for namespaces that other threads may add names to
_NAMESPACE = r"vars\([^()]*(\([^()]*\))?[^()]*\)|globals\(\)|sys\.modules|[\w.]+\.__dict__"

MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 600


@dataclass(frozen=True)
class Finding:
    """One broken rule at one place."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Package:
    """One distribution of the repository."""

    root: Path

    @cached_property
    def project(self) -> dict[str, object]:
        """The ``[project]`` table."""
        project: dict[str, object] = tomllib.loads((self.root / "pyproject.toml").read_text())["project"]
        return project

    @property
    def name(self) -> str:
        """The distribution's name."""
        return str(self.project["name"])

    @property
    def import_name(self) -> str:
        """The one package below ``src/``."""
        return next(p.name for p in (self.root / "src").iterdir() if p.is_dir())

    @cached_property
    def declared(self) -> frozenset[str]:
        """Distributions named in dependencies and extras, normalised."""
        dependencies = [str(d) for d in self.project.get("dependencies", [])]  # type: ignore[attr-defined]
        for extra in self.project.get("optional-dependencies", {}).values():  # type: ignore[attr-defined]
            dependencies.extend(extra)
        return frozenset(_normal(re.split(r"[\s\[<>=!~;]", d, maxsplit=1)[0]) for d in dependencies)

    def files(self) -> Iterator[Path]:
        """Every Python file of the package itself."""
        yield from sorted((self.root / "src").rglob("*.py"))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def packages(top: Path) -> list[Package]:
    """The packages of the repository at ``top``."""
    return [Package(p.parent) for p in sorted(top.glob("packages/*/pyproject.toml"))]


def vendor_names(package: Package, path: Path, tree: ast.Module) -> Iterator[Finding]:
    """A vendor's name outside of its own package."""
    own = package.name.removeprefix("tri-backend-")
    foreign = "|".join(words for vendor, words in VENDORS.items() if vendor != own)
    pattern = re.compile(rf"(?<![a-z])({foreign})(?![a-z])", re.IGNORECASE)
    # the compatibility layer has to say the names that the imitated package has
    if "compat" in path.parts:
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = pattern.search(INTERFACE.sub("", line))
        if found and (package.name, found[0].lower()) not in ALLOWED:
            yield Finding(path, number, f"the vendor name {found[0]!r} in {package.name}")


def _imports(tree: ast.Module) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, ()
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.lineno, node.module, tuple(alias.name for alias in node.names)


def private_imports(package: Package, path: Path, tree: ast.Module) -> Iterator[Finding]:
    """A private module or name of another package."""
    for line, module, names in _imports(tree):
        if module.split(".")[0] in {package.import_name, "__future__"}:
            continue
        parts = [*module.split("."), *names]
        if any(p.startswith("_") and not p.startswith("__") for p in parts):
            yield Finding(path, line, f"private import {module} {', '.join(names)}")


def undeclared_imports(package: Package, path: Path, tree: ast.Module) -> Iterator[Finding]:
    """A distribution that the package does not declare."""
    for line, module, _ in _imports(tree):
        top = module.split(".")[0]
        if top in sys.stdlib_module_names or top == package.import_name:
            continue
        if _normal(DISTRIBUTIONS.get(top, top)) not in package.declared:
            yield Finding(path, line, f"{package.name} imports {top}, which it does not declare")


def sizes(package: Package, path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Long functions and files."""
    count = len(path.read_text().splitlines())
    if count > MAX_FILE_LINES:
        yield Finding(path, 1, f"{count} lines in one file (at most {MAX_FILE_LINES})")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            if size > MAX_FUNCTION_LINES:
                yield Finding(path, node.lineno, f"{node.name}: {size} lines (at most {MAX_FUNCTION_LINES})")


def _attributes(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Line, owner and name of each attribute that is used, and of each name that is imported from a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.lineno, ast.unparse(node.value), node.attr
    for line, module, names in _imports(tree):
        yield from ((line, module, name) for name in names)


def threads(package: Package, path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Locks and threads that a forked child would wait for."""
    if "/".join(path.parts).endswith(tuple(OWN_PROCESSES)) or "forks.in_child(" in path.read_text():
        return
    for line, owner, name in _attributes(tree):
        if name in THREADED and owner in {"os", "threading", "concurrent.futures", "functools"}:
            yield Finding(path, line, f"{name}: use tri_core.forks, or make it anew in forks.in_child")


def linkers(package: Package, path: Path, tree: ast.Module) -> Iterator[Finding]:
    """LLVM's linkers in memory."""
    for line, _, name in _attributes(tree):
        if name in LINKERS:
            yield Finding(
                path, line, f"{name} may end the user's process: load objects by tri_runtime.loader"
            )


def lists_of_ops(package: Package, path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Ops listed by name where their declaration should be asked."""
    for line, message in op_lists(path.as_posix(), tree):
        yield Finding(path, line, message)


def policies(package: Package, path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Fields of a policy by name, which a misspelt one would silently default."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]):
                if ast.unparse(owner).lower().endswith("policy"):
                    yield Finding(path, node.lineno, f"getattr of the policy's {name}: declare a typed field")


def import_cycles(package: Package) -> Iterator[Finding]:
    """Circles among the package's own files and folders, see :func:`integration.lints.import_circles.import_circles`."""
    source = package.root / "src"
    modules = {module_name(p.relative_to(source)): p for p in package.files()}
    for path, line, message in import_circles(modules):
        yield Finding(path, line, message)


def module_name(path: Path) -> str:
    """Dotted name of the module at ``path`` below the folder of its top package."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def walks(package: Package, path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Callbacks that MLIR's bindings call in a walk, whose exceptions they replace: tri_core.ir.walking has a walk."""
    del package
    if path.name == "walking.py":
        return
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="walk", value=owner), args=[ast.Name(), *_]) if ast.unparse(
                owner
            ) not in ("ast", "os", "walking"):
                message = "a walk of the bindings: call tri_core.ir.walking.walk, from which Ctrl-C arrives as itself"
                yield Finding(path, node.lineno, message)


def namespaces(package: Package, path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Loops over a namespace itself, which end with RuntimeError when another thread adds a name to it."""
    del package
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension):
            owner = re.sub(r"\.(items|keys|values)\(\)$", "", ast.unparse(node.iter))
            if re.fullmatch(_NAMESPACE, owner):
                yield Finding(path, node.iter.lineno, f"{owner} may grow meanwhile: go through a copy of it")


def known_by_name(package: Package) -> Iterator[Finding]:
    """More ops known by name, or operands by number, than the package's budget has."""
    for what, found, budget in zip(
        ("tests of an op's name", "operands by number"),
        op_counts(package),
        op_names.BUDGETS.get(package.name, (0, 0)),
        strict=True,
    ):
        if found > budget:
            message = f"{package.name} has {found} {what} in passes, {budget} are allowed: ask by tri_core.ir.views or a trait"
            yield Finding(package.root / "src", 1, message)


def op_counts(package: Package) -> op_names.Counts:
    """Of all files of ``package``, see :func:`integration.lints.op_names.counts`."""
    found = [op_names.counts(p.as_posix(), ast.parse(p.read_text())) for p in package.files()]
    return sum(names for names, _ in found), sum(operands for _, operands in found)


FileRule = Callable[[Package, Path, ast.Module], Iterator[Finding]]
FILE_RULES: tuple[FileRule, ...] = (
    vendor_names,
    private_imports,
    undeclared_imports,
    sizes,
    threads,
    linkers,
    lists_of_ops,
    policies,
    walks,
    namespaces,
)


def check(package: Package) -> Iterator[Finding]:
    """Every rule on every file of ``package``."""
    for path in package.files():
        tree = ast.parse(path.read_text(), filename=str(path))
        for rule in FILE_RULES:
            yield from rule(package, path, tree)
    yield from import_cycles(package)
    yield from known_by_name(package)


RULES = (*FILE_RULES, import_cycles, known_by_name)
