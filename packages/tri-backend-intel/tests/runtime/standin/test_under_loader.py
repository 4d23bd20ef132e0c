"""The stand-in driver under the real loader, with its layers on: a process of its own for each test, as the loader begins once.

Where the loader needs a newer C library than Python's, ``TRI_TEST_LEVEL_ZERO_PYTHON`` names a Python that has both.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = os.environ.get("TRI_TEST_LEVEL_ZERO_PYTHON", sys.executable)
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
#: the devices by the knob alone
KNOBS = {"TRI_INTEL_STANDIN": "pvc,pvc", "TRI_INTEL_DRIVER": "level_zero"}
LAYERS = {
    "ZE_ENABLE_VALIDATION_LAYER": "1",
    "ZE_ENABLE_PARAMETER_VALIDATION": "1",
    "ZEL_ENABLE_BASIC_LEAK_CHECKER": "1",
}


def _run(text: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "child.py"
    script.write_text(BEGIN + text)
    return _python(str(script), **environment)


def _python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    helpers = Path(__file__).parents[2] / "helpers"
    # and not sys.path: the standard library is the child's own
    paths = os.pathsep.join(filter(None, [str(helpers), os.environ.get("PYTHONPATH")]))
    given = {**os.environ, **LAYERS, "PYTHONPATH": paths, **environment}
    return subprocess.run(
        [PYTHON, *arguments], env=given, capture_output=True, text=True, timeout=240, check=False
    )


@pytest.fixture(scope="session")
def loader() -> None:
    """Skips where there is no loader that has what is needed."""
    probe = "import ctypes; ctypes.CDLL('libze_loader.so.1').zeCommandListHostSynchronize"
    done = subprocess.run([PYTHON, "-c", probe], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(
            f"no loader of Level Zero 1.11 or later (Debian's libze1): {done.stderr.splitlines()[-1]}"
        )


pytestmark = pytest.mark.usefixtures("loader")


def _said(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _leaks(text: str) -> list[str]:
    """Lines of the leak checker's table that are out of balance."""
    assert "Check balance of create/destroy calls" in text
    return re.findall(r".*LEAK.*", text)


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
    assert _said(done).splitlines()[:3] == ["True", "True", "[]"]
    assert _leaks(done.stdout + done.stderr) == []


def test_a_leak_is_reported(tmp_path: Path) -> None:
    done = _run("s = session(call).__enter__(); s.events(1); print(driver.left())", tmp_path)
    assert _said(done).splitlines()[0] == "['CommandList', 'Context', 'Event', 'EventPool']"
    assert len(_leaks(done.stdout + done.stderr)) >= 3


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
    assert _said(done).splitlines()[0] == "ERROR_INVALID_NULL_POINTER"


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
    assert _said(done).splitlines()[:2] == ["ERROR_DEVICE_LOST", "True"]


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
    assert _said(done).splitlines()[0] == "ERROR_MODULE_BUILD_FAILURE error: out of registers"


def test_a_driver_that_does_not_begin_is_no_driver(tmp_path: Path) -> None:
    done = _run(
        """
driver.answer("zeInit", Result.ERROR_UNINITIALIZED)
print(Result(call.code("zeInit", 1)).name)
""",
        tmp_path,
    )
    assert _said(done).splitlines()[0] == "ERROR_UNINITIALIZED"


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
    assert _said(done).splitlines()[0] == "ERROR_UNSUPPORTED_FEATURE"


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
    done = _python(str(script), **KNOBS)
    assert _said(done).splitlines()[0] == "['pvc', 'pvc'] True"
    assert _leaks(done.stdout + done.stderr) == []


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
    done = _python("-m", "tri_conformance", "--target", "intel:pvc", *chosen, "--json", str(report), **KNOBS)
    said = _said(done)
    verdicts = [case["verdict"] for case in json.loads(report.read_text())["cases"]]
    assert verdicts == ["passed"] * 12, said
    assert _leaks(said + done.stderr) == []
