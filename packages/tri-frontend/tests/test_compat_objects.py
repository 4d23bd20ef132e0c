"""What code outside of tri reads of kernels, types, targets and arguments, under Triton's names."""

from __future__ import annotations

import importlib
import inspect
import math
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import tri
import tri.compat.triton as compat
import tri.language as tl
from tri.compat.triton.core import extern
from tri.compat.triton.table import MODULES
from tri_core import knobs, plugins
from tri_core.errors import CompilationError, LaunchError
from tri_core.plugin_records import BackendInfo
from tri_core.plugins import PluginManager, candidate_of

FACTOR = tl.constexpr(3)


@pytest.fixture(autouse=True)
def _fake_backend(tmp_path: Path) -> Iterator[None]:
    """Not the fake one: the CPU's."""
    cpu = importlib.import_module("tri_backend_cpu.plugin")
    with plugins.use(PluginManager([candidate_of(cpu)])), knobs.scope(CACHE_DIR=tmp_path / "cache"):
        yield


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    with compat.installed():
        yield


def module(name: str) -> Any:
    return importlib.import_module(name)


@tri.jit
def scaled(x):
    return x * FACTOR


@tri.jit
def scale(out_ptr, x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, scaled(tl.load(x_ptr + i)))


# --- names that Triton's own tests use ---------------------------------------------------------------------


class Pair(NamedTuple):
    left: str
    right: str


def test_types_by_their_names() -> None:
    str_to_ty = module("triton.language").str_to_ty
    assert str_to_ty("*kfp16", None) is tl.pointer_type(tl.float16, const=True)
    assert str_to_ty(name="u1", c=None) is tl.int1
    assert str_to_ty("constexpr", 3) == tl.constexpr(3).type
    pair = str_to_ty(Pair("i32", "*fp32"), None)
    assert pair.fields == ("left", "right")
    assert list(pair) == [tl.int32, tl.pointer_type(tl.float32)]
    with pytest.raises(ValueError, match="'i33' is not a type"):
        str_to_ty("i33", None)


@pytest.mark.parametrize("name", [n for n in MODULES if n.count(".") < 2])
def test_a_module_is_in_a_file(name: str) -> None:
    assert Path(module(name).__file__).is_file()


