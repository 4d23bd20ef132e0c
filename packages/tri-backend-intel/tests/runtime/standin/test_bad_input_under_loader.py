"""What goes wrong below tri's runtime, through the real loader: each a typed error with a remedy, and nothing hangs.

A child that hangs is ended by the time limit of :func:`level_zero_loader_support.python`, which fails its test.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from level_zero_loader_support import leaks, need_loader, python, said

#: a child with a stand-in driver as it says; ``refused`` prints the error of what it is given
BEGIN = """
import ctypes, json, time, numpy as np
from standin_support import *
from tri_backend_intel.runtime import IntelRuntime
from tri_backend_intel.runtime.level_zero.loader import loader as begun
from tri_backend_intel.runtime.standin import Configuration, DeviceConfiguration, StandIn
from tri_core.api import TriError
def refused(run):
    try:
        run()
    except TriError as error:
        print(json.dumps([type(error).__name__, error.message, error.remedy]))
    else:
        print("[]")
def announced(**configuration):
    driver = StandIn(Configuration(**configuration))
    driver.announce()
    return driver
class Adds:
    def __init__(self, runtime, index=0):
        self.runtime, self.device, self.image = runtime, runtime.devices()[index], compiled("add").image
        self.memory = runtime.memory(self.device)
        self.x = np.arange(1000, dtype=np.float32)
        self.places = [self.memory.alloc(self.x.nbytes) for _ in range(3)]
        for place in self.places[:2]:
            self.memory.copy_in(place, self.x.ctypes.data, self.x.nbytes)
        self.call = runtime.launcher(runtime.load(self.image, self.device), self.image)
    def launch(self, stream=None):
        self.call((16, 1, 1), stream, [*self.places, 1000])
    def right(self):
        back = np.empty_like(self.x)
        self.memory.copy_out(back.ctypes.data, self.places[2], back.nbytes)
        return bool((back == 2 * self.x).all())
"""


def _lines(text: str, tmp_path: Path, *, leak_free: bool = True, **environment: str) -> list[list[Any]]:
    script = tmp_path / "child.py"
    script.write_text(BEGIN + text)
    done = python(str(script), TRI_INTEL_DRIVER="level_zero", **environment)
    printed = said(done)
    if leak_free:
        assert leaks(printed + done.stderr) == []
    return [json.loads(line) for line in printed.splitlines() if line.startswith("[")]


@pytest.fixture(autouse=True)
def loader() -> None:
    need_loader()


def test_a_loader_without_a_driver(tmp_path: Path) -> None:
    absent = str(tmp_path / "libze_absent.so")
    text = "refused(IntelRuntime); refused(IntelRuntime)"
    first, again = _lines(text, tmp_path, leak_free=False, ZE_ENABLE_ALT_DRIVERS=absent)
    assert first[0] == "DeviceError"
    assert "finds no driver" in first[1]
    assert "libze-intel-gpu1" in first[2]
    assert again == first


def test_a_driver_without_an_extension(tmp_path: Path) -> None:
    """The driver has no list that could be asked, so its compiler refuses, and says which."""
    (found,) = _lines(
        """
source = compiled("matmul")
from tri_backend_intel.spirv import read_module
extension = sorted(read_module(source.image.data).extensions)[0]
driver = announced(devices=(DeviceConfiguration(without=frozenset((extension,))),))
runtime = IntelRuntime()
try:
    runtime.load(source.image, runtime.devices()[0])
except TriError as error:
    print(json.dumps([type(error).__name__, extension in error.message, error.remedy]))
""",
        tmp_path,
    )
    assert found[:2] == ["ToolchainError", True]
    assert found[2]


def test_drivers_that_are_too_old(tmp_path: Path) -> None:
    text = "announced(version=(1, 3, 1000)); runtime = IntelRuntime(); refused(lambda: runtime.queue(runtime.devices()[0]))"
    (old,) = _lines(text, tmp_path)
    assert old[0] == "DeviceError"
    assert "no in-order command lists" in old[1]
    (lacking,) = _lines(
        """
driver = announced()
driver.answer("zeCommandListHostSynchronize", Result.ERROR_UNSUPPORTED_FEATURE)
runtime = IntelRuntime()
refused(lambda: runtime.queue(runtime.devices()[0]))
""",
        tmp_path,
    )
    assert (lacking[0], lacking[2]) == ("DeviceError", "install a newer driver")


def test_a_queue_of_another_context(tmp_path: Path) -> None:
    """Refused by the launch, and the driver sees nothing of it; on its own queue the kernel runs."""
    refusal, after = _lines(
        """
announced()
adds = Adds(IntelRuntime())
with session(loaded()) as other:
    refused(lambda: adds.launch(other.queue))
adds.launch(adds.runtime.current_stream(adds.device))
print(json.dumps([adds.right()]))
""",
        tmp_path,
    )
    assert refusal[0] == "LaunchError"
    assert "not Level Zero's queue" in refusal[1]
    assert "[sycl]" in refusal[2]
    assert after == [True]


def test_a_device_lost_in_a_launch(tmp_path: Path) -> None:
    """Whoever waits gets a KernelFault, so does every later call; another device goes on, and the process ends."""
    found = _lines(
        """
driver = announced(devices=(DeviceConfiguration(),) * 2)
runtime = IntelRuntime()
adds, others = Adds(runtime), Adds(runtime, 1)
driver.lose_device(0, launch=1)
adds.launch()
start = time.monotonic()
refused(runtime.synchronize)
refused(adds.launch)
refused(lambda: runtime.memory(adds.device).alloc(64))
refused(lambda: adds.memory.free(adds.places[0]))
refused(lambda: runtime.elapsed(lambda: None))
others.launch()
print(json.dumps([others.right(), time.monotonic() - start < 5]))
""",
        tmp_path,
        leak_free=False,
    )
    *faults, after = found
    assert [kind for kind, *_ in faults] == ["KernelFault"] * 5
    assert all("DEVICE_LOST" in text and remedy for _, text, remedy in faults)
    assert after == [True, True]


def test_a_device_lost_in_a_launch_of_the_language(tmp_path: Path) -> None:
    """Host arrays: the launch copies back, so it is the one that finds out."""
    (found,) = _lines(
        """
from tri_backend_intel.runtime import standin
driver = standin.announced()
x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
def launch():
    with tri.target("intel:pvc"):
        add[(16,)](x, x, out, 1000, B=64)
launch()
assert (out == 2 * x).all()
driver.lose_device(0, launch=1)
refused(launch)
""",
        tmp_path,
        leak_free=False,
        TRI_INTEL_STANDIN="pvc",
    )
    assert found[0] == "KernelFault"
