"""The real hip-python above the stand-in, each time in a process of its own: it opens HIP's library once in a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("hip")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is an ELF library")

HELPERS = Path(__file__).parents[2] / "helpers"
BEGIN = """
import numpy as np
import pytest
import standin_kernels as kernels
from tri_backend_amd.runtime import HipRuntime
from tri_backend_amd.runtime.standin import HipError, announced
from tri_core.api import DeviceError, LaunchError
standin, runtime = announced(), HipRuntime()
hip = runtime.hip
right = 2 * np.arange(2 * kernels.N, dtype=np.float32) + 0.5
"""


def child(body: str, devices: str = "gfx942:sramecc+:xnack-", *arguments: str) -> str:
    """The output of ``body``, in a process whose HIP is the stand-in with ``devices``."""
    environment = {**os.environ, "TRI_AMD_STANDIN": devices}
    environment["PYTHONPATH"] = os.pathsep.join((str(HELPERS), *filter(None, sys.path)))
    program = arguments or ("-c", BEGIN + body)
    done = subprocess.run(
        [sys.executable, *program], env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def test_devices_and_results() -> None:
    child("""
(device,) = runtime.devices()
assert (device.arch, device.name) == ("gfx942", "Instinct MI300 (stand-in)")
np.testing.assert_array_equal(kernels.run(runtime, 0), right)
assert set(standin.left()) <= {"module", "function"}
""")


def test_eight_devices_and_the_callers_own_stays_current() -> None:
    child(
        """
assert [d.index for d in runtime.devices()] == list(range(8))
hip.call("hipSetDevice", 3)
for index in (7, 0, 3):
    np.testing.assert_array_equal(kernels.run(runtime, index), right)
    assert hip.call("hipGetDevice") == 3
assert [d.launches for d in standin.state.devices] == [1, 0, 0, 1, 0, 0, 0, 1]
""",
        ",".join(["gfx942"] * 8),
    )


def test_a_stream_of_another_device_is_refused() -> None:
    child(
        """
hip.call("hipSetDevice", 1)
stream = int(hip.call("hipStreamCreate"))
hip.call("hipSetDevice", 0)
with pytest.raises(LaunchError, match="device 0; the stream 0x[0-9a-f]+ is of device 1") as caught:
    kernels.run(runtime, 0, stream)
assert "stream of the device" in caught.value.remedy
np.testing.assert_array_equal(kernels.run(runtime, 1, stream), right)
""",
        "gfx942,gfx942",
    )


def test_code_for_another_mode_or_processor_is_refused() -> None:
    child("""
device = runtime.current_device()
for target, said, remedy in (
    ("amd:gfx942:xnack+", r"code for gfx942:xnack\\+ cannot run on .*, which is gfx942:sramecc\\+:xnack-", "amd:gfx942, which runs in every mode"),
    ("amd:gfx950", "code for gfx950 cannot run", "compile for amd:gfx942"),
):
    with pytest.raises(DeviceError, match=said) as caught:
        runtime.load(kernels.image(target), device)
    assert remedy in caught.value.remedy
runtime.load(kernels.image("amd:gfx942:xnack-"), device)
""")


def test_faults_are_errors_with_a_remedy() -> None:
    child("""
standin.answer("hipModuleLoadData", HipError.NO_BINARY_FOR_GPU)
with pytest.raises(DeviceError, match="hipErrorNoBinaryForGpu") as caught:
    kernels.run(runtime, 0)
assert "target amd" in caught.value.remedy
standin.answer("hipModuleLoadData", None)
standin.lose_device(0, launch=1)
with pytest.raises(DeviceError, match="hipErrorIllegalAddress") as caught:
    kernels.run(runtime, 0)
assert "masks" in caught.value.remedy
with pytest.raises(DeviceError, match="hipErrorIllegalAddress"):
    runtime.synchronize()
""")


def test_an_access_out_of_bounds_is_a_fault() -> None:
    child("""
made, device = kernels.image(), runtime.current_device()
memory = runtime.memory(device)
at = memory.alloc(4 * kernels.N)
launch = runtime.launcher(runtime.load(made, device), made)
launch((2, 1, 1), None, [at, at, 0.0])
with pytest.raises(DeviceError, match="hipErrorIllegalAddress"):
    runtime.synchronize()
""")


def test_time_between_events() -> None:
    child("assert runtime.elapsed(lambda: kernels.run(runtime, 0)) > 0")


def test_the_kits_runtime_level_passes() -> None:
    said = child(
        "",
        "gfx942",
        "-m",
        "tri_conformance",
        "--target",
        "amd:gfx942",
        "--level",
        "runtime",
        "--sample",
        "24",
    )
    assert " 0 " in said, said