@extern
def halved(value: Any, _semantic: Any = None) -> Any:
    assert isinstance(value, tl.constexpr)
    return tl.constexpr(value.value // 2)


def doubled_by_mark(value: Any, *, _semantic: Any) -> Any:
    assert isinstance(value, tl.constexpr)
    assert _semantic is not None
    return tl.constexpr(value.value * 2)


#: as PyTorch's own decorator marks functions
doubled_by_mark.__triton_builtin__ = True  # type: ignore[attr-defined]


@tri.jit
def stores_halved(out_ptr):
    tl.store(out_ptr, halved(84))


@tri.jit
def stores_doubled(out_ptr):
    tl.store(out_ptr, doubled_by_mark(21))


def test_a_function_of_a_library_is_called_from_kernels() -> None:
    out = np.zeros(1, np.int32)
    stores_halved[(1,)](out)
    assert out[0] == 42
    assert module("triton.language.core").is_builtin(halved)


def test_a_function_that_carries_tritons_mark_is_called_from_kernels() -> None:
    out = np.zeros(1, np.int32)
    stores_doubled[(1,)](out)
    assert out[0] == 42
    assert module("triton.language.core").is_builtin(doubled_by_mark)


# --- jit functions ------------------------------------------------------------------------------------------


def test_a_function_tells_what_it_reads() -> None:
    assert scale.__globals__ is globals()
    assert scale.get_capture_scope()["scaled"] is scaled
    assert scale.used_global_vals == {("FACTOR", id(globals())): (FACTOR, globals())}
    key = scale.cache_key
    assert scale.hash == key
    scale.hash = None
    assert scale.__dict__.get("cache_key") is None
    assert scale.cache_key == key
    callables = module("triton.runtime.jit").JITCallable
    assert isinstance(scale, callables)
    assert hasattr(callables, "cache_key")
    assert hasattr(callables, "used_global_vals")
    assert scale.type == module("triton.language.core").constexpr_type(scale)


def test_a_function_of_an_enclosing_one_tells_its_names() -> None:
    width = tl.constexpr(4)

    @tri.jit
    def inner(out_ptr):
        tl.store(out_ptr, width)

    assert inner.get_capture_scope()["width"] is width


def test_where_a_function_stands() -> None:
    lines, first = inspect.getsourcelines(scale.fn)
    assert (scale.raw_src, scale.starting_line_number) == (lines, first)
    assert (scale.def_file_line_number, scale.def_file_col_number) == (first + 1, 1)
    assert scale.file_name == __file__
    assert scale._fn_name == f"{__name__}.scale"
    assert scale.parse().body[0].name == "scale"  # type: ignore[attr-defined]


def test_source_of_another_text_is_compiled() -> None:
    """As of code that writes kernels: a function object without source, with globals of its own."""

    def template(out_ptr: Any, n: Any) -> None: ...

    made = types.FunctionType(template.__code__, {"tl": tl, "helper": scaled})
    made.__signature__ = inspect.signature(template)  # type: ignore[attr-defined]
    kernel = tri.JITFunction(made)
    kernel._unsafe_update_src("def renamed(out_ptr, n):\n    tl.store(out_ptr, helper(n))\n")
    out = np.zeros(1, np.int32)
    kernel[(1,)](out, 5)
    assert out[0] == 15
    kernel._unsafe_update_src("def renamed(out_ptr, n):\n    tl.store(out_ptr, helper(n) + 1)\n")
    kernel[(1,)](out, 5)
    assert out[0] == 16
    kernel._unsafe_update_src("x = 3")
    with pytest.raises(CompilationError, match="not defined with def"):
        kernel[(1,)](out, 5)


def test_repr_sees_types_and_constants_by_name() -> None:
    seen: list[Any] = []

    def name(specialization: Any) -> str:
        seen.append(specialization)
        types_ = ",".join(f"{k}:{v}" for k, v in specialization.signature.items())
        return f"k_{specialization.constants['BLOCK']}_{types_}"

    kernel = tri.jit(scale.fn, repr=name)  # type: ignore[call-overload]
    x = np.arange(4, dtype=np.float32)
    out = np.zeros_like(x)
    compiled = kernel[(1,)](out, x, BLOCK=4)
    assert compiled.name == "k_4_out_ptr:*fp32,x_ptr:*fp32,BLOCK:constexpr"
    assert scale.repr(None) == "scale"


# --- types --------------------------------------------------------------------------------------------------


def test_types_of_compile_time_values() -> None:
    core = module("triton.language.core")
    assert tl.constexpr(3).type == core.constexpr_type(3) != core.constexpr_type(4)
    pair = core.tuple_type([tl.int32, core.constexpr_type(1)], ["a", "b"])
    assert str(pair) == "[a:int32,b:constexpr_type[1]]"
    assert (list(pair), pair[0], len(pair)) == ([tl.int32, core.constexpr_type(1)], tl.int32, 2)
    assert pair != core.tuple_type([tl.int32, core.constexpr_type(1)])
    assert core.CONSTEXPR_0.value == 0


@tri.jit
def ask_types(out_ptr, a, DTYPE: tl.constexpr, C: tl.constexpr):
    tl.static_assert((a, C).type[0] == a.type)
    tl.static_assert((a, C).type[1] == C.type)
    tl.static_assert(len((a, C).type.types) == 2)
    tl.store(out_ptr, a.to(DTYPE.value))


def test_types_in_kernels() -> None:
    out = np.zeros(1, np.float32)
    ask_types[(1,)](out, 7, tl.float32, 5)
    assert out[0] == 7


def test_integers_of_a_width_in_kernels(tmp_path: Path) -> None:
    triton_tl = module("triton.language")

    @tri.jit
    def kernel(out_ptr, x):
        width: tl.constexpr = triton_tl.core.get_int_dtype(bitwidth=16, signed=True)
        tl.store(out_ptr, x.to(width).to(tl.int32))

    globals()["triton_tl"] = triton_tl
    out = np.zeros(1, np.int32)
    kernel[(1,)](out, 70000)
    assert out[0] == 70000 - 65536


@tri.jit
def add_one(x):
    return x + 1


@tri.jit
def calls_add_one(out_ptr):
    tl.store(out_ptr, add_one(1))


@pytest.mark.usefixtures("cpu")
def test_a_text_put_in_place_of_itself_changes_no_key() -> None:
    before = calls_add_one.cache_key
    add_one._unsafe_update_src(add_one.src)
    add_one.hash = calls_add_one.hash = None
    assert calls_add_one.cache_key == before
    add_one._unsafe_update_src(add_one.src.replace("+ 1", "+ 2"))
    calls_add_one.hash = None
    assert calls_add_one.cache_key != before


@pytest.mark.usefixtures("cpu")
def test_versions_of_the_host_by_pytorchs_name_of_it() -> None:
    calls_add_one.device_caches.clear()
    made = calls_add_one[(1,)](np.zeros(1, np.int32))
    assert list(calls_add_one.device_caches["cpu"][0].values()) == [made]


def test_names_of_dtypes() -> None:
    with compat.installed():
        triton = module("triton")
        assert eval(repr(triton.language.int8), {"triton": triton}) is tl.int8
        assert repr(tl.pointer_type(tl.int8)) == "pointer<int8>"
    utils = module("triton._utils")
    jit = module("triton.runtime.jit")
    assert utils.canonicalize_dtype(np.dtype("float32")) == "fp32"
    assert utils.canonicalize_dtype("torch.bfloat16") == "bf16"
    assert utils.canonicalize_ptr_dtype("float8_e4m3fn", True) == "*kfp8e4nv"
    assert jit.type_canonicalisation_dict["bool"] == "u1"
    assert utils.get_primitive_bitwidth("float8e4b15") == 8
    assert utils.get_primitive_bitwidth("void") == 0


def test_helpers_of_shapes() -> None:
    utils = module("triton._utils")
    assert utils.validate_block_shape([2, 8]) == 16
    with pytest.raises(ValueError, match="power of 2"):
        utils.validate_block_shape([3])
    with pytest.raises(TypeError, match="element 0"):
        utils.validate_block_shape([2.0])
    with pytest.raises(ValueError, match="exceeds"):
        utils.validate_block_shape([1 << 21])
    found: list[Any] = []
    utils.apply_with_path([1, (2, 3)], lambda path, leaf: found.append((path, leaf)))
    assert found == [((0,), 1), ((1, 0), 2), ((1, 1), 3)]
    with pytest.warns(UserWarning, match="once only"):
        utils.warn_once("once only")
    utils.warn_once("once only")


# --- arguments ----------------------------------------------------------------------------------------------


class Pointer:
    """What has an address and a dtype, and nothing else."""

    def __init__(self, array: Any, dtype: Any) -> None:
        self.array, self.dtype = array, dtype

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)


