"""``tl.extra.cuda``: what only NVIDIA's GPUs have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tri.language as tl
from tri_backend_nvidia.language import libdevice
from tri_core.api import TargetKey, Unsupported

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = [
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "gdc_launch_dependents",
    "gdc_wait",
    "globaltimer",
    "libdevice",
    "num_threads",
    "num_warps",
    "smid",
]


#: builtins pass an argument that calls in kernels leave out, and stubs with them
_cast: Any = tl.cast
_assembly: Any = tl.inline_asm_elementwise


def _check(b: Builder, name: str) -> None:
    key: TargetKey = b.target.key
    if key.backend != "nvidia":
        raise Unsupported(f"tl.extra.cuda.{name} on {key}", remedy="ask tl.target_info.is_cuda() before")


def _register(name: str, register: str, dtype: Any, pure: bool, doc: str) -> Callable[..., Any]:
    """A function that reads a special register."""
    letter = "l" if dtype is tl.int64 else "r"
    move = f"mov.u{dtype.int_bitwidth} $0, %{register};"

    def read(*, _semantic: Builder) -> Any:
        _check(_semantic, name)
        return _assembly(move, f"={letter}", [], dtype, pure, 1, _semantic=_semantic)

    read.__name__ = read.__qualname__ = name
    read.__doc__ = doc
    return tl.builtin(read)


globaltimer = _register(
    "globaltimer", "globaltimer", tl.int64, False, "Nanoseconds of the device's clock: int64."
)
smid = _register("smid", "smid", tl.int32, True, "The multiprocessor that the program runs on: int32.")


@tl.builtin
def num_threads(*, _semantic: Builder) -> int:
    """Threads of a program: constexpr."""
    _check(_semantic, "num_threads")
    return 32 * _semantic.options.num_warps


@tl.builtin
def num_warps(*, _semantic: Builder) -> int:
    """Warps of a program: constexpr."""
    _check(_semantic, "num_warps")
    return _semantic.options.num_warps


@tl.builtin
def gdc_wait(*, _semantic: Builder) -> None:
    """Wait for the grids before this one, and see what they wrote (compute capability 9.0 on)."""
    _check(_semantic, "gdc_wait")
    _semantic.create("tt.grid_dependency_wait")


@tl.builtin
def gdc_launch_dependents(*, _semantic: Builder) -> None:
    """Let the grids that wait for this one begin (compute capability 9.0 on)."""
    _check(_semantic, "gdc_launch_dependents")
    _semantic.create("tt.grid_dependency_launch_dependents")


def _convert(b: Builder, arg: Any, dst_ty: Any) -> Any:
    """Between fp8e4b15 and fp16 or fp32; fp32 goes through fp16, rounded to zero on the way down."""
    if arg.dtype is tl.float8e4b15:
        half = _cast(arg, tl.float16, _semantic=b)
        return _cast(half, dst_ty, _semantic=b)
    if arg.dtype is tl.float32:
        arg = _cast(arg, tl.float16, "rtz", _semantic=b)
    return _cast(arg, tl.float8e4b15, _semantic=b)


@tl.builtin
def convert_custom_float8_sm80(
    arg: Any, dst_ty: Any, fp_downcast_rounding: str | None = None, *, _semantic: Builder
) -> Any:
    """``arg`` converted between fp8e4b15 and fp16 or fp32."""
    return _convert(_semantic, arg, dst_ty)


@tl.builtin
def convert_custom_float8_sm70(
    arg: Any, dst_ty: Any, fp_downcast_rounding: str | None = None, *, _semantic: Builder
) -> Any:
    """As :func:`convert_custom_float8_sm80`."""
    return _convert(_semantic, arg, dst_ty)
