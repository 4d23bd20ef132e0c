"""Kernels as Python: control flow, bindings, debugging, errors of the user's, arguments."""

from __future__ import annotations

import io
import os
import pdb
import subprocess
import sys
import textwrap
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.interpreter import AssertionFailed, arguments
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core import knobs, progress
from tri_core.errors import CompilationError, LaunchError, OptionError, Unsupported
from tri_core.target import DeviceInfo

SCALE = tl.constexpr(3)


@pytest.fixture(autouse=True)
def _interpreted():
    with tri.interpret():
        yield


@tri.jit
def twice(x):
    return x * 2, "two"


@tri.jit
def control(out, n, flag, NONE: tl.constexpr, B: tl.constexpr):
    total = 0
    for i in range(1, n, 2):
        total += i * SCALE
    while total > 40:
        total -= 7
    if flag and NONE is None:
        total, _ = twice(total)
    elif not flag:
        total = -total
    for j in tl.static_range(2):
        total = total + j
    width: tl.constexpr = B // 2
    offsets = tl.arange(0, width)
    inside = (offsets >= 1 and offsets < 3) or offsets == 0
    tl.store(out + offsets, tl.where(inside, total, -1), mask=1 <= offsets + 1 < 4)


@pytest.mark.parametrize("flag", [True, False])
def test_control_flow(flag):
    out = np.zeros(8, np.int32)
    control[(1,)](out, 9, flag, None, B=8)
    total = sum(i * 3 for i in range(1, 9, 2))
    while total > 40:
        total -= 7
    total = (2 * total if flag else -total) + 1
    assert out.tolist() == [total, total, total, 0, 0, 0, 0, 0]


@tri.jit
def bindings(out, x, B: tl.constexpr):
    i = tl.arange(0, B)
    plain = tl.load(x + i) + 100  # stays int8, and wraps
    bound = 100
    wide = tl.load(x + i) + bound  # a name holds a run-time int32
    tl.store(out + i, plain)
    tl.store(out + B + i, wide)


def test_a_name_holds_a_runtime_value():
    x = np.array([100, -5, 27, 28], np.int8)
    out = np.zeros(8, np.int32)
    bindings[(1,)](out, x, B=4)
    assert out.tolist() == [-56, 95, 127, -128, 200, 95, 127, 128]


@tri.jit
def programs(out, M: tl.constexpr, N: tl.constexpr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    size = tl.num_programs(0) * tl.num_programs(1) * tl.num_programs(2)
    place = (z * N + y) * M + x
    tl.store(out + place, tl.atomic_add(out + size, 1))


def test_programs_run_in_order():
    out = np.zeros(25, np.int32)
    programs[lambda meta: (meta["M"], meta["N"], 4)](out, M=3, N=2)
    assert out.tolist() == [*range(24), 24]


@tri.jit
def comprehensions(out, x, N: tl.constexpr):
    parts = [tl.load(x + i) * (i + 1) for i in range(N) if i != 1]
    total, *rest = tuple(part for part in parts)
    for part in rest:
        total += part
    tl.store(out, total)


def test_comprehensions():
    out = np.zeros(1, np.int32)
    comprehensions[(1,)](out, np.array([5, 6, 7], np.int32), N=3)
    assert out[0] == 5 + 7 * 3


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_launch_shows_how_far_it_is(monkeypatch, capsys, terminal):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR" if terminal else "NO_COLOR", "1")
    monkeypatch.setattr(sys, "gettrace", lambda: None)
    out = np.zeros(25, np.int32)
    programs[(3, 2, 4)](out, M=3, N=2)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("interpreting programs" in shown.err) is terminal


# --- arguments ------------------------------------------------------------------------------------------


@tri.jit
def copy(out, x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=7), mask=i < n + 1)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(10, dtype=torch.bfloat16)
    out = torch.zeros(10, dtype=torch.bfloat16)
    copy[(1,)](out, x, 5, B=8)
    assert out.tolist() == [0, 1, 2, 3, 4, 7, 0, 0, 0, 0]


def test_views():
    reverse = np.arange(6)[::-1]
    got = np.zeros(6, np.int64)
    copy[(1,)](got, reverse[5:], 1, B=2)
    assert got.tolist() == [0, 7, 0, 0, 0, 0]


@tri.jit
def backwards(out, x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x - i))


