"""C launchers and peak rates; no GPU is needed."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
from integration.c_programs import shared_library
from integration.kernels.named_parameters import named

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


def test_the_launcher_compiles_and_says_that_there_is_no_driver(tmp_path: Path) -> None:
    with knobs.scope(CACHE_DIR=tmp_path / "cache"):
        manifest = build(
            scale, "*fp32:16, i32, 256", target="nvidia:sm_90a", grid="(n + 255) / 256", folder=tmp_path
        )
    assert manifest.parameters[0].ctype == "uint64_t"
    assert (tmp_path / manifest.files["image"]).read_bytes()[:4] == b"\x7fELF"
    library = tmp_path / "launcher.so"
    shared_library(tmp_path / manifest.files["source"], library)
    loaded = ctypes.CDLL(str(library))
    # without a load there is nothing to launch
    launch = getattr(loaded, manifest.function)
    launch.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32]
    assert launch(None, 0, 1) == -6
    text = (tmp_path / manifest.files["source"]).read_text()
    assert f'"{manifest.entry}"' in text
    assert "128, 1, 1" in text


def test_persistent_kernels_are_refused(tmp_path: Path) -> None:
    given = {"target": "nvidia:sm_90a", "grid": "(n + 255) / 256", "folder": tmp_path}
    with knobs.scope(CACHE_DIR=tmp_path / "cache"):
        with pytest.raises(Unsupported, match=r"scale_\w+ is persistent") as found:
            build(scale, "*fp32:16, i32, 256", options={"persistent": True}, **given)
        assert found.value.remedy == "compile with persistent=False"
        assert not list(tmp_path.glob("*.c"))


def test_kernels_that_make_descriptors_are_refused(tmp_path: Path) -> None:
    from tensormap_kernels import copied_groups

    given = {"target": "nvidia:sm_90a", "grid": "1", "folder": tmp_path}
    signature = "*fp32:16, *i32, *fp32:16, i32, i32:16, i32, 0, 8, 32"
    with knobs.scope(CACHE_DIR=tmp_path / "cache"):
        with pytest.raises(Unsupported, match="makes tensor descriptors in memory that the launch brings"):
            build(copied_groups, signature, **given)
        build(copied_groups, signature, options={"tma_copies": False}, **given)


#: a driver that counts CTAs of 128 threads, reads the first argument, and adds up the launch's attributes
DRIVER = """
#include <stddef.h>
struct attribute { unsigned id, pad; int value, rest[15]; };
struct config { unsigned sizes[7]; void *stream; struct attribute *attributes; unsigned count; };
int cuModuleLoadData(void **module, const void *image) { *module = (void *)image; return 0; }
int cuModuleUnload(void *module) { (void)module; return 0; }
int cuModuleGetFunction(void **f, void *module, const char *name) { (void)name; *f = module; return 0; }
int cuFuncSetAttribute(void *f, int which, int value) { (void)f; (void)which; (void)value; return 0; }
unsigned long long seen[6];
int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra)
{
    (void)f; (void)shared; (void)extra;
    seen[0] += x * y * z;
    seen[1] = bx * by * bz;
    seen[2] = (size_t)stream;
    seen[3] = *(unsigned long long *)parameters[0];
    seen[4] = *(unsigned *)parameters[1];
    return 0;
}
int cuLaunchKernelEx(const struct config *c, void *f, void **parameters, void **extra)
{
    const unsigned *s = c->sizes;
    unsigned i;
    for (i = 0; i < c->count; i++) seen[5] += c->attributes[i].value << c->attributes[i].id;
    return cuLaunchKernel(f, s[0], s[1], s[2], s[3], s[4], s[5], s[6], c->stream, parameters, extra);
}
"""
#: what a C program does with the launcher, in a process that has no other driver
PROGRAM = """
import ctypes, sys
launcher, name, driver = sys.argv[1:]
driver, launcher = ctypes.CDLL(driver), ctypes.CDLL(launcher)
assert getattr(launcher, f"load_{name}")() == 0
launch = getattr(launcher, name)
launch.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32]
assert launch(77, 1 << 40, 1000) == 0
print(*(ctypes.c_uint64 * 6).in_dll(driver, "seen"))
"""


def test_parameters_may_have_a_launchers_names(tmp_path: Path) -> None:
    with knobs.scope(CACHE_DIR=tmp_path / "cache"):
        manifest = build(
            named, ", ".join(["*i32", *["i32"] * 13]), target="nvidia:sm_90a", grid="y", folder=tmp_path
        )
    shared_library(tmp_path / manifest.files["source"], tmp_path / "launcher.so")


@pytest.mark.skipif(sys.platform != "linux", reason="where the driver has this name")
def test_launch_attributes_reach_the_driver(tmp_path: Path) -> None:
    (tmp_path / "driver.c").write_text(DRIVER)
    shared_library(tmp_path / "driver.c", tmp_path / "libcuda.so.1")
    for options, attributes in (
        ({}, 0),
        ({"launch_pdl": True}, 1 << 6),
        ({"launch_pdl": True, "launch_cooperative_grid": True}, 1 << 6 | 1 << 2),
    ):
        with knobs.scope(CACHE_DIR=tmp_path / "cache"):
            manifest = build(
                scale, "*fp32:16, i32, 256", target="nvidia:sm_90a", grid="(n + 255) / 256", folder=tmp_path,
                options=options,
            )  # fmt: skip
        library = tmp_path / f"{manifest.function}.so"
        shared_library(tmp_path / manifest.files["source"], library)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(library), manifest.function, str(tmp_path / "libcuda.so.1")],
            check=True, capture_output=True, text=True, env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        )  # fmt: skip
        assert [int(n) for n in done.stdout.split()] == [4, 128, 77, 1 << 40, 1000, attributes]


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
