"""The driver's own binaries: kept, loaded in the next process, never run when they are not what they should be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from intel_support import image_of, llvm_of, runtime, to_spirv
from tri_backend_intel.lowering import IntelPrimitives
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.runtime import IntelRuntime
from tri_backend_intel.runtime.native import NativeImages, NativeRefused, Programs
from tri_core import knobs
from tri_core.api import DeviceInfo, KernelImage, ToolchainError
from tri_core.cache import default_store
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, Builder

MATMUL = textwrap.dedent(
    """
    import json, sys, time
    import numpy as np
    import tri
    import tri.language as tl
    from tri_backend_intel.runtime import IntelRuntime
    from tri_runtime import runtime

    @tri.jit
    def matmul(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
        i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
        x = tl.load(a + i[:, None] * K + k[None, :])
        y = tl.load(b + k[:, None] * N + j[None, :])
        tl.store(c + i[:, None] * N + j[None, :], tl.dot(x, y))

    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 4, shape).astype(np.float16) for shape in ((64, 32), (32, 64)))
    c = np.zeros((64, 64), np.float32)
    seconds = []
    load = IntelRuntime.load

    def timed(self, image, device):
        start = time.perf_counter()
        try:
            return load(self, image, device)
        finally:
            seconds.append(time.perf_counter() - start)

    IntelRuntime.load = timed
    start = time.perf_counter()
    with tri.target("intel:opencl-cpu"):
        matmul[(1,)](a, b, c, 64, 64, 32)
    first = time.perf_counter() - start
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()
    here = runtime("sycl")
    counts = here.programs(here.device_for("opencl-cpu")).counts
    print(json.dumps({"load": sum(seconds), "first": first, **counts}))
    """
)


def add(amount: float) -> KernelImage:
    """A kernel that adds ``amount`` to 64 floats."""

    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        place = b.gep(args[0], hw.thread_id(b), b.f32)
        total = b.fadd(b.load(place, b.f32), b.float_(amount))
        hw.store_global(b, place, total, None, Access(4))

    return image_of(to_spirv(llvm_of(body, 1, IntelOptions())), 1, IntelOptions())


def added(image: KernelImage, made: IntelRuntime) -> float:
    """What the kernel adds, run on the CPU device of ``made``."""
    x = np.zeros(64, np.float32)
    kernel = made.load(image, cpu(made))
    made.launcher(kernel, image)((1, 1, 1), None, [x.ctypes.data])
    assert (x == x[0]).all()
    return float(x[0])


def cpu(made: IntelRuntime) -> DeviceInfo:
    device = made.device_for("opencl-cpu")
    if device.arch != "opencl-cpu":
        pytest.skip("no OpenCL CPU device")
    return device


def fresh() -> IntelRuntime:
    """A runtime that has loaded nothing, as in a process that just started."""
    runtime()
    return IntelRuntime()


def programs_of(made: IntelRuntime) -> Programs:
    found = made.programs(cpu(made))
    if found is None:
        pytest.skip("the driver is not reached below SYCL here")
    return found


@pytest.fixture(autouse=True)
def _store(tmp_path: Path) -> object:
    with knobs.scope(CACHE_DIR=tmp_path, INTEL_TRIAL_BUILD="never"):
        yield


def test_the_second_process_loads_what_the_first_one_built(tmp_path: Path) -> None:
    programs_of(fresh())
    script = tmp_path / "matmul.py"
    script.write_text(MATMUL)
    environment = {**os.environ, "TRI_CACHE_DIR": str(tmp_path / "cache"), "TRI_INTEL_TRIAL_BUILD": "auto"}

    def run() -> dict[str, float]:
        done = subprocess.run(
            [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True
        )
        said: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return said

    first, second = run(), run()
    assert (first["built"], first["loaded"]) == (1, 0)
    assert (second["built"], second["loaded"]) == (0, 1)
    assert second["load"] < first["load"] / 10
    assert second["first"] < first["first"] / 4


def test_a_kept_image_gives_what_the_build_gave() -> None:
    image = add(2.5)
    made = fresh()
    assert added(image, made) == 2.5
    assert programs_of(made).counts["built"] == 1
    again = fresh()
    assert added(image, again) == 2.5
    assert programs_of(again).counts == {"built": 0, "loaded": 1, "refused": 0}
    other = fresh()
    with knobs.scope(ALWAYS_COMPILE=True):
        assert added(image, other) == 2.5
    assert programs_of(other).counts["loaded"] == 0


def test_a_damaged_image_is_built_again() -> None:
    image = add(3.0)
    made = fresh()
    assert added(image, made) == 3.0
    path = default_store().path(programs_of(made).images.key(image.data, ""))
    whole = path.read_bytes()
    for content in (whole[:-100], whole[:-1000] + bytes(1000), b""):
        path.write_bytes(content)
        again = fresh()
        assert added(image, again) == 3.0
        assert programs_of(again).counts == {"built": 1, "loaded": 0, "refused": 0}
    assert path.read_bytes() == whole or len(path.read_bytes()) > 1000


def test_the_image_of_another_kernel_under_this_ones_name_is_not_run() -> None:
    image, foreign = add(4.0), add(5.0)
    made = fresh()
    assert added(foreign, made) == 5.0
    images = programs_of(made).images
    entry = default_store().get(images.key(foreign.data, ""))
    assert entry is not None
    default_store().put(images.key(image.data, ""), entry)
    again = fresh()
    assert added(image, again) == 4.0
    assert programs_of(again).counts["loaded"] == 0


def test_what_the_driver_does_not_take_is_built_again(caplog: pytest.LogCaptureFixture) -> None:
    image = add(6.0)
    made = fresh()
    programs_of(made).images.put(image.data, "", b"\x7fELF" + bytes(200), {"options": "", "spills": None})
    assert added(image, made) == 6.0
    assert programs_of(made).counts == {"built": 1, "loaded": 0, "refused": 1}
    assert "built again" in caplog.text
    assert added(image, fresh()) == 6.0


def test_device_driver_options_and_module_decide() -> None:
    images = NativeImages("a device\na driver")
    images.put(b"module", "-a", b"image", {"options": "-a", "spills": 3})
    assert images.get(b"module", "-a") == (b"image", {"options": "-a", "spills": 3})
    assert images.get(b"module", "-b") is None
    assert images.get(b"modula", "-a") is None
    assert NativeImages("a device\nanother driver").get(b"module", "-a") is None
    default_store().put(images.key(b"other", ""), b"no image at all")
    assert images.get(b"other", "") is None


def test_settings_of_the_drivers_compiler_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    before = programs_of(fresh()).images
    monkeypatch.setenv("CL_CONFIG_CPU_VECTORIZER_MODE", "4")
    assert programs_of(fresh()).images != before


def test_a_kernel_that_is_not_there_is_reported() -> None:
    image = add(7.0)
    made = programs_of(fresh())
    with pytest.raises(NativeRefused, match="no kernel nothing"):
        made.build(image.data, "nothing", ("",))


def test_the_drivers_reason_is_in_the_error() -> None:
    image = add(8.0)
    made = fresh()
    attrs = {**image.metadata.attrs, "build_options": "-no-such-option"}
    with pytest.raises(ToolchainError, match=r"(?s)cannot compile kernel k: .*no-such-option"):
        made.load(replace(image, metadata=replace(image.metadata, attrs=attrs)), cpu(made))
    assert added(image, made) == 8.0
