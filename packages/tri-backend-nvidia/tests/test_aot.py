"""C launchers and peak rates; no GPU is needed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tri
import tri.language as tl
from tri.aot import build
from tri_backend_nvidia import performance
from tri_backend_nvidia.architectures import ARCHITECTURES
from tri_backend_nvidia.testing import cublas, cuda_memcheck, nvsmi
from tri_core import knobs
from tri_core.errors import ToolchainError, Unsupported


@tri.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


def compiler() -> list[str]:
    found = shutil.which("cc")
    return [found] if found else [sys.executable, "-m", "ziglang", "cc"]


def test_the_launcher_compiles_and_says_that_there_is_no_driver(tmp_path: Path) -> None:
    with knobs.scope(CACHE_DIR=tmp_path / "cache"):
        manifest = build(
            scale, "*fp32:16, i32, 256", target="nvidia:sm_90a", grid="(n + 255) / 256", folder=tmp_path
        )
    assert manifest.parameters[0].ctype == "uint64_t"
    assert (tmp_path / manifest.files["image"]).read_bytes()[:4] == b"\x7fELF"
    library = tmp_path / "launcher.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    source = str(tmp_path / manifest.files["source"])
    subprocess.run([*compiler(), *flags, source, "-o", str(library), "-ldl"], check=True)
    loaded = ctypes.CDLL(str(library))
    # without a load there is nothing to launch
    launch = getattr(loaded, manifest.function)
    launch.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32]
    assert launch(None, 0, 1) == -6
    text = (tmp_path / manifest.files["source"]).read_text()
    assert f'"{manifest.entry}"' in text
    assert "128, 1, 1" in text


def test_operations_per_clock() -> None:
    # H100 SXM: 132 multiprocessors at 1.83 GHz give 989 TFLOP/s dense on fp16, 67 on fp32
    simd, matrix = performance.operations_per_clock(ARCHITECTURES["sm_90a"], 132)
    assert matrix["fp16"] * 1.83e9 / 1e12 == pytest.approx(989, rel=0.01)
    assert matrix["fp32"] * 2 == matrix["fp16"] == matrix["fp8e5"] / 2
    assert simd["fp32"] * 1.98e9 / 1e12 == pytest.approx(67, rel=0.01)
    simd, matrix = performance.operations_per_clock(ARCHITECTURES["sm_75"], 1)
    assert set(matrix) == {"fp16"}
    assert "fp8e5" not in performance.operations_per_clock(ARCHITECTURES["sm_80"], 1)[1]


def test_names_of_the_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    from tri import testing

    assert testing.nvsmi is nvsmi
    with pytest.raises(Unsupported, match="does not bind cuBLAS"):
        cublas()
    with pytest.raises(Unsupported, match="from inside of its own process"):
        cuda_memcheck(target="x")(lambda: None)()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolchainError, match="not on the PATH"):
        nvsmi(["clocks.max.sm"])
