"""autotune and heuristics on the CPU."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
import tri.tools.tensor_descriptor
from tri.tuning import report, results
from tri.tuning.arrays import zero
from tri_core import compiler, knobs, progress
from tri_core.errors import AutotuneError, LaunchError, OptionError, OutOfResources, TriError, Unsupported
from tuning_kernels import accumulate_kernel, grid, scale_kernel

pytestmark = pytest.mark.usefixtures("cpu")

N = 1000
BLOCKS = (16, 64, 256)
#: more elements than a tensor may have: a configuration that does not compile
TOO_LARGE = 1 << 21


def configs(*blocks: int) -> list[tri.Config]:
    return [tri.Config({"BLOCK": block}) for block in blocks or BLOCKS]


def arrays(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(N).astype(np.float32), np.full(N, np.nan, np.float32)


def tuned(kernel: Any = None, *blocks: int, **options: Any) -> Any:
    options = {"warmup": 0, "rep": 1, **options}
    return tri.autotune(configs(*blocks), key=["n"], **options)(kernel or scale_kernel())


def test_the_fastest_configuration_is_used() -> None:
    # the timing is the test's, so that the winner is known
    times = {16: 3.0, 64: 1.0, 256: 2.0}
    order: list[int] = []

    def bench(call: Any, quantiles: Any) -> list[float]:
        call()
        order.append(len(order))
        return [times[BLOCKS[order[-1] % 3]]] * len(quantiles)

    kernel = tuned(do_bench=bench)
    x, y = arrays()
    kernel[grid](x, y, N)
    np.testing.assert_array_equal(y, 2 * x)
    assert kernel.best_config.kwargs == {"BLOCK": 64}
    assert {c.kwargs["BLOCK"]: t[0] for c, t in kernel.configs_timings.items()} == times
    shown = kernel._repr_html_()
    fastest = sorted(times, key=times.__getitem__)
    assert [int(block) for block in re.findall(r"<tr><td>BLOCK: (\d+)", shown)] == fastest
    assert f"<td>{times[fastest[0]]:.4g}</td>" in shown
    kernel[grid](x, y, N)
    assert len(order) == 3
    kernel[grid](x, y, N - 1)
    assert len(order) == 6
    assert len(kernel.cache) == 2


def test_notebooks_show_why_configurations_failed() -> None:
    failed = {tri.Config({"BLOCK": 3}): TriError("no <block> of 3\nmore")}
    shown = report.as_html("k", {}, failed)
    assert re.search(r"<td>BLOCK: 3.*</td><td>TriError: no &lt;block&gt; of 3</td>", shown)


def test_real_timings_are_positive() -> None:
    kernel = tuned()
    x, y = arrays()
    kernel[grid](x, y, N)
    assert len(kernel.configs_timings) == 3
    assert all(len(t) == 3 and min(t) > 0 for t in kernel.configs_timings.values())
    assert kernel.bench_time > 0


def test_a_configuration_that_fails_is_skipped_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    kernel = tuned(None, 64, TOO_LARGE)
    x, y = arrays()
    with caplog.at_level(logging.WARNING, "tri.autotune"):
        kernel[grid](x, y, N)
    np.testing.assert_array_equal(y, 2 * x)
    assert [c.kwargs["BLOCK"] for c in kernel.failures] == [TOO_LARGE]
    assert "1 of 2 configurations are skipped" in caplog.text
    assert f"BLOCK: {TOO_LARGE}" in caplog.text


def test_no_configuration_that_works_is_one_error() -> None:
    kernel = tuned(None, TOO_LARGE, 2 * TOO_LARGE)
    x, y = arrays()
    with pytest.raises(AutotuneError, match="none of the 2 configurations of scale works") as caught:
        kernel[grid](x, y, N)
    assert len(caught.value.reasons) == 2
    assert all("num_warps" in name for name in caught.value.reasons)


def test_one_that_does_not_fit_is_skipped() -> None:
    def refuse(arguments: dict[str, Any]) -> None:
        raise OutOfResources("too much", resource="shared", need=2, have=1)

    kernel = tri.autotune([tri.Config({"BLOCK": 16}, pre_hook=refuse), *configs(64)], key=["n"], rep=1)(
        scale_kernel()
    )
    x, y = arrays()
    kernel[grid](x, y, N)
    assert kernel.best_config.kwargs["BLOCK"] == 64
    assert [type(e) for e in kernel.failures.values()] == [OutOfResources]


def test_an_option_that_the_target_lacks_is_skipped() -> None:
    odd = tri.Config({"BLOCK": 16}, maxnreg=64)
    kernel = tri.autotune([odd, *configs(64)], key=["n"], rep=1)(scale_kernel())
    kernel[grid](*arrays(), N)
    assert list(kernel.failures) == [odd]
    kernel = tri.autotune([odd, tri.Config({"BLOCK": 32}, maxnreg=64)], key=["n"])(scale_kernel())
    with pytest.raises(AutotuneError, match="cannot do what option maxnreg=64 asks for"):
        kernel[grid](*arrays(), N)


def test_other_errors_are_raised() -> None:
    def bench(call: Any, quantiles: Any) -> list[float]:
        raise ZeroDivisionError

    kernel = tuned(do_bench=bench)
    with pytest.raises(ZeroDivisionError):
        kernel[grid](*arrays(), N)


def test_restored_values_are_those_from_before_the_trials() -> None:
    kernel = tuned(accumulate_kernel(), restore_value=["y_ptr"])
    x, _ = arrays()
    y = arrays(1)[0]
    before = y.copy()
    kernel[grid](x, y, N)
    np.testing.assert_array_equal(y, before + x)
    kernel[grid](x, y, N)
    np.testing.assert_array_equal(y, before + x + x)


def test_without_restoring_the_trials_are_seen() -> None:
    kernel = tuned(accumulate_kernel())
    x, _ = arrays()
    y = arrays(1)[0]
    before = y.copy()
    kernel[grid](x, y, N)
    assert np.abs(y - before - x).max() > 1


def test_reset_to_zero() -> None:
    kernel = tuned(accumulate_kernel(), reset_to_zero=["y_ptr"])
    x, _ = arrays()
    y = arrays(1)[0]
    kernel[grid](x, y, N)
    np.testing.assert_array_equal(y, x)


def test_arguments_that_are_none_are_neither_zeroed_nor_restored() -> None:
    @tri.jit
    def kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if z_ptr is None:
            tl.store(y_ptr + i, tl.load(x_ptr + i, i < n), i < n)

    made = tri.autotune(
        [tri.Config({"BLOCK": b}) for b in (64, 256)],
        key=[],
        reset_to_zero=["z_ptr"],
        restore_value=["z_ptr"],
    )(kernel)
    x, y = arrays()
    made[grid](x, y, None, N)
    np.testing.assert_array_equal(y, x)


def test_what_cannot_be_zeroed_is_refused() -> None:
    frozen = np.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(Unsupported, match="ndarray named in reset_to_zero"):
        zero(frozen)


def test_hooks_see_every_trial() -> None:
    seen: list[tuple[str, Any]] = []

    def before(arguments: dict[str, Any], reset_only: bool = False) -> None:
        seen.append(("before", reset_only))

    def after(arguments: dict[str, Any], exception: BaseException | None) -> None:
        seen.append(("after", exception))

    def bench(call: Any, quantiles: Any) -> float:
        call()
        return 1.0

    kernel = tuned(None, 16, 64, pre_hook=before, post_hook=after, do_bench=bench)
    kernel[grid](*arrays(), N)
    # at the end once, for the launch with what was chosen
    assert seen == [("before", False), ("after", None)] * 2 + [("before", True)]
    assert kernel.user_defined_pre_hook
    assert kernel.user_defined_post_hook


def test_the_hook_of_the_configuration_runs_before_its_launch() -> None:
    seen: list[int] = []
    kernel = tri.autotune([tri.Config({"BLOCK": 64}, pre_hook=lambda a: seen.append(a["n"]))], key=[])(
        scale_kernel()
    )
    kernel[grid](*arrays(), N)
    assert seen == [N]


def test_pruning() -> None:
    def early(found: list[tri.Config], arguments: dict[str, Any], **keywords: Any) -> list[tri.Config]:
        assert arguments["n"] == N
        return [c for c in found if c.kwargs["BLOCK"] > 16]

    by = {"early_config_prune": early, "perf_model": lambda BLOCK, **_: -BLOCK, "top_k": 1}
    kernel = tuned(prune_configs_by=by)
    kernel[grid](*arrays(), N)
    assert kernel.best_config.kwargs["BLOCK"] == 256
    assert kernel.configs_timings == {}  # one is left: there is nothing to compare it with
    with pytest.raises(OptionError, match="prune_configs_by has 'perf'"):
        tuned(prune_configs_by={"perf": 1})
    with pytest.raises(OptionError, match=r"top_k is 2\.5"):
        tuned(prune_configs_by={"top_k": 2.5})


def test_pruning_all_is_an_error() -> None:
    kernel = tuned(prune_configs_by={"early_config_prune": lambda configs, arguments, **_: []})
    with pytest.raises(AutotuneError, match="left no configuration"):
        kernel[grid](*arrays(), N)


def test_a_deterministic_choice_takes_no_times() -> None:
    kernel = tuned(None, TOO_LARGE, 64, 16, deterministic=True)
    kernel[grid](*arrays(), N)
    assert kernel.best_config.kwargs["BLOCK"] == 64
    assert kernel.configs_timings == {}
    kernel = tuned(prune_configs_by={"perf_model": lambda BLOCK, **_: abs(BLOCK - 64)})
    with knobs.scope(AUTOTUNE_DETERMINISTIC=True):
        kernel[grid](*arrays(), N)
    assert kernel.best_config.kwargs["BLOCK"] == 64


def test_results_are_kept_on_disk() -> None:
    count = 0

    def bench(call: Any, quantiles: Any) -> list[float]:
        nonlocal count
        count += 1
        call()
        return [float(count)]

    base = scale_kernel()
    first = tuned(base, do_bench=bench, cache_results=True)
    first[grid](*arrays(), N)
    second = tuned(base, do_bench=bench, cache_results=True)
    x, y = arrays()
    second[grid](x, y, N)
    assert count == 3
    assert second.best_config == first.best_config
    assert second.configs_timings == first.configs_timings
    np.testing.assert_array_equal(y, 2 * x)
    second[grid](x, y, N - 1)
    assert count == 6
    third = tuned(base, do_bench=bench)
    third[grid](x, y, N)
    assert count == 9


def test_damaged_results_are_measured_anew() -> None:
    from tri_core.cache import default_store

    default_store().put("a" * 64, b'{"no": "list"}')
    assert results.load("a" * 64, configs()) is None


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_configurations_compile_on_an_executor(kind: str) -> None:
    executor: Executor = (
        ThreadPoolExecutor(2)
        if kind == "threads"
        else ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    )
    with executor:
        kernel = tuned(None, 16, 64, TOO_LARGE, executor=executor)
        x, y = arrays()
        kernel[grid](x, y, N)
    np.testing.assert_array_equal(y, 2 * x)
    assert len(kernel.configs_timings) == 2
    assert [c.kwargs["BLOCK"] for c in kernel.failures] == [TOO_LARGE]
    compiler.forget()
    with tri.no_compile():  # what the executor made is in this process's store, under the same keys
        for block in (16, 64):
            kernel.base_fn.warmup(x, y, N, BLOCK=block, num_warps=4, num_stages=3, num_ctas=1, grid=(1,))


def test_threads_tune_once() -> None:
    count = 0

    def bench(call: Any, quantiles: Any) -> list[float]:
        nonlocal count
        count += 1
        call()
        time.sleep(0.01)
        return [1.0]

    kernel = tuned(do_bench=bench)
    barrier = threading.Barrier(8)
    wrong: list[str] = []

    def launch(seed: int) -> None:
        x, y = arrays(seed)
        barrier.wait()
        kernel[grid](x, y, N)
        if not np.array_equal(y, 2 * x):
            wrong.append(f"thread {seed}")

    threads = [threading.Thread(target=launch, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert count == 3


def test_warmup_compiles_every_configuration() -> None:
    kernel = tuned()
    made = kernel.warmup(*arrays(), N, grid=grid)
    assert len({k.hash for k in made}) == 3
    compiler.forget()
    with tri.no_compile():
        kernel[grid](*arrays(), N)


def test_wrong_names_are_refused() -> None:
    with pytest.raises(OptionError, match="restore_value of autotune names 'z'"):
        tri.autotune(configs(), key=[], restore_value=["z"])(scale_kernel())
    with pytest.raises(LaunchError, match="given 'BLOCK', which its configurations set"):
        tuned()[grid](*arrays(), N, BLOCK=16)
    with pytest.raises(OptionError, match="'M' is neither a parameter of scale nor an option"):
        tri.heuristics({"M": lambda args: 1})(scale_kernel())[grid](*arrays(), N, BLOCK=16)


def test_a_key_may_name_what_is_no_parameter(caplog: pytest.LogCaptureFixture) -> None:
    kernel = tri.autotune(configs(), key=["n", "m"])(scale_kernel())
    assert "key of autotune names 'm', no parameter of scale" in caplog.text
    x, y = arrays()
    for n in (N, N, N // 2):
        kernel[grid](x, y, n)
    assert len(kernel.cache) == 2


def test_heuristics_compute_options() -> None:
    kernel = tri.heuristics({"num_warps": lambda args: args["BLOCK"] // 2})(scale_kernel())
    assert kernel[grid](*arrays(), N, BLOCK=16).metadata.options["num_warps"] == 8


def test_recorded_launches_need_a_runtime_that_records() -> None:
    with pytest.raises(Unsupported, match="cannot record launches"):
        tri.autotune(configs(), key=["n"], use_cuda_graph=True)(scale_kernel())[grid](*arrays(), N)


def test_heuristics_and_autotune_stack() -> None:
    seen: list[dict[str, Any]] = []

    @tri.jit
    def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if EVEN:
            tl.store(y_ptr + i, 2 * tl.load(x_ptr + i))
        else:
            tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)

    def even(args: dict[str, Any]) -> bool:
        seen.append(dict(args))
        return bool(args["n"] % args["BLOCK"] == 0)

    inner = tri.heuristics({"EVEN": even})(kernel)
    outer = tri.autotune(configs(16, 8), key=["n"], warmup=0, rep=1)(inner)
    x, y = arrays()
    outer[grid](x, y, N)
    np.testing.assert_array_equal(y, 2 * x)
    assert {args["BLOCK"] for args in seen} == {16, 8}
    assert outer.base_fn is kernel
    other = tri.heuristics({"EVEN": lambda args: False})(
        tri.autotune(configs(16, 8), key=["n"], warmup=0, rep=1)(kernel)
    )
    y[:] = np.nan
    other[grid](x, y, N)
    np.testing.assert_array_equal(y, 2 * x)


def test_a_bar_shows_how_far_tuning_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with tri.knobs.autotuning.scope():
        tuned()[grid](*arrays(), N)
        assert "tuning scale" in capsys.readouterr().err
        tri.knobs.autotuning.progress = False
        tuned()[grid](*arrays(), N)
        assert "tuning scale" not in capsys.readouterr().err


def test_choices_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    reported: list[dict[str, Any]] = []
    with tri.knobs.autotuning.scope():
        tri.knobs.autotuning.listener.add(lambda **facts: reported.append(facts))
        tri.knobs.autotuning.print = True
        tuned()[grid](*arrays(), N)
    assert len(reported) == 1
    assert reported[0]["best_config"] in reported[0]["timings"]
    assert "autotuning scale for key" in capsys.readouterr().err
    tuned()[grid](*arrays(), N)
    assert len(reported) == 1


def test_attributes_that_others_read() -> None:
    kernel = tuned(restore_value=["y_ptr"])
    assert kernel.keys == ["n"]
    assert kernel.arg_names == ["x_ptr", "y_ptr", "n", "BLOCK"]
    assert kernel.restore_value == ["y_ptr"]
    assert kernel.reset_to_zero == []
    assert not kernel.user_defined_pre_hook
    assert kernel.__name__ == "scale"
    assert tri.Config({"A": 1}, num_warps=8).all_kwargs() == {
        "A": 1,
        "num_warps": 8,
        "num_ctas": 1,
        "num_stages": 3,
    }
    assert tri.Config({"A": 1}) == tri.Config({"A": 1})
    assert tri.Config({"A": 1}) != tri.Config({"A": 1}, num_warps=8)


def test_what_spills_is_not_run_unless_all_does(monkeypatch: pytest.MonkeyPatch) -> None:
    spills = {16: 0, 64: 128, 256: 4096}
    monkeypatch.setattr(
        compiler.CompiledKernel, "n_spills", property(lambda kernel: spills[kernel.src.constants["BLOCK"]])
    )
    ran: list[int] = []

    def tried(most: int | None, *blocks: int) -> Any:
        ran.clear()
        by = None if most is None else {"most_spills": most}

        def bench(call: Any, quantiles: Any) -> list[float]:
            call()
            ran.append(1)
            return [1.0] * len(quantiles)

        kernel = tuned(None, *blocks, prune_configs_by=by, do_bench=bench)
        x, y = arrays()
        kernel[grid](x, y, N)
        np.testing.assert_array_equal(y, 2 * x)
        return kernel

    assert len(tried(None).configs_timings) == 3
    kernel = tried(128)
    assert sorted(c.kwargs["BLOCK"] for c in kernel.configs_timings) == [16, 64]
    (left_out,) = kernel.failures.items()
    assert (left_out[0].kwargs["BLOCK"], left_out[1].resource, left_out[1].need) == (256, "spills", 4096)
    assert len(ran) == 2
    assert len(tried(0, 64, 256).configs_timings) == 2  # something has to run
    with pytest.raises(OptionError, match="most_spills is -1"):
        tuned(prune_configs_by={"most_spills": -1})


# --- hooks that change what is compiled for ------------------------------------------------------------------


@tri.jit
def copy_tiles(source, target, M: tl.constexpr, N: tl.constexpr):
    at = [tl.program_id(0) * M, tl.program_id(1) * N]
    target.store(at, tl.reshape(source.load(at), [M, N]))


def set_blocks(given: dict[str, Any]) -> None:
    given["source"].block_shape = given["target"].block_shape = [given["M"], given["N"]]


def described(x: np.ndarray) -> Any:
    """A descriptor whose block a hook is to set, as in Triton's tutorials."""
    return tri.tools.tensor_descriptor.TensorDescriptor.from_tensor(x, [1, 1])


