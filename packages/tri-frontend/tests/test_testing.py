"""tri.testing: comparisons, timing, reports, devices."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tri
import tri.compat.triton as compat
from tri import testing
from tri_core.errors import OptionError, Unsupported
from tuning_kernels import grid, scale_kernel

pytestmark = pytest.mark.usefixtures("cpu")


def work() -> Any:
    kernel = scale_kernel()
    x = np.ones(1000, np.float32)
    return lambda: kernel[grid](x, np.empty_like(x), 1000, BLOCK=64)


def test_assert_close() -> None:
    x = np.random.default_rng(0).standard_normal((4, 5))
    testing.assert_close(x, x + 0.009)
    testing.assert_close(x.astype(np.float32), x.astype(ml_dtypes.bfloat16), atol=0.02)
    testing.assert_close(np.array([np.nan, np.inf]), np.array([np.nan, np.inf]))
    testing.assert_close(100.0, 101.0, atol=0, rtol=0.01)
    testing.assert_close(x, x + 0.5, atol=lambda dtype: 1.0 if dtype == np.float64 else 0.0)
    y = x.copy()
    y[1, 2] += 0.02
    with pytest.raises(AssertionError, match=r"reported\n1 of 20 elements differ .* first at \(1, 2\)"):
        testing.assert_close(x, y, err_msg="reported")
    with pytest.raises(AssertionError, match="the shapes differ"):
        testing.assert_close(x, x[0])
    with pytest.raises(AssertionError, match="1 of 1 elements"):
        testing.assert_close(np.array([np.nan]), np.array([1.0]))


def test_do_bench() -> None:
    run = work()
    times = testing.do_bench(run, warmup=0, rep=1, return_mode="all")
    assert len(times) >= 1
    assert min(times) > 0
    low, high = testing.do_bench(run, warmup=0, rep=1, quantiles=[0.1, 0.9])
    assert 0 < low <= high
    assert isinstance(testing.do_bench(run, warmup=0, rep=1, quantiles=[0.5]), float)
    assert testing.do_bench(run, warmup=0, rep=1, return_mode="median") > 0
    with pytest.raises(ValueError, match="return_mode 'best'"):
        testing.do_bench(run, warmup=0, rep=1, return_mode="best")  # type: ignore[arg-type]


def test_gradients_are_cleared_before_each_run() -> None:
    parameter = SimpleNamespace(grad=None)
    seen: list[Any] = []
    run = work()

    def step() -> None:
        seen.append(parameter.grad)
        parameter.grad = 1
        run()

    testing.do_bench(step, warmup=0, rep=0.01, grad_to_none=[parameter])
    assert seen[-1] is None


def test_recorded_launches_are_refused_where_nothing_records() -> None:
    with pytest.raises(Unsupported, match="cannot record launches as a graph"):
        testing.do_bench_cudagraph(work())


def benchmark(**more: Any) -> testing.Benchmark:
    return testing.Benchmark(
        x_names=["n", "m"],
        x_vals=[16, (32, 64)],
        line_arg="provider",
        line_vals=["a", "b"],
        line_names=["A", "B"],
        plot_name="speed",
        args={"factor": 2},
        ylabel="GB/s",
        **more,
    )


def measure(n: int, m: int, provider: str, factor: int, extra: int = 0) -> Any:
    value = float(n * factor + m + extra + (provider == "b"))
    return (value, value - 1, value + 1) if provider == "b" else value


def test_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark = testing.perf_report(benchmark(styles=[("blue", "-"), ("red", "--")], x_log=True))(measure)
    table = mark.run(print_data=True, return_df=True, save_path=tmp_path / "out", extra=100)
    assert isinstance(table, testing.Table)
    assert table.columns == ["n", "m", "A (GB/s)", "B (GB/s)"]
    assert table.rows == [[16, 16, 148.0, 149.0], [32, 64, 228.0, 229.0]]
    assert table["m"] == [16, 64]
    assert capsys.readouterr().out.startswith("speed:\n")
    assert (tmp_path / "out" / "speed.csv").read_text().splitlines()[1] == "16,16,148.0,149.0"
    assert (tmp_path / "out" / "speed.png").read_bytes()[:4] == b"\x89PNG"
    several = testing.perf_report([benchmark(), benchmark()])(measure).run(return_df=True)
    assert isinstance(several, list)
    assert len(several) == 2
    assert mark.run() is None


def test_wrong_benchmarks_are_refused() -> None:
    with pytest.raises(OptionError, match="2 line_vals have 1 line_names"):
        testing.Benchmark(["n"], [1], "p", [1, 2], ["one"], "x", {})
    wrong = testing.Benchmark(["n", "m"], [(1, 2, 3)], "p", [1], ["one"], "x", {})
    with pytest.raises(OptionError, match="has 3 values for n, m"):
        testing.Mark(lambda **_: 1, wrong).run()


def test_rates_that_nobody_knows_are_refused() -> None:
    with tri.target("cpu"):
        for ask in (
            testing.get_dram_gbps,
            lambda: testing.get_max_simd_tflops(tri.language.float32, 1e6),
            lambda: testing.get_max_tensorcore_tflops(tri.language.float16, 1e6),
        ):
            with pytest.raises(Unsupported, match="no backend knows the peak rates"):
                ask()


def test_names_that_no_backend_has() -> None:
    with pytest.raises(Unsupported, match="belongs to one vendor's tools"):
        testing.do_bench_proton(lambda: None)
    with pytest.raises(AttributeError, match="no attribute 'do_bunch'"):
        testing.do_bunch  # noqa: B018


def test_summaries_of_times_are_tritons() -> None:
    times = [4.0, 1.0, 3.0, 2.0]
    with compat.installed():
        triton_testing = importlib.import_module("triton.testing")
        summarize = triton_testing._summarize_statistics
        assert summarize(times, None, "all") == times
        assert [summarize(times, None, m) for m in ("min", "max", "mean", "median")] == [1.0, 4.0, 2.5, 2.5]
        assert summarize(times, [0.5], "mean") == pytest.approx(np.quantile(times, 0.5))
        wanted = [0.0, 0.1, 0.8, 1.0]
        assert summarize(times, wanted, "mean") == pytest.approx(list(np.quantile(times, wanted)))
        assert triton_testing._quantile(times, wanted) == pytest.approx(list(np.quantile(times, wanted)))
        with pytest.raises(ValueError, match=r"in the range \[0, 1\]"):
            triton_testing._quantile(times, [1.5])
        with pytest.raises(ValueError, match="return_mode 'best'"):
            summarize(times, None, "best")
