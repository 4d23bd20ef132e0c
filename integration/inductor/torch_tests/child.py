"""Tests of PyTorch's by one compiler, each told on the input and answered by a line of JSON on a descriptor.

The first line comes unasked: the compiler, and the names of the tests.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import ast
import importlib
import json
import os
import sys
import time
import traceback
import types
import unittest
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["is_regular", "serve"]

#: an outcome that is the same where nothing ran
_SKIPPED = "skipped"


def is_regular(outcome: dict[str, Any]) -> bool:
    """True if the test of ``outcome`` ran, with the result that its writer expects."""
    return outcome.get("said") == "passed"


def serve(compiler: str, device: str, folder: Path, modules: Sequence[str], descriptor: int) -> None:
    """Answer until the input ends; what tests print goes where this process's output goes."""
    with os.fdopen(descriptor, "w", buffering=1) as answers:
        try:
            cases = _cases(compiler, device, folder, modules)
            hello = {"compiler": "C++" if compiler == "cpp" else _compiler(), "names": list(cases)}
        except Exception as error:
            print(
                json.dumps({"error": {"said": _said(error), "at": traceback.format_exc()[-2000:]}}),
                file=answers,
            )
            return
        print(json.dumps(hello), file=answers)
        for line in sys.stdin:
            print(json.dumps(_outcome(*cases[line.strip()])), file=answers)


def _compiler() -> str:
    """The package ``triton`` and where it is from: "module 3.6.0 of /..." or "StandIn 3.9.0 of /..."."""
    triton = importlib.import_module("triton")
    return f"{type(triton).__name__} {triton.__version__} of {triton.__file__}"


def _cases(compiler: str, device: str, folder: Path, modules: Sequence[str]) -> dict[str, tuple[Any, str]]:
    """Class and method of the tests for ``device``, by their names."""
    if compiler == "tri":
        importlib.import_module("tri.compat.triton").install()
    config: Any = importlib.import_module("torch._inductor.config")
    # many of these processes run side by side
    config.compile_threads = 1
    if device == "cpu" and compiler != "cpp":
        config.cpu_backend = "triton"
    sys.path[:0] = [str(folder), str(folder / "inductor")]
    cases: dict[str, tuple[Any, str]] = {}
    for module in modules:
        supply_absent_names(folder / "inductor" / f"{module}.py")
        found = importlib.import_module(module)
        for case in vars(found).values():
            if isinstance(case, type) and issubclass(case, unittest.TestCase) and case.__module__ == module:
                methods = unittest.defaultTestLoader.getTestCaseNames(case)
                cases |= {f"{module}.{case.__name__}.{method}": (case, method) for method in methods}
    return cases


class Absent:
    """A name that this PyTorch doesn't have and that its tests of another version import: tests that it decorates are skipped."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Give a test that is skipped; for other arguments, as of a decorator, itself."""
        if len(arguments) == 1 and isinstance(arguments[0], (types.FunctionType, type)):
            return unittest.skip(f"{self.name} is not in this PyTorch")(arguments[0])
        return self

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def supply_absent_names(file: Path) -> None:
    """Give modules of PyTorch the names that ``file`` imports at its top and that they don't have."""
    for statement in _imports(ast.parse(file.read_text())):
        if statement.level or not str(statement.module).startswith("torch"):
            continue
        module = _module(str(statement.module))
        for alias in statement.names:
            if not hasattr(module, alias.name) and not _is_module(f"{statement.module}.{alias.name}"):
                setattr(module, alias.name, Absent(f"{statement.module}.{alias.name}"))


def _module(name: str) -> types.ModuleType:
    """The module of that name, an empty one where PyTorch has none."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return sys.modules.setdefault(name, types.ModuleType(name))


def _is_module(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def _imports(tree: ast.Module) -> Iterator[ast.ImportFrom]:
    """Imports at module level, under conditions too."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.expr)):
            waiting += ast.iter_child_nodes(node)


def _outcome(case: type[unittest.TestCase], method: str) -> dict[str, Any]:
    result, begin = unittest.TestResult(), time.perf_counter()
    try:
        unittest.TestSuite([case(method)]).run(result)
    except Exception as error:
        return {"said": "failed", "why": _said(error), "s": time.perf_counter() - begin}
    bad = [text for _, text in (*result.failures, *result.errors)]
    if result.unexpectedSuccesses:
        bad.append("passed, which was not expected")
    said = "failed" if bad else _SKIPPED if result.skipped or not result.testsRun else "passed"
    why = _first_error(bad[0]) if bad else ""
    return {
        "said": said,
        "why": why,
        "s": time.perf_counter() - begin,
        "trace": bad[0][-3000:] if bad else "",
    }


def _first_error(trace: str) -> str:
    """The line of ``trace`` that names the first error at its left edge."""
    lines = [line for line in trace.splitlines() if line and not line[0].isspace() and ": " in line]
    return next(
        (line for line in lines if not line.startswith(("Traceback", "To execute"))), trace.strip()[-200:]
    )[:300]


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]
