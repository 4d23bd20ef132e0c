"""Compiling in many processes that share a cache, some of which are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tri_core import knobs
from tri_core.compiler import compile as compile_kernel
from tri_core.notices import CacheWarning

#: a backend of which every compile is logged, and takes as long as its target says
SLOW = """
import os, time
def image(artifact, context):
    time.sleep(0.1)
    with open(os.environ["COMPILES"], "a") as log:
        log.write(context.kernel_name + "\\n")
    return StageResult(artifact=artifact.encode() * 40)
"""

COMPILE = """
    import hashlib, sys
    from tri_core.abi import KernelSignature
    from tri_core.compiler import compile

    class Source:
        def __init__(self, name): self.name = name
        def fingerprint(self): return self.name
        def kernel_signature(self): return KernelSignature(name=self.name, parameters=())
        def build(self, target, options):
            from tri_core.mlir import ir
            return ir.Module.parse(TEXT.replace("NAME", self.name))

    TEXT = '''{text}'''
    print("ready", flush=True)
    sys.stdin.readline()
    for name in sys.argv[1:]:
        kernel = compile(Source(name), "toy:one")
        print(hashlib.sha256(kernel.image.data).hexdigest(), flush=True)
"""

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(site: Any, source: Any, tmp_path: Path, own_cache: Path, backend_text: Any) -> Start:
    """Start a process that compiles the kernels named, once it reads a line."""
    site.install("toy", backend_text("toy") + SLOW)
    script = tmp_path / "compile_them.py"
    script.write_text(textwrap.dedent(COMPILE).replace("{text}", source().text))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(site.root), *sys.path]),
        "TRI_PLUGINS": "toy",
        "TRI_CACHE_DIR": str(own_cache),
        "COMPILES": str(tmp_path / "compiles.log"),
    }

    def start(*names: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(script), *names]
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()


def finish(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.split()


def test_twenty_processes_compile_one_kernel_once(start: Start, tmp_path: Path) -> None:
    processes = [start("kernel") for _ in range(20)]
    for process in processes:
        go(process)
    images = [finish(process) for process in processes]
    assert len(images[0]) == 1
    assert images == [images[0]] * 20
    assert (tmp_path / "compiles.log").read_text() == "kernel\n"


def test_killed_compiles_leave_a_usable_cache(start: Start, tmp_path: Path, own_cache: Path) -> None:
    random.seed(3)
    names = [f"k{i}" for i in range(4)]
    for _ in range(5):
        process = start(*names)
        go(process)
        time.sleep(random.uniform(0.2, 0.7))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = start(*names)
    go(process)
    images = finish(process)
    # of the whole cache, nothing wrong: a process without one makes the same
    for entry in own_cache.rglob("*.entry"):
        entry.unlink()
    process = start(*names)
    go(process)
    assert finish(process) == images
    assert len(set(images)) == 4


def test_a_full_disk_costs_the_entry_only(
    make_plugin: Any, activate: Any, source: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    activate(make_plugin("toy", backend=True))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with knobs.scope(CACHE_DIR=tmp_path / "full"), monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.warns(CacheWarning) as caught:
            kernels = [compile_kernel(source(name=f"k{i}"), "toy:one") for i in range(3)]
        assert len(caught) == 1
        assert compile_kernel(source(name="k1"), "toy:one") is kernels[1]
    assert [k.name for k in kernels] == ["k0", "k1", "k2"]
    assert not [p for p in (tmp_path / "full").rglob("*") if p.is_file()]
