"""The stand-in driver under the real loader, with its layers on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from level_zero_loader_support import KNOBS, leaks, need_loader, python, said

#: a child that begins the loader with the stand-in announced, and calls it ``call``
BEGIN = """
import ctypes, numpy as np
from standin_support import *
from tri_backend_intel.runtime.standin import Configuration, DeviceConfiguration, StandIn
driver = StandIn(Configuration(devices=(DeviceConfiguration(),) * 2))
driver.announce()
call = loaded()
x = np.arange(1000, dtype=np.float32)
def added(s, waits=(), signal=None):
    places = [s.allocate(x.nbytes) for _ in range(3)]
    for place in places[:2]:
        s.write(place, x)
    kernel = s.kernel(s.build(compiled("add").asm["spv"]), "add")
    arguments = [*map(ctypes.c_void_p, places), ctypes.c_int32(1000)]
    s.launch(kernel, compiled("add").metadata.threads, (16, 1, 1), arguments, signal, waits)
    return places[2]
"""


def _run(text: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "child.py"
    script.write_text(BEGIN + text)
    return python(str(script), **environment)


@pytest.fixture(autouse=True)
def loader() -> None:
    need_loader()


def test_kernels_on_two_devices_with_validation_and_no_leak(tmp_path: Path) -> None:
    done = _run(
        """
for index in range(2):
    with session(call, index) as s:
        gate, done = s.events(2)
        out = added(s, [gate], done)
        assert call.code("zeEventQueryStatus", done) == Result.NOT_READY
        call("zeEventHostSignal", gate)
        call("zeEventHostSynchronize", done, FOREVER)
        stamp = (ctypes.c_uint64 * 4)()
        call("zeEventQueryKernelTimestamp", done, ctypes.byref(stamp))
        assert stamp[0] != stamp[1]
        print((s.read(out, x) == 2 * x).all())
print(driver.left())
""",
        tmp_path,
    )
    assert said(done).splitlines()[:3] == ["True", "True", "[]"]
    assert leaks(done.stdout + done.stderr) == []


def test_a_leak_is_reported(tmp_path: Path) -> None:
    done = _run("s = session(call).__enter__(); s.events(1); print(driver.left())", tmp_path)
    assert said(done).splitlines()[0] == "['CommandList', 'Context', 'Event', 'EventPool']"
    assert len(leaks(done.stdout + done.stderr)) >= 3


def test_parameters_are_validated_before_the_driver_sees_them(tmp_path: Path) -> None:
    """The layer is on: it refuses a null pointer that the driver would not miss."""
    done = _run(
        """
with session(call) as s:
    driver.answer("zeEventPoolCreate", Result.SUCCESS)
    print(Result(call.code("zeEventPoolCreate", s.context, None, 0, None, None)).name)
""",
        tmp_path,
    )
    assert said(done).splitlines()[0] == "ERROR_INVALID_NULL_POINTER"


def test_a_device_lost_in_a_launch(tmp_path: Path) -> None:
    done = _run(
        """
driver.lose_device(0, launch=1)
try:
    with session(call) as s:
        added(s)
        s.wait()
except Failed as failed:
    print(Result(failed.code).name)
with session(call, 1) as s:
    print((s.read(added(s), x) == 2 * x).all())
""",
        tmp_path,
    )
    assert said(done).splitlines()[:2] == ["ERROR_DEVICE_LOST", "True"]


def test_a_failing_build_has_its_log(tmp_path: Path) -> None:
    done = _run(
        """
driver.fail_build("error: out of registers")
with session(call) as s:
    try:
        s.build(compiled("add").asm["spv"])
    except Failed as failed:
        print(Result(failed.code).name, failed.log)
""",
        tmp_path,
    )
    assert said(done).splitlines()[0] == "ERROR_MODULE_BUILD_FAILURE error: out of registers"


def test_a_driver_that_does_not_begin_is_no_driver(tmp_path: Path) -> None:
    done = _run(
        """
driver.answer("zeInit", Result.ERROR_UNINITIALIZED)
print(Result(call.code("zeInit", 1)).name)
""",
        tmp_path,
    )
    assert said(done).splitlines()[0] == "ERROR_UNINITIALIZED"


def test_a_driver_that_ended_is_called_and_harms_nobody(tmp_path: Path) -> None:
    """The loader keeps the addresses of functions; so do static destructors that run after the interpreter."""
    done = _run(
        """
(handle,) = call.drivers()
driver.close()
print(Result(call.code("zeDriverGetApiVersion", handle, ctypes.byref(ctypes.c_uint32()))).name)
""",
        tmp_path,
    )
    assert said(done).splitlines()[0] == "ERROR_UNSUPPORTED_FEATURE"


def test_a_launch_of_tri_by_the_knob_alone(tmp_path: Path) -> None:
    """Runtime, loader with its layers, stand-in, simulator: nothing of it is named but by the environment."""
    script = tmp_path / "kernel.py"
    script.write_text(
        """
import numpy as np
from standin_support import add
import tri
from tri_conformance.subject import Subject
subject = Subject("intel:pvc")
x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
subject.launch(add, (16,), [x, x, out, 1000], {"B": 64})
print([d.arch for d in subject.runtime.devices()], (out == 2 * x).all())
"""
    )
    done = python(str(script), **KNOBS)
    assert said(done).splitlines()[0] == "['pvc', 'pvc'] True"
    assert leaks(done.stdout + done.stderr) == []


#: of the kit's runtime level, what asks most of a driver in little time
SHARE = (
    "grid/2x3x4",
    "grid-limit/*",
    "scalars",
    "masked-addresses",
    "order",
    "host-arrays",
    "devices",
    "streams",
    "after-errors",
    "loaded-twice",
)


def test_a_share_of_the_kits_runtime_level(tmp_path: Path) -> None:
    report = tmp_path / "results.json"
    chosen = [f"--select=runtime/{name}" for name in SHARE]
    done = python("-m", "tri_conformance", "--target", "intel:pvc", *chosen, "--json", str(report), **KNOBS)
    text = said(done)
    verdicts = [case["verdict"] for case in json.loads(report.read_text())["cases"]]
    assert verdicts == ["passed"] * 12, text
    assert leaks(text + done.stderr) == []


def test_a_recording_with_its_fence(tmp_path: Path) -> None:
    """Of tri's own classes, with the layers on: what is submitted again is valid, and nothing leaks."""
    done = _run(
        """
from tri_backend_intel.runtime.level_zero.devices import ze_devices
from tri_backend_intel.runtime.level_zero.loader import loader
from tri_backend_intel.runtime.level_zero.memory import ZeMemory
from tri_backend_intel.runtime.level_zero.queue import ZeQueue
from tri_backend_intel.runtime.level_zero.recording import ZeRecording
queue = ZeQueue(ze_devices(loader())[0])
place, out = ZeMemory(queue).alloc(x.nbytes), np.zeros_like(x)
recording = ZeRecording(queue)
recording.copy(place, x.ctypes.data, x.nbytes)
recording.copy(out.ctypes.data, place, x.nbytes)
for _ in range(3):
    x += 1
    recording.submit()
recording.fence.wait()
print((out == x).all())
recording.close()
queue.close()
print(driver.left())
""",
        tmp_path,
    )
    assert said(done).splitlines()[:2] == ["True", "[]"]
    assert leaks(done.stdout + done.stderr) == []
