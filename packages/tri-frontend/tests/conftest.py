"""The fake backend as the only plugin, and helpers to look at TTIR."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tri.compiler.source import ASTSource
from tri.launch import dispatcher
from tri_core import compiler, knobs, mlir, plugins
from tri_core.mlir import session
from tri_core.plugins import PluginManager, candidate_of
from tri_core.target_selection import resolve
from tri_runtime import registry

_HERE = Path(__file__).parent


def load_module(name: str, path: Path) -> ModuleType:
    """The module in ``path``, imported anew under ``name``."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


fake = load_module("tri_fake_backend", _HERE / "fake_backend.py")


@pytest.fixture(autouse=True)
def _fake_backend(tmp_path: Path) -> Iterator[None]:
    manager = PluginManager([candidate_of(fake)])
    fake.RUNTIME.__init__()
    compiler.forget()
    dispatcher.forget()
    registry.forget()
    with plugins.use(manager), knobs.scope(CACHE_DIR=tmp_path / "cache"):
        yield
    registry.forget()


@pytest.fixture
def runtime() -> Any:
    """The fake runtime, which records launches."""
    return fake.RUNTIME


@pytest.fixture
def ttir() -> Callable[..., str]:
    """``ttir(kernel, {"x": "*fp32", ...}, {"BLOCK": 16}, **options)``: the module that the front end builds."""

    def build(
        kernel: Any, signature: dict[str, str], constants: dict[str, Any] | None = None, **more: Any
    ) -> str:
        attrs = more.pop("attrs", None)
        target = resolve(more.pop("target", "fake:one"))
        source = ASTSource(kernel, signature, constants or {}, attrs)
        with session():
            module = source.build(target, target.options_type.parse(more))
            mlir.verify(module)
            return str(module)

    return build


@pytest.fixture
def kernel_file(tmp_path: Path) -> Callable[[str], ModuleType]:
    """A module from source text, in a file of its own, so that kernels in it have a source."""
    count = 0

    def write(text: str) -> ModuleType:
        nonlocal count
        count += 1
        path = tmp_path / f"kernels_{count}.py"
        path.write_text("import tri\nimport tri.language as tl\n" + text)
        return load_module(f"kernels_{count}_{abs(hash(str(path)))}", path)

    return write


@pytest.fixture
def cpu(tmp_path: Path) -> Iterator[None]:
    """The installed plugins, so that kernels run on the CPU, with a cache of the test's own."""
    compiler.forget()
    dispatcher.forget()
    registry.forget()
    with plugins.use(PluginManager()), knobs.scope(CACHE_DIR=tmp_path / "cpu-cache", TARGET="cpu"):
        yield
    dispatcher.forget()
    registry.forget()
