"""``python -m integration.fast [--base main] [--seconds 150]``: tests near a change, the nearest first, within a time.

Near are tests that changed; those whose path is that of a changed module; and those that import one.  They run in this order until the
time is over; what was left out is counted.  The exit status is pytest's of the first group that fails, 0 where none does.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from integration.lints.rules import module_name

__all__ = ["changed", "groups", "main", "module_of"]

TOP = Path(__file__).resolve().parents[1]
#: tests of a group that run in one process: a time is kept between processes alone
_AT_ONCE = 8


def changed(base: str, top: Path = TOP) -> list[Path]:
    """Python files that differ from where the branch left ``base``, committed or not, as paths below ``top``."""
    start = _git(top, "merge-base", base, "HEAD")[0]
    names = [
        *_git(top, "diff", "--name-only", "--diff-filter=d", start),
        *_git(top, "ls-files", "--others", "--exclude-standard"),
    ]
    return sorted({Path(name) for name in names if name.endswith((".py", ".mlir"))})


def _git(top: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=top, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def module_of(path: Path) -> str:
    """Dotted name of the module at ``path`` below the repository; empty for what no package holds."""
    parts = path.with_suffix("").parts
    if "src" in parts:
        parts = parts[parts.index("src") + 1 :]
    elif parts[:1] != ("integration",):
        return ""
    return module_name(Path(*parts))


def groups(files: Sequence[Path], top: Path = TOP) -> list[list[Path]]:
    """Test files near ``files``, in groups from near to far; each is in the first group that it belongs to."""
    tests = sorted(
        path.relative_to(top)
        for folder in ("packages/*/tests", "integration/tests")
        for path in top.glob(f"{folder}/**/test_*.py")
    )
    modules = {module for path in files if (module := module_of(path))}
    own = [path for path in tests if path in files]
    same = [path for path in tests if any(_mirrors(path, module) for module in modules)]
    importing = [path for path in tests if modules & _imports((top / path).read_text())]
    seen: set[Path] = set()
    found = []
    for group in (own, same, importing):
        found.append([path for path in dict.fromkeys(group) if path not in seen])
        seen.update(group)
    return found


def _mirrors(test: Path, module: str) -> bool:
    """True if ``test`` has the path of ``module`` below its package, or of the folder that holds it."""
    parts = test.parts
    below = (*parts[parts.index("tests") + 1 : -1], test.stem.removeprefix("test_"))
    _, *inside = module.split(".")
    return bool(inside) and tuple(inside) == below


def _imports(text: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _batches(found: Iterable[list[Path]]) -> list[list[Path]]:
    return [group[i : i + _AT_ONCE] for group in found for i in range(0, len(group), _AT_ONCE)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is near."""
    parser = argparse.ArgumentParser(prog="python -m integration.fast", description=__doc__)
    parser.add_argument("--base", default="main", help="branch that the change is to go to")
    parser.add_argument(
        "--seconds", type=float, default=150.0, help="time after which no further tests begin"
    )
    parser.add_argument("--list", action="store_true", help="print the tests, and run none")
    given = parser.parse_args(arguments)
    files = changed(given.base)
    batches = _batches(groups(files))
    if given.list:
        print(*(path for batch in batches for path in batch), sep="\n")
        return 0
    begin = time.monotonic()
    for index, batch in enumerate(batches):
        if time.monotonic() - begin > given.seconds:
            left = sum(map(len, batches[index:]))
            print(f"{left} test files that import what changed were left out: nox -s tests runs them")
            break
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-n",
            "2",
            "-m",
            "not slow and not gpu",
            *map(str, batch),
        ]
        status = subprocess.run(command, cwd=TOP, check=False).returncode
        if status not in (0, 5):  # 5: all were deselected
            return status
    print(f"{len(files)} changed files, {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
