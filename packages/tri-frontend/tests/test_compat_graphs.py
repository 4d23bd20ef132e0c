"""Errors of kernels that Inductor wrote name the graph's nodes and how to leave tri; those of other kernels are as they were."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tri.compat.triton.graphs import in_graph, nodes_of
from tri_core.errors import CompilationError


def source(name: str, module: str = "torch._inductor.runtime.triton_heuristics") -> Any:
    python = SimpleNamespace(__globals__={"triton_heuristics": ModuleType(module)})
    return SimpleNamespace(fn=SimpleNamespace(fn=python, __name__=name))


def refused(src: Any) -> str:
    with pytest.raises(CompilationError) as caught, in_graph(src):
        raise CompilationError("no", remedy="mend it")
    return str(caught.value)


def test_nodes_and_the_way_out_are_named() -> None:
    reported = refused(source("triton_poi_fused_cos_sin_0"))
    assert "nodes cos_sin (kernel triton_poi_fused_cos_sin_0)" in reported
    assert "remedy: mend it; leave tri for this graph: torch.compile(..., backend='aot_eager')" in reported


def test_a_kernel_of_the_programs_is_refused_everywhere() -> None:
    reported = refused(source("reshaped"))
    assert "node triton_kernel_wrapper of reshaped" in reported
    assert "refused outside of the graph, too" in reported


def test_other_kernels_are_no_graphs() -> None:
    assert nodes_of(source("triton_poi_fused_cos_0", "mine")) is None
    assert nodes_of(object()) is None
    assert refused(object()) == "no\n  remedy: mend it"


#: a compile in a process that has a parent, for ever: in Python, or with signals blocked as in native code
_LATE = """
import multiprocessing
import signal
import sys
from types import ModuleType, SimpleNamespace
from tri.compat.triton import graphs

multiprocessing.parent_process = object
if sys.argv[1] == "native":
    graphs._GRACE = 0.1
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
heuristics = ModuleType("torch._inductor.runtime.triton_heuristics")
python = SimpleNamespace(__globals__={"triton_heuristics": heuristics})
src = SimpleNamespace(fn=SimpleNamespace(fn=python, __name__="triton_poi_fused_cos_0"))
try:
    with graphs.in_graph(src):
        while sys.argv[1] != "ends":
            pass
except graphs.CompilationError as error:
    print(error)
print(signal.getitimer(signal.ITIMER_REAL)[0], signal.getsignal(signal.SIGALRM) == signal.SIG_DFL)
"""


def late(way: str, seconds: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    monkeypatch.setenv("TRI_COMPILE_TIMEOUT", seconds)
    run = subprocess.run(
        [sys.executable, "-c", _LATE, way], capture_output=True, text=True, timeout=120, check=False
    )
    return run.returncode, run.stdout, run.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs alarms")
def test_a_compile_that_takes_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, errors = late("python", "0.2", monkeypatch)
    assert code == 0, errors
    assert "triton_poi_fused_cos_0 has been compiling for 0.2 s" in out
    assert "nodes cos (kernel triton_poi_fused_cos_0)" in out
    assert "remedy: TRI_COMPILE_TIMEOUT" in out
    assert out.splitlines()[-1] == "0.0 True"


@pytest.mark.skipif(sys.platform == "win32", reason="needs alarms")
def test_a_compile_that_does_not_come_back_to_python_ends_its_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, out, errors = late("native", "0.2", monkeypatch)
    assert (code, out) == (1, "")
    assert "Timeout" in errors


@pytest.mark.parametrize("seconds", ["0", "1000"])
@pytest.mark.skipif(sys.platform == "win32", reason="needs alarms")
def test_a_compile_in_time_leaves_no_alarm(seconds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert late("ends", seconds, monkeypatch)[:2] == (0, "0.0 True\n")