class Strided(Pointer):
    """A view of an array from its end."""

    def __init__(self, array: Any, dtype: Any) -> None:
        super().__init__(array, dtype)
        self.shape = array.shape

    def data_ptr(self) -> int:
        return int(self.array[-1:].ctypes.data)

    def stride(self) -> tuple[int, ...]:
        return (-1,)


def test_an_object_with_an_address_and_a_dtype_is_an_argument() -> None:
    x = np.arange(4, dtype=np.float32)
    out = np.zeros_like(x)
    scale[(1,)](out, Pointer(x, tl.float32), BLOCK=4)
    np.testing.assert_array_equal(out, 3 * x)
    scale[(1,)](Pointer(out, np.dtype("float32")), 2 * x, BLOCK=4)
    np.testing.assert_array_equal(out, 6 * x)
    with pytest.raises(LaunchError, match="no dtype"):
        scale[(1,)](out, Pointer(x, None), BLOCK=4)


@tri.jit
def backwards(out_ptr, x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr - i))


def test_strides_of_such_an_object_may_be_negative() -> None:
    x = np.arange(4, dtype=np.float32)
    out = np.zeros_like(x)
    backwards[(1,)](out, Strided(x, np.dtype("float32")), BLOCK=4)
    np.testing.assert_array_equal(out, x[::-1])


