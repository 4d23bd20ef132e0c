"""C launchers; no GPU is needed."""

from __future__ import annotations

import ctypes
from pathlib import Path

from integration.c_programs import shared_library
from integration.kernels.named_parameters import named

import tri
import tri.language as tl
from tri.aot import build
from tri_core import knobs


@tri.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


def test_the_launcher_compiles(tmp_path: Path) -> None:
    with knobs.scope(CACHE_DIR=tmp_path / "cache"):
        manifest = build(
            scale, "*fp32:16, i32, 256", target="amd:gfx942", grid="(n + 255) / 256", folder=tmp_path
        )
    assert (tmp_path / manifest.files["image"]).read_bytes()[:4] == b"\x7fELF"
    library = tmp_path / "launcher.so"
    source = tmp_path / manifest.files["source"]
    shared_library(source, library)
    launch = getattr(ctypes.CDLL(str(library)), manifest.function)
    launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32]
    assert launch(None, None, 1) == -6  # nothing is loaded
    assert f'"{manifest.entry}"' in source.read_text()
    assert "256, 1, 1" in source.read_text()


def test_parameters_may_have_a_launchers_names(tmp_path: Path) -> None:
    with knobs.scope(CACHE_DIR=tmp_path / "cache"):
        manifest = build(
            named, ", ".join(["*i32", *["i32"] * 13]), target="amd:gfx942", grid="y", folder=tmp_path
        )
    shared_library(tmp_path / manifest.files["source"], tmp_path / "launcher.so")