def test_negative_strides_reach_below_the_first_element():
    x = np.arange(8, dtype=np.float32)
    out = np.zeros(8, np.float32)
    backwards[(1,)](out, x[::-1], B=8)
    assert out.tolist() == x[::-1].tolist()


@tri.jit
def of_tuple(pair, desc, scale: tl.float16, n: tl.int64):
    tl.static_assert(scale.dtype == tl.float16 and n.dtype == tl.int64)
    i = tl.arange(0, 4)
    tl.store(pair[0] + i, pair[1] * desc.load([0, 4]).reshape(4))


def test_tuples_descriptors_and_annotated_scalars():
    out, x = np.zeros(4, np.float32), np.arange(8, dtype=np.float32).reshape(1, 8)
    of_tuple[(1,)]((out, 3), TensorDescriptor.from_tensor(x, [1, 4]), 0.5, 3)
    assert out.tolist() == [12, 15, 18, 21]


@tri.jit
def rotate(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) + 1)


@pytest.fixture
def other_device(monkeypatch):
    """Arrays are said to be another device's."""
    on_host = arguments.describe

    def describe(array: Any) -> Any:
        return replace(on_host(array), device=DeviceInfo("other", 0, "one"))

    monkeypatch.setattr(arguments, "describe", describe)


@pytest.mark.usefixtures("other_device")
def test_arrays_of_a_device_are_copied_there_and_back():
    torch = pytest.importorskip("torch")
    whole = torch.arange(8, dtype=torch.float32)
    rotate[(1,)](whole[:4], whole[2:6], B=4)
    assert whole.tolist() == [0, 1, 1, 2, 3, 4, 6, 7]


@pytest.mark.usefixtures("other_device")
def test_arrays_of_a_device_that_cannot_be_copied():
    with pytest.raises(LaunchError, match="copies only PyTorch's tensors"):
        rotate[(1,)](np.zeros(4), np.zeros(4), B=4)


def test_wrong_arguments():
    x = np.zeros(4, np.float32)
    with pytest.raises(LaunchError, match="copy is missing 'n'"):
        copy[(1,)](x, x, B=4)
    with pytest.raises(OptionError, match="did you mean B"):
        copy[(1,)](x, x, 4, B=4, BB=3)
    with pytest.raises(LaunchError, match="the grid of copy is"):
        copy[(1, 2, 3, 4)](x, x, 4, B=4)


def test_options_are_checked_by_the_targets_rules():
    x = np.zeros(4, np.float32)
    with pytest.raises(OptionError, match="a power of 2"):
        copy[(1,)](x, x, 4, B=4, num_warps=3)


# --- switching ------------------------------------------------------------------------------------------


def test_the_knob_is_read_when_a_function_is_decorated(runtime):
    with knobs.scope(INTERPRET=True):
        kernel = tri.jit(copy.fn)
    assert kernel.interpreted
    assert not copy.interpreted