def test_reinterpret_takes_dtypes_of_frameworks() -> None:
    bits = np.array([0x3FC0, 0x4000], np.int16)
    out = np.zeros(2, np.float32)

    @tri.jit
    def widen(out_ptr, x_ptr):
        i = tl.arange(0, 2)
        tl.store(out_ptr + i, tl.load(x_ptr + i).to(tl.float32))

    seen = tri.reinterpret(bits, np.dtype(ml_dtypes.bfloat16))
    assert seen.dtype is tl.bfloat16
    widen[(1,)](out, seen)
    np.testing.assert_array_equal(out, [1.5, 2.0])
    seen.data = out
    assert seen.data is out


@pytest.mark.parametrize(("name", "meant"), [("bfloat16", tl.bfloat16), ("float8_e5m2", tl.float8e5)])
def test_reinterpret_takes_dtypes_of_pytorch(name: str, meant: tl.dtype) -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.5, 2.0]).to(getattr(torch, name))
    seen = tri.reinterpret(x.view(torch.int16 if x.itemsize == 2 else torch.int8), x.dtype)
    assert seen.dtype is meant
    out = torch.zeros(2)

    @tri.jit
    def widen(out_ptr, x_ptr):
        i = tl.arange(0, 2)
        tl.store(out_ptr + i, tl.load(x_ptr + i).to(tl.float32))

    widen[(1,)](out, seen)
    assert out.tolist() == [1.5, 2.0]


@tri.jit
def hinted(out_ptr, x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, cache_modifier=None, eviction_policy=None)
    y = tl.load(x_ptr + i, cache_modifier=".cs")
    total = (x + y).to(tl.float32, fp_downcast_rounding="rtne")
    tl.store(out_ptr + i, total, cache_modifier=None, eviction_policy=None)


def test_hints_may_be_none_and_streaming() -> None:
    x = np.arange(4, dtype=np.float32)
    out = np.zeros_like(x)
    compiled = hinted[(1,)](out, x, BLOCK=4)
    np.testing.assert_array_equal(out, 2 * x)
    assert "cache_modifier = cs" in compiled.asm["ttir"]


# --- targets ------------------------------------------------------------------------------------------------


def test_questions_about_the_target_are_answered_on_the_host_and_in_kernels() -> None:
    info = module("triton.language.target_info")
    assert info.is_cuda() is False
    assert info.is_hip() is False
    assert info.current_target().backend == "cpu"
    with pytest.raises(AttributeError, match="is_cudaa"):
        info.is_cudaa  # noqa: B018

    @tri.constexpr_function
    def on_cpu() -> bool:
        return bool(info.current_target().backend == "cpu")

    @tri.jit
    def kernel(out_ptr):
        tl.store(out_ptr, 1 if on_cpu() and not info.is_cuda() else 0)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    assert out[0] == 1


def test_a_number_of_an_architecture_means_the_one_with_all_features() -> None:
    from tri.compat.triton import targets

    info = BackendInfo(
        name="made-up",
        device_kinds=("gadget",),
        runtime="gadget",
        architectures=("gx_80", "gx_90", "gx_90a", "gx_90f", "big"),
    )
    assert targets._named(info, 90) == "gx_90a"
    assert targets._named(info, "sm90") == "gx_90a"
    assert targets._named(info, "gx_90") == "gx_90"
    assert targets._named(info, 80) == "gx_80"
    assert targets._named(info, "big") == "big"
    assert targets._named(info, 70) == "70"  # the backend says what it knows


