from __future__ import annotations

import pytest

from fake_runtime import FakeRuntime
from tri_runtime.benchmark import Timing, do_bench, interleaved


def work(runtime, seconds, name="w"):
    def run():
        runtime.log.append(name)
        runtime.clock += seconds

    return run


def test_interleaving_shuffles_and_flushes():
    runtime = FakeRuntime()
    times = interleaved(
        {"a": work(runtime, 1.0, "a"), "b": work(runtime, 2.0, "b")}, runtime, rounds=40, warmup=2
    )
    assert (times["a"].median, times["b"].median) == (1.0, 2.0)
    assert runtime.log[:5] == ["a", "a", "b", "b", "sync"]
    timed = runtime.log[5:]
    assert timed[::2] == ["flush"] * 80
    rounds = {tuple(timed[i + 1 : i + 4 : 2]) for i in range(0, len(timed), 4)}
    assert rounds == {("a", "b"), ("b", "a")}


def test_a_flush_of_the_callers_own_or_none():
    runtime, calls = FakeRuntime(), []
    interleaved({"a": work(runtime, 1.0)}, runtime, rounds=3, warmup=0, flush=lambda: calls.append(1))
    assert (len(calls), "flush" in runtime.log) == (3, False)
    interleaved({"a": work(runtime, 1.0)}, runtime, rounds=3, warmup=0, flush=None)
    assert "flush" not in runtime.log


@pytest.mark.parametrize(("mode", "expected"), [("min", 2.0), ("max", 2.0), ("mean", 2.0), ("median", 2.0)])
def test_do_bench_gives_milliseconds(mode, expected):
    runtime = FakeRuntime()
    assert do_bench(work(runtime, 2e-3), runtime, return_mode=mode) == pytest.approx(expected)


def test_do_bench_spends_its_budget():
    runtime = FakeRuntime()
    times = do_bench(work(runtime, 2e-3), runtime, warmup=10, rep=20, return_mode="all")
    assert len(times) in (9, 10)
    assert runtime.log.count("w") == 1 + 5 + 5 + len(times) or runtime.log.count("w") == 1 + 5 + 4 + len(
        times
    )
    assert runtime.log.count("flush") == len(times)


def test_do_bench_of_nothing_ends():
    runtime = FakeRuntime()
    assert do_bench(lambda: None, runtime) == 0.0


def test_quantiles_and_bad_mode():
    runtime = FakeRuntime()
    assert do_bench(work(runtime, 1e-3), runtime, quantiles=[0.2, 0.8]) == pytest.approx([1.0, 1.0])
    with pytest.raises(ValueError, match="return_mode"):
        do_bench(work(runtime, 1e-3), runtime, return_mode="best")


def test_timing_statistics():
    timing = Timing((4.0, 1.0, 3.0, 2.0, 5.0))
    assert (timing.median, timing.quantile(0.0), timing.quantile(1.0), timing.quantile(0.125)) == (
        3,
        1,
        5,
        1.5,
    )
    assert timing.spread == pytest.approx(1 / 3)