@pytest.mark.parametrize("sizes", [((16, 32),), ((16, 32), (32, 16), (8, 64))], ids=["one", "several"])
@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreted"])
def test_a_hook_sets_the_blocks_of_descriptors(sizes: tuple[tuple[int, int], ...], interpreted: bool) -> None:
    choices = [tri.Config({"M": m, "N": n}, pre_hook=set_blocks) for m, n in sizes]
    kernel = tri.autotune(choices, key=[], rep=1, warmup=1)(copy_tiles)
    x = np.random.default_rng(0).random((64, 64), np.float32)
    out = np.zeros_like(x)
    source, target = described(x), described(out)
    with tri.interpret() if interpreted else nullcontext():
        for _ in range(3):
            out[:] = 0
            kernel[lambda given: (64 // given["M"], 64 // given["N"])](source, target)
            np.testing.assert_array_equal(out, x)
    assert not kernel.failures
    if len(sizes) > 1 and not interpreted:
        assert len(kernel.configs_timings) == len(sizes)


def test_a_warm_up_and_a_plan_call_the_hook_but_not_with_types() -> None:
    choices = [tri.Config({"M": m, "N": 16}, pre_hook=set_blocks) for m in (16, 32)]
    kernel = tri.autotune(choices, key=[])(copy_tiles)
    x = np.zeros((64, 64), np.float32)
    source, target = described(x), described(x)
    assert len(kernel.warmup(source, target)) == 2
    assert source.block_shape == [32, 16]
    kernel.plan(source, target)  # of the first, where nothing is chosen
    assert source.block_shape == [16, 16]
    seen: list[Any] = []
    scaled = tri.autotune([tri.Config({"BLOCK": b}, pre_hook=seen.append) for b in (16, 64)], key=[])(
        scale_kernel()
    )
    scaled.warmup(tl.float32, tl.float32, N)
    assert not seen


# --- compiling beside each other, timing no longer than needed ------------------------------------------------


def test_workers_compile_what_this_process_has_not_begun(tmp_path: Path) -> None:
    """In a process of its own: workers find installed plugins alone."""
    program = """
import logging, sys, time
import numpy as np
import tri, tri.language as tl
from tri.tuning import compiling

compiling._PATIENCE = 0.0
logging.basicConfig(level=logging.WARNING)

@tri.autotune([tri.Config({"BLOCK": block}) for block in (16, 32, 64, 128, 256, 2**21)], key=[], warmup=1, rep=1)
@tri.jit
def twice(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at, at < n) * 2, at < n)

made = []
compiled = compiling._beside
compiling._beside = lambda *given: made.append(given) or compiled(*given)
here = compiling._here

def waits_for_a_worker(*plan):
    end = time.monotonic() + 60
    while not made and time.monotonic() < end:
        time.sleep(0.05)
    return here(*plan)

compiling._here = waits_for_a_worker
x = np.arange(1000, dtype=np.float32)
o = np.zeros_like(x)
twice[lambda meta: (tri.cdiv(1000, meta["BLOCK"]),)](x, o, 1000)
assert (o == 2 * x).all()
assert len(twice.configs_timings) == 5, twice.configs_timings
assert list(twice.failures) == [twice.configs[5]], twice.failures
assert made
"""
    (tmp_path / "program.py").write_text(program)  # no guard of its main module: nothing imports it once more
    environment = {
        **os.environ,
        "TRI_COMPILE_WORKERS": "2",
        "TRI_CACHE_DIR": str(tmp_path / "c"),
        "TRI_TARGET": "cpu",
    }
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_worker_that_dies_is_the_failure_of_what_it_compiled() -> None:
    from tri.launch import workers
    from tri.launch.jobs import BuiltSource, CompileJob
    from tri_core.abi import KernelSignature
    from tri_core.errors import BackendError

    source = BuiltSource("k", "0" * 64, KernelSignature(name="k", parameters=()), "no module")
    job = CompileJob(source, "cpu", {}, {})
    with workers.worker() as hand:
        hand.kill()
        with pytest.raises(BackendError, match="the process that compiled k ended with status -9"):
            hand.compile(job)
    with workers.worker() as other:
        assert other is not hand
        with pytest.raises(TriError):  # what the job met, by an answer
            other.compile(job)
    with workers.worker() as again:
        assert again is other
    workers.close()


def test_equal_code_over_equal_grids_is_timed_once() -> None:
    timed: list[int] = []

    def bench(call: Callable[[], None], quantiles: Any) -> list[float]:
        del quantiles
        call()
        timed.append(1)
        return [1.0, 1.0, 1.0]

    same = [tri.Config({"BLOCK": 64}, num_stages=stages) for stages in (2, 3, 4)]
    kernel = tri.autotune(same, key=[], do_bench=bench)(scale_kernel())
    x, y = arrays()
    kernel[grid](x, y, N)
    assert (len(timed), len(kernel.configs_timings)) == (1, 3)


def test_a_configuration_that_loses_is_glanced_at() -> None:
    from tri.tuning.autotuner import _Race

    asked: list[tuple[str, float]] = []
    speeds = {"fast": 1.0, "slow": 2.0, "near": 1.2, "faster": 0.5}

    def bench(fn: str, warmup: float, rep: float, quantiles: Any) -> list[float]:
        del warmup, quantiles
        asked.append((fn, rep))
        return [speeds[fn]] * 3

    race = _Race(bench, 25, 100)
    for name in ("slow", "fast", "slow", "near", "faster", "fast"):
        assert race(name, ()) == [speeds[name]] * 3  # type: ignore[arg-type]
    assert asked == [
        ("slow", 100), ("fast", 10), ("fast", 100), ("slow", 10), ("near", 10), ("near", 100), ("faster", 10),
        ("faster", 100), ("fast", 10),
    ]  # fmt: skip
