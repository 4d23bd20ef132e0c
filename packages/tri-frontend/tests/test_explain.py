"""Why kernels are compiled: explanations, the log, and no_compile."""

from __future__ import annotations

import importlib.util
import linecache
import logging
import sys
import threading
from contextvars import copy_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
from tri_core import compiler, knobs
from tri_core.compiler import IRSource
from tri_core.errors import CompileRefused, TriError
from tuning_kernels import grid, scale_kernel

pytestmark = pytest.mark.usefixtures("cpu")

N = 1000


def launch(kernel: Any, n: int = N, block: int = 64, dtype: Any = np.float32, **options: Any) -> None:
    x = np.arange(max(n, 16)).astype(dtype)
    y = np.zeros_like(x)
    kernel[grid](x, y, n, BLOCK=block, **options)
    np.testing.assert_array_equal(y[:n], 2 * x[:n])


def last(kernel: Any) -> tuple[str, ...]:
    return tuple(tri.explain(kernel)[-1])


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(TriError, match="3 is not a kernel"):
        tri.explain(3)


def test_each_difference_is_named() -> None:
    kernel = scale_kernel()
    assert tri.explain(kernel) == []
    launch(kernel)
    assert last(kernel) == ("it was never compiled before",)
    launch(kernel, block=128)
    assert last(kernel) == ("constant 'BLOCK' is 128, it was 64",)
    launch(kernel, n=960)
    assert last(kernel) == ("argument 'n' is i32, divisible by 16, it was i32",)
    launch(kernel, num_warps=8)
    assert last(kernel) == ("option 'num_warps' is 8, it was 4",)
    launch(kernel, dtype=np.float64)
    assert last(kernel) == (
        "argument 'x_ptr' is *fp64, divisible by 16, it was *fp32, divisible by 16",
        "argument 'y_ptr' is *fp64, divisible by 16, it was *fp32, divisible by 16",
    )
    launch(kernel, n=1)
    assert last(kernel) == ("argument 'n' is the constant 1, it was i32, divisible by 16",)
    assert len(tri.explain(kernel)) == 6


def test_a_launch_that_compiles_nothing_adds_nothing() -> None:
    kernel = scale_kernel()
    launch(kernel)
    launch(kernel)
    launch(kernel, n=N + 1)
    compiler.forget()
    kernel.device_caches.clear()
    launch(kernel)
    assert len(tri.explain(kernel)) == 1


def test_a_lost_cache_entry_is_said() -> None:
    kernel = scale_kernel()
    launch(kernel)
    kernel.device_caches.clear()
    with knobs.scope(ALWAYS_COMPILE=True):
        launch(kernel)
    assert "the cache does not have it any more (or was set not to look)" in last(kernel)[0]


TEXT = """
LIMIT = tl.constexpr({limit})

@tri.jit
def helper(x):
    return x + {helper}

@tri.jit
def kernel(x_ptr):
    tl.store(x_ptr, helper(tl.load(x_ptr)) + LIMIT + {own})
"""


def test_a_change_of_the_source_is_distinguished(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"

    def run(limit: int, helper: int, own: int) -> Any:
        head = "import tri\nimport tri.language as tl\n"
        path.write_text(head + TEXT.format(limit=limit, helper=helper, own=own))
        linecache.checkcache(str(path))
        spec = importlib.util.spec_from_file_location("edited_kernel", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)  # no stale byte code
        x = np.zeros(1, np.int32)
        module.kernel[(1,)](x)
        assert x[0] == limit + helper + own
        return module.kernel

    run(10, 20, 30)
    assert last(run(10, 20, 40)) == ("text of the function changed",)
    assert last(run(10, 90, 40)) == ("function helper changed",)
    assert last(run(70, 90, 40)) == ("global LIMIT changed from constexpr[10] to constexpr[70]",)


def test_the_log_says_it(caplog: pytest.LogCaptureFixture) -> None:
    kernel = scale_kernel()
    with caplog.at_level(logging.INFO, "tri.explain"):
        launch(kernel)
        launch(kernel, block=32)
    assert caplog.messages[0].startswith("scale is compiled for cpu")
    assert caplog.messages[1].endswith(": constant 'BLOCK' is 32, it was 64")


def test_no_compile_refuses_with_the_reason() -> None:
    kernel = scale_kernel()
    launch(kernel)
    with tri.no_compile():
        launch(kernel)
        with pytest.raises(CompileRefused, match="constant 'BLOCK' is 128, it was 64") as caught:
            launch(kernel, block=128)
    assert caught.value.reasons == ("constant 'BLOCK' is 128, it was 64",)
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    launch(kernel, block=128)
    assert len(tri.explain(kernel)) == 2


def test_no_compile_by_knob_and_for_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = scale_kernel()
    made = kernel.warmup(tri.language.float32, tri.language.float32, 64, BLOCK=64)
    text = made.asm["ttir"]
    assert isinstance(text, str)
    with tri.knobs.compilation.scope():
        tri.knobs.compilation.no_compile = True
        with pytest.raises(CompileRefused, match="argument 'n' is i32, it was i32, divisible by 16"):
            launch(scale_kernel())
        with pytest.raises(CompileRefused, match="it is given as IR"):
            compiler.compile(IRSource("ttir", text.replace("scale", "other"), made.metadata.signature), "cpu")
    launch(kernel)


def test_no_compile_holds_for_its_thread_only() -> None:
    kernel = scale_kernel()
    inside, done = threading.Event(), threading.Event()
    errors: list[Exception] = []

    def other() -> None:
        inside.wait()
        try:
            launch(kernel)
        except Exception as error:
            errors.append(error)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with tri.no_compile():
        inside.set()
        done.wait()
    thread.join()
    assert not errors


def test_threads_remember_every_compile() -> None:
    kernel = scale_kernel()
    blocks = [16, 32, 64, 128]
    threads = [
        threading.Thread(target=copy_context().run, args=(launch, kernel, N, block)) for block in blocks
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(e.picture.constants["BLOCK"]) for e in tri.explain(kernel)) == blocks
