"""Modules that run when something of them is asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tri_core.lazy_modules import absent, lazy_module

_LLVM = """
import sys
from tri_core import bindings, mlir
with mlir.session():
    module = mlir.ir.Module.parse("llvm.func @f() { llvm.return }")
    assert [op.operation.name for op in module.body] == ["llvm.func"]
    gen = f"{bindings.ROOT}.dialects._llvm_ops_gen"
    print(gen in sys.modules)
    print(type(list(module.body)[0]) is mlir.llvm.LLVMFuncOp, mlir.llvm.LLVMFuncOp.OPERATION_NAME)
    print(type(list(mlir.ir.Module.parse("llvm.func @f() { llvm.return }").body)[0]) is mlir.llvm.LLVMFuncOp)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package whose module ``slow`` says when it runs."""
    name = f"lazily_{tmp_path.name.replace('-', '_')}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("runs = []\n")
    (tmp_path / name / "slow.py").write_text(
        f"import time\nimport {name}\n{name}.runs.append(1)\ntime.sleep(0.1)\nvalue = 3\n_own = 4\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(name)
    yield name
    for each in (name, f"{name}.slow"):
        sys.modules.pop(each, None)


def test_it_runs_when_something_is_asked_for(package: str) -> None:
    runs = sys.modules[package].runs
    module = lazy_module(f"{package}.slow", nullcontext)
    assert importlib.import_module(f"{package}.slow") is module is sys.modules[package].slow
    assert not hasattr(module, "__warningregistry__")
    assert not runs
    assert (module.value, module._own) == (3, 4)
    assert runs == [1]
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        module.other  # noqa: B018
    assert runs == [1]


def test_names_can_be_taken_from_it(package: str) -> None:
    lazy_module(f"{package}.slow", nullcontext)
    found: dict[str, object] = {}
    exec(f"from {package}.slow import value\nfrom {package}.slow import *", found)
    assert found["value"] == 3


def test_one_that_is_there_stays(package: str) -> None:
    there = importlib.import_module(f"{package}.slow")
    assert lazy_module(f"{package}.slow", nullcontext) is there


def test_one_that_is_not_there() -> None:
    with pytest.raises(ModuleNotFoundError, match="nothing"):
        lazy_module("tri_core.nothing", nullcontext)


def test_threads_see_all_of_it(package: str) -> None:
    module, seen = lazy_module(f"{package}.slow", nullcontext), list[int]()
    threads = [threading.Thread(target=lambda: seen.append(module.value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [3] * 8
    assert sys.modules[package].runs == [1]


def test_it_runs_within_what_is_asked(package: str) -> None:
    said: list[str] = []

    @contextmanager
    def within() -> Iterator[None]:
        said.append("in")
        yield
        said.append("out")

    assert lazy_module(f"{package}.slow", within).value == 3
    assert said == ["in", "out"]


def test_the_llvm_dialect_is_as_complete_as_ever() -> None:
    done = subprocess.run([sys.executable, "-c", _LLVM], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["False", "False", "llvm.func", "True"], "")


def test_an_absent_module_is_absent_for_one_thread_and_one_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made_absent.py").write_text("value = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "made_absent", raising=False)
    found = list[object]()
    with absent("made_absent"):
        with pytest.raises(ModuleNotFoundError, match="made_absent"):
            importlib.import_module("made_absent")
        thread = threading.Thread(target=lambda: found.append(importlib.import_module("made_absent").value))
        thread.start()
        thread.join()
    assert found == [1]
    del sys.modules["made_absent"]
    assert importlib.import_module("made_absent").value == 1
    with absent("made_absent"):
        assert importlib.import_module("made_absent").value == 1
    monkeypatch.delitem(sys.modules, "made_absent")
