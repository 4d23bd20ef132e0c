"""Runs or compiles the probe of every name on one backend: ``{full name: "yes" or what was said}``."""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tri
from integration.language.names import HERE, find, reference
from tri.language.libdevice.table import SIGNATURES
from tri_core.errors import TriError

__all__ = ["BACKENDS", "YES", "probe_all", "probes"]

#: backend -> target that stands for it
BACKENDS = {
    "cpu": "cpu", "interpreter": "cpu", "nvidia": "nvidia:sm_90a", "amd": "amd:gfx942", "intel": "intel:pvc",
}  # fmt: skip
YES = "yes"
_TYPES = {"fp32": "x", "fp64": "x.to(tl.float64)", "int32": "n", "uint32": "n.to(tl.uint32)", "int64": "n.to(tl.int64)",
          "uint64": "n.to(tl.uint64)"}  # fmt: skip
#: a target in a message: states do not depend on the machine
_TARGET = re.compile(r"\b(cpu|nvidia|amd|intel):[\w.-]+")
_HEAD = """
import tri
import tri.language as tl


@tri.jit
def add(a, b):
    return a + b


@tri.jit
def branching(a):
    if a > 0.5:
        a = a * 2
    return a


@tri.aggregate
class Pair:
    a: tl.tensor
    b: tl.tensor


@tri.jit
def pair_of(a, b):
    return Pair(a, b)
"""
_KERNEL = """

@tri.jit
def probe_{number}(p, q):
    i = tl.arange(0, 32)
    x = tl.load(p + i)
    n = tl.load(q + i)
{body}
    tl.store(p + 32 + (i if len(r.shape) == 1 else 0), r.to(tl.float32))
"""


def probes() -> dict[str, str]:
    """Full name -> statements, for the names that are probed in a kernel."""
    table = tomllib.loads((HERE / "probes.toml").read_text())
    return dict(_probes(table))


def _probes(table: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    for section, names in reference().items():
        given = table.get(section, {})
        for name in names:
            body = given.get(name)
            if body is None and "*" in given:
                body = given["*"].format(name=name)
            if section == "tl.extra.libdevice":
                operands = ", ".join(_TYPES[o.name] for o in SIGNATURES[name][0][0])
                body = f"r = tl.extra.libdevice.{name}({operands})"
            if body is not None and find(section, name) is not None:
                yield f"{section}.{name}", body


def _module(bodies: list[str], folder: Path) -> ModuleType:
    text = _HEAD
    for number, body in enumerate(bodies):
        indented = "\n".join(f"    {line}" for line in body.strip().split("\n"))
        text += _KERNEL.format(number=number, body=indented)
    path = folder / "language_probes.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("language_probes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["language_probes"] = module
    spec.loader.exec_module(module)
    return module


def _one(kernel: Any, backend: str) -> str:
    target = BACKENDS[backend]
    try:
        if backend in ("cpu", "interpreter"):
            p = np.linspace(0.1, 0.9, 64).astype(np.float32)
            with ExitStack() as stack:
                stack.enter_context(redirect_stdout(StringIO()))
                stack.enter_context(tri.target(target))
                if backend == "interpreter":
                    stack.enter_context(tri.interpret())
                kernel[(1,)](p, np.arange(32, dtype=np.int32))
        else:
            source = tri.ASTSource(fn=kernel, signature={"p": "*fp32", "q": "*i32"}, constexprs={})
            tri.compile(source, target=target)
    except TriError as error:
        return _TARGET.sub(r"\1", str(error).split("\n", 1)[0])
    return YES


def probe_all(backend: str, *, skip: str = "") -> dict[str, str]:
    """The state of every probed name on ``backend``; names that begin with ``skip`` are left out."""
    wanted = {name: body for name, body in probes().items() if not (skip and name.startswith(skip))}
    with tempfile.TemporaryDirectory() as folder:
        module = _module(list(wanted.values()), Path(folder))
        return {name: _one(getattr(module, f"probe_{number}"), backend) for number, name in enumerate(wanted)}
