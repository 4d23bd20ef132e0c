"""The worker's bindings without the modules that they hardly need: all of them there, and nothing else changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import json, sys
{before}
from tri_core.codegen.bindings import import_bindings
import_bindings()
modules = sorted(sys.modules)
import llvmlite.binding as llvm
llvm.initialize_native_target()
{after}
print(json.dumps([modules, found]))
"""


def child(before: str = "", after: str = "found = llvm.get_process_triple()") -> tuple[list[str], object]:
    """The modules of a process behind the import, and what it has ``found``; ``-S``, for ``site`` imports some."""
    command = [sys.executable, "-I", "-S", "-c"]
    folders = [str(Path(__import__(m).__file__ or "").parents[1]) for m in ("tri_core", "llvmlite")]
    text = CHILD.format(before=f"sys.path[:0] = {folders!r}\n{before}", after=after)
    done = subprocess.run([*command, text], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    modules, found = json.loads(done.stdout)
    return modules, found


def test_what_they_hardly_need_is_not_imported() -> None:
    modules, triple = child()
    assert "llvmlite.binding.executionengine" in modules
    assert not {"importlib.resources", "platform", "zipfile", "tempfile", "pathlib"} & set(modules)
    assert "-" in str(triple)


def test_later_imports_find_the_standard_librarys() -> None:
    after = """
import importlib.resources, platform
found = [importlib.resources.files("json").name, platform.machine() == platform.uname().machine]
"""
    assert child(after=after)[1] == ["json", True]


def test_the_processor_is_asked_for_when_it_is_needed() -> None:
    after = """
llvm.initialize_native_asmprinter()
machine = llvm.Target.from_default_triple().create_target_machine()
llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
found = "platform" in sys.modules
"""
    assert child(after=after)[1] is True


@pytest.mark.parametrize(
    "stands_for_less", ["del light._Folder.__truediv__", "light.nullcontext = None"], ids=["path", "file"]
)
def test_bindings_that_need_more_get_it(stands_for_less: str) -> None:
    before = f"from tri_core.codegen import bindings as light\n{stands_for_less}"
    modules, triple = child(before)
    assert "importlib.resources" in modules
    assert "-" in str(triple)


def test_a_module_that_is_there_is_left_alone() -> None:
    before = "import importlib.resources as before, platform as machine"
    after = "found = sys.modules['importlib.resources'] is before is importlib.resources, sys.modules['platform'] is machine"
    assert child(before, "import importlib\n" + after)[1] == [True, True]
