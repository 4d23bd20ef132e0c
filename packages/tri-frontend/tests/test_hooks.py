"""Hooks around launches and compiles, asynchronous compiles, preloading, compiled kernels, knobs."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.knobs import HookChain
from tri.launch.hooks import LaunchFacts
from tri_core import compiler, knobs
from tri_core.errors import CompilationError, CompileRefused, LaunchError, OptionError, TriError
from tuning_kernels import grid, scale_kernel

pytestmark = pytest.mark.usefixtures("cpu")

N = 1000


def arrays() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(3).standard_normal(N).astype(np.float32)
    return x, np.zeros_like(x)


def launch(kernel: Any, block: int = 64, **options: Any) -> Any:
    x, y = arrays()
    made = kernel[grid](x, y, N, BLOCK=block, **options)
    np.testing.assert_array_equal(y, 2 * x)
    return made


# --- launches -----------------------------------------------------------------------------------------------


def test_launch_hooks_surround_the_launch() -> None:
    kernel = scale_kernel()
    kernel.launch_metadata = lambda grid, metadata, args: {
        "bytes": 8 * args["n"],
        "warps": metadata.num_warps,
    }
    seen: list[tuple[str, dict[str, Any]]] = []
    with tri.knobs.runtime.scope():
        tri.knobs.runtime.launch_enter_hook.add(lambda facts: seen.append(("enter", facts.get())))
        tri.knobs.runtime.launch_exit_hook.add(lambda facts: seen.append(("exit", facts.get())))
        made = launch(kernel)
    assert [word for word, _ in seen] == ["enter", "exit"]
    facts = seen[0][1]
    assert facts == seen[1][1]
    assert facts == {
        "name": "scale",
        "hash": made.hash,
        "grid": (16, 1, 1),
        "stream": None,
        "bytes": 8 * N,
        "warps": 4,
    }
    launch(kernel)
    assert len(seen) == 2


def test_facts_are_made_only_when_asked_for() -> None:
    kernel = scale_kernel()
    count = 0

    def metadata(*_: Any) -> dict[str, Any]:
        nonlocal count
        count += 1
        return {}

    kernel.launch_metadata = metadata
    kept: list[LaunchFacts] = []
    with tri.knobs.runtime.scope():
        tri.knobs.runtime.launch_enter_hook = kept.append
        launch(kernel)
    assert count == 0
    assert kept[0]["name"] == kept[0].get()["name"] == "scale"
    assert count == 1


def test_a_chain_is_ordered() -> None:
    order: list[int] = []
    forward, backward = HookChain(), HookChain(reversed=True)
    for chain in (forward, backward):
        for i in range(3):
            chain.add(lambda i=i: order.append(i))
        chain()
    assert order == [0, 1, 2, 2, 1, 0]
    assert bool(forward)
    forward.replace([])
    assert not forward


def test_pre_run_hooks_see_the_arguments() -> None:
    kernel = scale_kernel()
    seen: list[Any] = []
    kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append((args[2], kwargs["BLOCK"])))
    launch(kernel)
    assert seen == [(N, 64)]


# --- compiles -----------------------------------------------------------------------------------------------


def test_the_cache_hook_sees_compiles_and_may_refuse() -> None:
    kernel = scale_kernel()
    reported: list[dict[str, Any]] = []
    with tri.knobs.runtime.scope():
        tri.knobs.runtime.jit_cache_hook = lambda **facts: reported.append(facts)
        tri.knobs.runtime.jit_post_compile_hook = lambda **facts: reported.append(facts)
        launch(kernel)
        launch(kernel)
        assert [facts["already_compiled"] for facts in reported] == [False, True]
        assert reported[0]["fn"].name.endswith("scale")
        assert reported[0]["fn"].jit_function is kernel
        assert reported[0]["compile"]["constants"] == {"BLOCK": 64}
        assert reported[0]["compile"]["signature"]["x_ptr"] == "*fp32"
        assert "n: i32" in reported[0]["repr"]
        assert not reported[0]["is_manual_warmup"]
        tri.knobs.runtime.jit_cache_hook = lambda **facts: True
        with pytest.raises(CompileRefused, match="a jit_cache_hook forbids"):
            launch(kernel, block=128)
    launch(kernel, block=128)
    assert len(reported) == 2


def test_preload_compiles_what_another_process_launched() -> None:
    kernel = scale_kernel()
    texts: list[str] = []
    with tri.knobs.runtime.scope():
        tri.knobs.runtime.jit_cache_hook = lambda **facts: texts.append(
            facts["compile"]["specialization_data"]
        )
        launch(kernel, num_warps=8)
    compiler.forget()
    kernel.device_caches.clear()
    with knobs.scope(CACHE_DIR=knobs.get("CACHE_DIR") / "other"):
        preloaded = kernel.preload(texts[0])
        with tri.no_compile():
            assert launch(kernel, num_warps=8).hash == preloaded.hash
    with pytest.raises(OptionError, match="cannot be read"):
        kernel.preload("{}")

    @tri.jit
    def other(x_ptr):
        tl.store(x_ptr, 0)

    with pytest.raises(OptionError, match="of kernel scale, not of other"):
        other.preload(texts[0])


def test_asynchronous_compiles() -> None:
    kernel = scale_kernel()
    x, y = arrays()
    with ThreadPoolExecutor(2) as executor, tri.AsyncCompileMode(executor):
        made = [kernel.warmup(x, y, N, BLOCK=b, grid=(1,)) for b in (16, 32, 64, 16)]
        assert all(isinstance(k, tri.FutureKernel) for k in made)
        assert made[0] is made[3]
        assert made[1].name == "scale"
    assert all(k.done() for k in made)
    compiler.forget()
    with tri.no_compile():
        for block in (16, 32, 64):
            launch(kernel, block)


class Holding(ThreadPoolExecutor):
    """Starts its work when it is told to."""

    def __init__(self) -> None:
        super().__init__(1)
        self.go = threading.Event()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        def later() -> Any:
            self.go.wait(60)
            return fn(*args, **kwargs)

        return super().submit(later)


def test_a_future_is_there_before_its_kernel() -> None:
    with Holding() as executor, tri.AsyncCompileMode(executor):
        made = scale_kernel().warmup(*arrays(), N, BLOCK=16, num_warps=2)
        assert not made.done()
        assert "compiling kernel scale" in repr(made)
        executor.go.set()
        assert made.result().metadata.num_warps == 2


def test_failures_of_asynchronous_compiles() -> None:
    kernel = scale_kernel()
    x, y = arrays()
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(CompilationError), tri.AsyncCompileMode(executor):
            kernel.warmup(x, y, N, BLOCK=1 << 21)
        with tri.AsyncCompileMode(executor, ignore_errors=True):
            bad = kernel.warmup(x, y, N, BLOCK=1 << 21)
            good = kernel.warmup(x, y, N, BLOCK=16)
        assert bad.result(ignore_errors=True) is None
        assert good.result().name == "scale"
        with (
            tri.AsyncCompileMode(executor),
            pytest.raises(TriError, match="cannot be nested"),
            tri.AsyncCompileMode(executor),
        ):
            pass


# --- kernels ------------------------------------------------------------------------------------------------


def test_attributes_of_a_compiled_kernel() -> None:
    kernel = scale_kernel()
    made = launch(kernel)
    assert len(made.hash) == 64
    assert made.src.fn is kernel
    assert made.n_regs is None  # a CPU kernel has none to count
    assert "tt.store" in made.asm["ttir"]
    assert made.metadata.num_warps == 4
    assert list(kernel.device_caches[0][0].values()) == [made]
    assert kernel.device_caches[7][0] == {}
    assert list(kernel.device_caches) == [0]


def test_a_compiled_kernel_launches() -> None:
    kernel = scale_kernel()
    x, y = arrays()
    made = kernel.warmup(x, y, N, BLOCK=64)
    made[(16, 1, 1)](x, y, N, 64)
    np.testing.assert_array_equal(y, 2 * x)
    y[:] = 0
    made[(16,)](x, y, N)
    np.testing.assert_array_equal(y, 2 * x)
    with pytest.raises(LaunchError, match="takes 4 arguments, or 3 without constants; 2 were given"):
        made[(16,)](x, y)
    with pytest.raises(LaunchError, match="aligned to 16 bytes"):
        made[(16,)](x[1:], y, N)
    import pickle

    with pytest.raises(LaunchError, match="does not know its arguments"):
        pickle.loads(pickle.dumps(made))[(16,)](x, y, N)


def test_ir_override(tmp_path: Any) -> None:
    kernel = scale_kernel()
    text = launch(kernel).asm["ttir"]
    changed = tmp_path / "scale.ttir"
    changed.write_text(text.replace("2.000000e+00", "3.000000e+00"))
    assert changed.read_text() != text
    x, y = arrays()
    config = tri.Config({"BLOCK": 64}, ir_override=str(changed))
    tri.autotune([config], key=[])(kernel)[grid](x, y, N)
    np.testing.assert_array_equal(y, 3 * x)


# --- knobs --------------------------------------------------------------------------------------------------


def test_knobs_are_for_the_process_and_its_children() -> None:
    assert tri.knobs.autotuning.cache is False
    with tri.knobs.autotuning.scope():
        tri.knobs.autotuning.cache = True
        assert tri.knobs.autotuning.cache is True
        assert os.environ["TRI_AUTOTUNE_CACHE"] == "1"
    assert "TRI_AUTOTUNE_CACHE" not in os.environ
    assert tri.knobs.cache.dir == str(knobs.get("CACHE_DIR"))
    assert "launch_enter_hook" in dir(tri.knobs.runtime)
    with pytest.raises(AttributeError, match=r"tri.knobs.cache has no folder; it has dir"):
        tri.knobs.cache.folder  # noqa: B018
    with pytest.raises(OptionError, match="has no setting 'folder'"):
        tri.knobs.cache.folder = 1
    with pytest.raises(OptionError, match="cannot be 'many'"):
        tri.knobs.compilation.workers = "many"
