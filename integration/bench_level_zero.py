"""Host time of a launch through Level Zero: ``python -m integration.bench_level_zero``, by ctypes and by compiled code.

Under the system's loader, on the stand-in driver whose launches run nothing: what is left is the caller's time and the
loader's.  Microseconds a launch of a kernel of five arguments, the best of several turns.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tri
import tri.language as tl
from tri_backend_intel.runtime import IntelRuntime
from tri_backend_intel.runtime.level_zero.api import FUNCTIONS, GroupCount
from tri_backend_intel.runtime.level_zero.loader import open_library
from tri_backend_intel.runtime.standin import announced
from tri_core import knobs
from tri_core.api import LaunchPlan
from tri_runtime.loader import load_ir
from tri_runtime.native.layouts import CONFIG

_TURNS, _LAUNCHES = 7, 2000


@tri.jit
def scaled_sum(x, y, out, factor, n, B: tl.constexpr):  # type: ignore[no-untyped-def]
    """``out = x + factor * y`` of ``n`` elements."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + factor * tl.load(y + i, mask=mask), mask=mask)


def best(call: Callable[[], object]) -> float:
    """Microseconds of ``call``, in the best of several turns."""
    found = []
    for _ in range(_TURNS):
        start = time.perf_counter()
        for _ in range(_LAUNCHES):
            call()
        found.append((time.perf_counter() - start) / _LAUNCHES)
    return min(found) * 1e6


def _by_ctypes(kernel: int, commands: int, values: Sequence[Any]) -> Callable[[], None]:
    library, _ = open_library()
    kind = ctypes.CFUNCTYPE
    set_argument, append = (
        kind(ctypes.c_uint32, *FUNCTIONS[name])(
            ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        )
        for name in ("zeKernelSetArgumentValue", "zeCommandListAppendLaunchKernel")
    )

    def launch() -> None:
        for i, value in enumerate(values):
            if set_argument(kernel, i, ctypes.sizeof(value), ctypes.byref(value)):
                raise AssertionError(f"argument {i} is refused")
        if append(commands, kernel, ctypes.byref(GroupCount(16, 1, 1)), None, 0, None):
            raise AssertionError("the launch is refused")

    return launch


#: launches of a plan, without Python between them; how many the driver refused
_LOOP = """
define i64 @many(ptr %start, ptr %config, ptr %function, ptr %parameters, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %refused = phi i64 [ 0, %entry ], [ %sum, %loop ]
  %status = call i32 %start(ptr %config, ptr %function, ptr %parameters, ptr null)
  %wrong = icmp ne i32 %status, 0
  %one = zext i1 %wrong to i64
  %sum = add i64 %refused, %one
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret i64 %sum
}
"""


def _alone(plan: LaunchPlan, values: Sequence[Any]) -> float:
    """Microseconds of a launch of ``plan`` by code that is compiled, too."""
    loaded = load_ir(_LOOP, ("many",))
    many = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_void_p] * 4, ctypes.c_uint64)(loaded.addresses[0])
    config = ctypes.create_string_buffer(CONFIG.format.pack(16, 1, 1, plan.threads, 1, 1, 0, 0, 0, 0))
    parameters = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    found = []
    for _ in range(_TURNS):
        start = time.perf_counter()
        refused = many(
            plan.start, ctypes.addressof(config), plan.function, ctypes.addressof(parameters), _LAUNCHES
        )
        found.append((time.perf_counter() - start) / _LAUNCHES)
        assert not refused, f"{refused} launches were refused"
    return min(found) * 1e6


def measure() -> dict[str, float]:
    """Microseconds of a launch by who launches."""
    driver = announced()
    assert driver is not None, "the knob INTEL_STANDIN is set"
    runtime = IntelRuntime()
    device = runtime.current_device()
    types = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "factor": "fp32", "n": "i32", "B": "constexpr"}
    made = tri.compile(tri.ASTSource(scaled_sum, types, {"B": 64}), target="intel:pvc").image
    loaded, memory = runtime.load(made, device), runtime.memory(device)
    places = [memory.alloc(4096) for _ in range(3)]
    x, out = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
    for place in places[:2]:
        memory.copy_in(place, x.ctypes.data, x.nbytes)
    kernel = loaded.kernel  # type: ignore[attr-defined]
    values = [*map(ctypes.c_void_p, places), ctypes.c_float(2.0), ctypes.c_int32(1024)]
    plain = _by_ctypes(kernel.handle, kernel.queue.handle, values)
    plan = runtime.launch_plan(loaded, made)
    assert plan is not None, "Level Zero's driver has plans"
    compiled, arguments = runtime.launcher(loaded, made), [*places, 2.0, 1024]
    for launch in (
        plain,
        lambda: compiled((16, 1, 1), None, arguments),
    ):  # both are right before they are measured
        memory.copy_in(places[2], np.zeros_like(x).ctypes.data, x.nbytes)
        launch()
        memory.copy_out(out.ctypes.data, places[2], x.nbytes)
        np.testing.assert_array_equal(out, 3 * x)
    with driver.idle():
        found = {
            "ctypes": best(plain),
            "compiled code, called from Python": best(lambda: compiled((16, 1, 1), None, arguments)),
            "compiled code, called by compiled code": _alone(plan, values),
        }
        assert driver.skipped == 3 * _TURNS * _LAUNCHES
    for place in places:
        memory.free(place)
    return found


def main() -> None:
    """The table, and each time as a part of that by ctypes."""
    with knobs.scope(INTEL_STANDIN=("pvc",), INTEL_DRIVER=("level_zero",)):
        found = measure()
    table = Table("launch by", "us", "of ctypes")
    for who, microseconds in found.items():
        table.add_row(who, f"{microseconds:.2f}", f"{microseconds / found['ctypes']:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