def test_the_environment_variable(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import numpy as np, sys, tri, tri.language as tl

        @tri.jit
        def kernel(x):
            print("value", tl.load(x))
            tl.store(x, 2.5)

        x = np.ones(1, np.float32)
        kernel[(1,)](x)
        assert x[0] == 2.5
        assert "tri_core.mlir" not in sys.modules
        """)
    )
    environment = {**os.environ, "TRI_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.stdout, done.stderr) == ("value tensor<fp32> 1.0\n", "")


@tri.autotune(
    [tri.Config({"B": 8}), tri.Config({"B": 16})],
    key=["n"],
    prune_configs_by={"early_config_prune": lambda c, a, **k: c[1:]},
)
@tri.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@tri.jit
def tuned(out, n, B: tl.constexpr, EVEN: tl.constexpr):
    tl.store(out, B)
    tl.store(out + 1, EVEN)


def test_tuned_kernels_take_the_first_configuration():
    out = np.zeros(2, np.int32)
    tuned[lambda meta: (16 // meta["B"],)](out, 6)
    assert out.tolist() == [16, 1]


# --- debugging ------------------------------------------------------------------------------------------


@tri.jit
def stopped(out, B: tl.constexpr):
    i = tl.arange(0, B)
    doubled = i * 2
    breakpoint()
    tl.store(out + i, doubled)


def test_a_breakpoint_is_reached_with_the_kernels_names(monkeypatch):
    commands = "p doubled\np (doubled + i).sum(0)\np B\nw\nn\nc\n"
    seen = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO(commands), stdout=seen, nosigint=True, readrc=False)
    debugger.use_rawinput = False

    def hook() -> None:
        debugger.set_trace(sys._getframe(1))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    trace = sys.gettrace()
    try:
        out = np.zeros(4, np.int32)
        stopped[(1,)](out, B=4)
    finally:
        sys.settrace(trace)
    text = seen.getvalue()
    assert "tensor<[4], int32> [0 2 4 6]" in text
    assert "tensor<int32> 18" in text
    assert "\n(Pdb) 4\n" in text
    assert f"{__file__}(" in text
    assert "tl.store(out + i, doubled)" in text
    assert out.tolist() == [0, 2, 4, 6]


@tri.jit
def prints(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.device_print("values", tl.load(x + i), i)
    tl.device_print("bits", tl.load(x + i), hex=True)
    tl.device_print("done")
    tl.static_print(f"B is {B + 1} {SCALE}")


def test_prints(capsys):
    prints[(1,)](np.array([1.5, -2], np.float32), B=2)
    assert capsys.readouterr().out == (
        "pid (0, 0, 0) idx (0) values: (operand 0) 1.500000\npid (0, 0, 0) idx (1) values: (operand 0) -2.000000\n"
        "pid (0, 0, 0) idx (0) values: (operand 1) 0\npid (0, 0, 0) idx (1) values: (operand 1) 1\n"
        "pid (0, 0, 0) idx (0) bits: 0x1.8p+0\npid (0, 0, 0) idx (1) bits: -0x1p+1\n"
        "pid (0, 0, 0) done\nB is 3 3\n"
    )


@tri.jit
def raises(x):
    value = tl.load(x)
    raise ValueError(f"got {value}")


def test_exceptions_are_the_users_own():
    with pytest.raises(ValueError, match=r"got tensor<fp32> 2.0") as caught:
        raises[(1,)](np.full(1, 2, np.float32))
    last = caught.traceback[-1]
    assert str(last.path) == __file__
    assert str(last.statement).strip() == 'raise ValueError(f"got {value}")'


# --- errors of the language -----------------------------------------------------------------------------

ERRORS: dict[str, tuple[str, type[Exception], str]] = {
    "promotion": ("tl.load(x) & 1", CompilationError, "invalid operands of type fp32 to operator &"),
    "shape": ("tl.arange(0, 3)", CompilationError, "must be a power of 2"),
    "block": (
        "1 if tl.arange(0, 2) else 2",
        CompilationError,
        r"a block \(<\[2\], int32>\) has no truth value",
    ),
    "assembly": (
        'tl.inline_asm_elementwise("", "", [tl.load(x)], tl.float32, True, 1)',
        Unsupported,
        "the interpreter cannot run inline assembly",
    ),
    "assertion": (
        'tl.device_assert(tl.load(x) > 1, "too small")',
        AssertionFailed,
        "device_assert failed: too small",
    ),
    "assumption": ("tl.assume(tl.load(x) > 1)", AssertionFailed, "an assumption does not hold"),
    "python assertion": ("(lambda: 0)(); assert tl.load(x) > 1", AssertionFailed, "device_assert failed"),
    "gather": ("tl.gather(tl.arange(0, 4), tl.arange(2, 6), 0)", Exception, "gather's index 4 is outside"),
    "call": ("tl.load()", CompilationError, "missing 1 required positional argument"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_where(kernel_file, name):
    statement, kind, message = ERRORS[name]
    module = kernel_file(f"@tri.jit\ndef kernel(x):\n    if True:\n        {statement}\n")
    with pytest.raises(kind, match=message) as caught:
        module.kernel[(1,)](np.ones(1, np.float32))
    location: Any = caught.value.location  # type: ignore[attr-defined]
    assert (location.file, location.line) == (module.__file__, 6)


def test_an_error_in_a_callee_has_the_call(kernel_file):
    module = kernel_file(
        "@tri.jit\ndef inner(x):\n    return tl.load(x) ^ 1\n\n@tri.jit\ndef kernel(x):\n    y = inner(x)\n"
    )
    with pytest.raises(CompilationError) as caught:
        module.kernel[(1,)](np.ones(1, np.float32))
    file = module.__file__
    assert str(caught.value) == (
        f"invalid operands of type fp32 to operator ^\n  at {file}:5:12\n        return tl.load(x) ^ 1\n"
        f"               ^\n  called from {file}:9:9\n        y = inner(x)\n            ^\n"
        "  remedy: cast to an integer, or bitcast"
    )
