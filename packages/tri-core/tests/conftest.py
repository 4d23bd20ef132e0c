"""Fake plugins and sources: everything that the tests of core need in place of real backends."""

from __future__ import annotations

import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tri_core import compiler, knobs, plugins
from tri_core.abi import KernelSignature, Parameter
from tri_core.plugins import Candidate, PluginManager, candidate_of
from tri_core.plugins.fingerprint import forget as forget_fingerprints

ADD = """
"tt.func"() ({
^bb0(%p: !tt.ptr<f32, "global">, %n: i32):
  %a = arith.constant 7 : i32
  %b = arith.addi %n, %a : i32
  %c = "tt.addptr"(%p, %b) : (!tt.ptr<f32, "global">, i32) -> !tt.ptr<f32, "global">
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32, "global">, i32) -> (), sym_name = "NAME", sym_visibility = "public", arg_attrs = [{}, {}]} : () -> ()
"""

BACKEND = """
from tri_core.api import *

TRI_PLUGIN_API = (1, 0)
RUNS = []

@hookimpl
def tri_backends():
    return [BackendInfo(name="{name}", device_kinds=("{name}",), runtime="{name}", priority={priority},
                        architectures=("one", "two"))]

@hookimpl
def tri_probe(backend):
    return {devices}

@hookimpl
def tri_target(backend, key, device):
    arch = key.arch or device.arch
    if arch not in ("one", "two"):
        raise TargetError(f"unknown architecture {{arch!r}}", remedy="known: one, two")
    return Target(key=TargetKey("{name}", arch, key.features), spec=TargetSpec(limits={{"shared": 100}}))

def ttir(module, context):
    RUNS.append("ttir")
    STEPS.run("ttir", module, context)
    return StageResult(artifact=module)

def text(module, context):
    RUNS.append("text")
    return StageResult(artifact=f"// {{context.kernel_name}}\\n{{module}}", resources={{"shared": 64}},
                       attrs={{"sizes": (1, 2)}})

def image(artifact, context):
    RUNS.append("image")
    return StageResult(artifact=b"\\x00\\xff" + artifact.encode(), entry_points=("entry",))

@hookimpl
def tri_pipeline(target, options):
    global STEPS
    STEPS = PassList([Anchor("ttir.begin"), Anchor("ttir.end")])
    return Pipeline(stages=(
        Stage(name="ttir", kind="module", run=ttir, passes=STEPS),
        Stage(name="text", kind="text", run=text),
        Stage(name="image", kind="bytes", run=image, final=True,
              disassemblers={{"listing": lambda data: f"{{len(data)}} bytes"}}),
    ))
"""


def module_of(name: str, text: str) -> types.ModuleType:
    """A module made of ``text``."""
    module = sys.modules[name] = types.ModuleType(name)  # dataclasses look themselves up there
    exec(compile(textwrap.dedent(text), f"<{name}>", "exec"), module.__dict__)
    return module


def _backend_text(name: str, *, priority: int = 0, live: bool = True) -> str:
    """The source of a complete fake backend."""
    devices = f'[DeviceInfo("{name}", 0, "one")]' if live else "[]"
    return BACKEND.format(name=name, priority=priority, devices=devices)


@dataclass
class FakeSource:
    """TTIR text as a source that counts its builds."""

    text: str = ADD
    name: str = "kernel"
    builds: int = 0

    def fingerprint(self) -> str:
        return f"{self.name}:{self.text}"

    def kernel_signature(self) -> KernelSignature:
        return KernelSignature(name=self.name, parameters=(Parameter("p", "*fp32"), Parameter("n", "i32")))

    def build(self, target: Any, options: Any) -> Any:
        from tri_core.mlir import ir

        self.builds += 1
        return ir.Module.parse(self.text.replace("NAME", self.name))


@pytest.fixture
def make_plugin() -> Callable[..., Candidate]:
    """A candidate from source text: ``make_plugin("name", text)``; ``backend=True`` puts it behind a backend."""

    def make(name: str, text: str = "", *, backend: bool = False, dist: str = "", **more: Any) -> Candidate:
        head = _backend_text(name, **more) if backend else ""
        if not head and "TRI_PLUGIN_API" not in text:
            head = "from tri_core.api import *\nTRI_PLUGIN_API = (1, 0)\n"
        module = module_of(f"made_{name}", head + textwrap.dedent(text))
        return candidate_of(module, name=name, dist=dist, version="1.2" if dist else "")

    return make


@dataclass
class Site:
    """A folder on ``sys.path`` into which distributions are installed by hand."""

    root: Path

    def install(self, name: str, text: str, *, version: str = "1.0", requires: tuple[str, ...] = ()) -> Path:
        """Distribution ``tri-NAME`` with package ``fake_NAME`` whose ``plugin.py`` is ``text``."""
        package = self.root / f"fake_{name}"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "plugin.py").write_text(textwrap.dedent(text))
        info = self.root / f"tri_{name}-{version}.dist-info"
        info.mkdir()
        needed = "".join(f"Requires-Dist: {r}\n" for r in requires)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: tri-{name}\nVersion: {version}\n{needed}"
        )
        (info / "entry_points.txt").write_text(f"[tri]\n{name} = fake_{name}.plugin\n")
        (info / "RECORD").write_text(f"fake_{name}/__init__.py,,0\nfake_{name}/plugin.py,sha256=0,1\n")
        return package


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site folder in front of ``sys.path``; what was imported from it is forgotten."""
    root = tmp_path / "site"
    root.mkdir()
    monkeypatch.syspath_prepend(root)
    before = set(sys.modules)
    yield Site(root)
    for name in set(sys.modules) - before:
        if name.partition(".")[0].startswith("fake_"):
            del sys.modules[name]
    forget_fingerprints()


@pytest.fixture
def activate() -> Iterator[Callable[..., PluginManager]]:
    """Make a manager of the candidates given the one of the process."""
    contexts = []

    def make(*candidates: Candidate) -> PluginManager:
        context = plugins.use(PluginManager(candidates))
        contexts.append(context)
        return context.__enter__()

    yield make
    for context in reversed(contexts):
        context.__exit__(None, None, None)


@pytest.fixture
def source() -> type[FakeSource]:
    """The class of fake sources."""
    return FakeSource


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path) -> Iterator[Path]:
    """A cache of its own for every test, and an empty memory."""
    compiler.forget()
    with knobs.scope(CACHE_DIR=tmp_path / "cache"):
        yield tmp_path / "cache"


@pytest.fixture
def backend_text() -> Callable[..., str]:
    """The source of a fake backend's plugin module, by name."""
    return _backend_text


@pytest.fixture
def toy(make_plugin: Callable[..., Candidate], activate: Any) -> Any:
    """The module of the one backend, ``toy``."""
    candidate = make_plugin("toy", backend=True)
    activate(candidate)
    return candidate.load()


@pytest.fixture
def with_backend(make_plugin: Callable[..., Candidate], activate: Any) -> Callable[..., Any]:
    """Activate ``toy`` with its source changed by text that follows, and further plugins."""

    def make(text: str, *others: Candidate) -> Any:
        candidate = make_plugin("toy", text, backend=True, dist="tri-toy")
        activate(candidate, *others)
        return candidate.load()

    return make