# --- tools --------------------------------------------------------------------------------------------------


class Rows:
    """An array with PyTorch's ``stride``."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def stride(self, dim: int | None = None) -> Any:
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if dim is None else strides[dim]


@pytest.mark.parametrize("start", [0, 5, 13])
def test_ragged_descriptors_keep_to_their_slice(start: int) -> None:
    ragged = module("triton.tools.ragged_tma")
    count, block = 6, 8
    x = np.arange(32 * 16, dtype=np.float32).reshape(32, 16) + 1
    out = np.zeros_like(x)
    load, store = ragged.load_ragged, ragged.store_ragged

    @tri.jit
    def copy(target, source, begin, n):
        rows = load(source, begin, n, [2, 0])
        store(target, begin, n, [2, 0], rows)

    source = ragged.create_ragged_descriptor(Rows(x), [block, 16])
    target = ragged.create_ragged_descriptor(Rows(out), [block, 16])
    copy[(1,)](target, source, start, count)
    expected = np.zeros_like(x)
    expected[start + 2 : start + count] = x[start + 2 : start + count]
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(LaunchError, match="any dimension but the last"):
        ragged.create_ragged_descriptor(Rows(x), [block, 16], ragged_dim=1)


def test_microscaling_formats() -> None:
    torch = pytest.importorskip("torch")
    mxfp = module("triton.tools.mxfp")
    values = torch.linspace(-8, 8, 129)
    codes = mxfp.MXFP4Tensor(values)
    expected = values.numpy().astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
    np.testing.assert_array_equal(codes.to(torch.float32).numpy(), expected)
    packed = codes.to_packed_tensor(0)
    assert packed.shape == (65,)
    assert torch.equal(codes.unpack_packed_tensor(packed, 0, (129,)), codes.data)
    scales = mxfp.MXScaleTensor(torch.tensor([1.0, 3.0, 2.0**-127, -1.0, math.inf]))
    assert scales.data.tolist() == [127, 128, 0, 255, 255]
    assert scales.to(torch.float32)[:3].tolist() == [1.0, 2.0, 2.0**-127]
    assert math.isnan(scales.to(torch.float32)[3])
    drawn = mxfp.MXScaleTensor(size=(100,)).random(low=0.5, high=2.0).to(torch.float32)
    assert set(drawn.tolist()) <= {0.5, 1.0, 2.0}


# --- modules that Triton's modules hold ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "triton.compiler.code_generator:knobs triton.knobs",
        "triton.compiler.code_generator:language triton.language",
        "triton.compiler.compiler:knobs triton.knobs",
        "triton.language.core:knobs triton.knobs",
        "triton.language.math:core triton.language.core",
        "triton.language.random:math triton.language.math",
        "triton.language.random:tl triton.language.core",
        "triton.language.semantic:tl triton.language.core",
        "triton.language.standard:core triton.language.core",
        "triton.language.standard:math triton.language.math",
        "triton.runtime.autotuner:knobs triton.knobs",
        "triton.runtime.build:knobs triton.knobs",
        "triton.runtime.cache:knobs triton.knobs",
        "triton.runtime.interpreter:tl triton.language",
        "triton.runtime.interpreter:triton triton",
        "triton.runtime.jit:_async_compile triton.runtime._async_compile",
        "triton.runtime.jit:knobs triton.knobs",
        "triton.testing:runtime triton.runtime",
        "triton.testing:tl triton.language",
        "triton.tools.ragged_tma:tl triton.language",
        "triton.tools.ragged_tma:triton triton",
    ],
)
def test_modules_under_the_names_that_others_give_them(path: str) -> None:
    place, _, held = path.partition(" ")
    owner, _, name = place.partition(":")
    assert getattr(module(owner), name) is module(held)
