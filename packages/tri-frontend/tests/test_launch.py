"""Launching: arguments, specialization, targets, grids, and what goes wrong."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.errors import LaunchError, OptionError, TargetError, TriError


@tri.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@tri.jit
def scalars(p, a, b=2.5, *, flag=False, C: tl.constexpr = 4):
    if flag:
        tl.store(p, a + b + C)


def aligned(count: int, dtype: Any = np.float32, offset: int = 0) -> Any:
    """An array whose address is ``offset`` bytes past a multiple of 64."""
    size = np.dtype(dtype).itemsize
    raw = np.zeros(count * size + 128, dtype=np.uint8)
    start = -raw.ctypes.data % 64 + offset
    return raw[start : start + count * size].view(dtype)


def signature(kernel: Any) -> dict[str, str]:
    return {p.name: p.type for p in kernel.metadata.signature.parameters}


def divisors(text: str) -> list[int | None]:
    """What the kernel's text says that each of its arguments is divisible by."""
    (signature,) = re.findall(r"tt\.func public @\w+\((.*)\)", text)
    found = [re.search(r"tt\.divisibility = (\d+)", part) for part in re.split(r", (?=%)", signature)]
    return [int(f[1]) if f else None for f in found]


def test_launch_passes_addresses_and_scalars(runtime):
    x, y = aligned(100), aligned(100)
    kernel = add[(7,)](x, y, 100, BLOCK=64)
    assert runtime.launches == [("add", (7, 1, 1), None, (x.ctypes.data, y.ctypes.data, 100))]
    assert signature(kernel) == {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}


def test_a_second_call_compiles_and_loads_nothing(runtime):
    x, y = aligned(100), aligned(100)
    first = add[(1,)](x, y, 100, BLOCK=64)
    second = add[(2, 3)](x, y, 99, 64)
    assert first is second
    assert runtime.loads == ["add@0"]
    assert [launch[1] for launch in runtime.launches] == [(1, 1, 1), (2, 3, 1)]


def test_divisibility_and_one_are_specialized():
    x, y = aligned(100), aligned(100, offset=4)
    text = add[(1,)](x, y, 32, BLOCK=64).asm["ttir"]
    assert divisors(text) == [16, None, 16]
    text = add[(1,)](x, y, 33, BLOCK=64).asm["ttir"]
    assert divisors(text) == [16, None, None]
    assert list(signature(add[(1,)](x, y, 1, BLOCK=64))) == ["x_ptr", "y_ptr"]


def test_a_folded_one_is_not_passed(runtime):
    x, y = aligned(100), aligned(100)
    add[(1,)](x, y, 1, BLOCK=64)
    assert runtime.launches[0][3] == (x.ctypes.data, y.ctypes.data)


@pytest.mark.parametrize(
    ("value", "type_"),
    [(2, "i32"), (2**31 - 1, "i32"), (2**31, "i64"), (-(2**31) - 1, "i64"), (2**63, "u64"), (2.0, "fp32"),
     (True, "u1"), (np.int64(3), "i32"), (np.float64(3), "fp32"), (np.bool_(True), "u1")],
)  # fmt: skip
def test_scalar_types_follow_the_value(value, type_):
    assert signature(scalars[(1,)](aligned(1), value))["a"] == type_


@pytest.mark.parametrize(
    ("dtype", "name"),
    [(np.float16, "*fp16"), (np.float64, "*fp64"), (np.int8, "*i8"), (np.uint32, "*u32"), (np.bool_, "*i1"),
     (ml_dtypes.bfloat16, "*bf16"), (ml_dtypes.float8_e4m3fn, "*fp8e4nv"), (ml_dtypes.float8_e5m2, "*fp8e5")],
)  # fmt: skip
def test_array_dtypes(dtype, name):
    @tri.jit
    def nothing(p):
        pass

    assert signature(nothing[(1,)](aligned(4, dtype))) == {"p": name}


def test_torch_tensors_are_read_without_copy(runtime):
    torch = pytest.importorskip("torch")

    x, y = torch.zeros(64), torch.zeros(64, dtype=torch.bfloat16)
    kernel = add[(1,)](x, y, 64, BLOCK=64)
    assert runtime.launches[0][3] == (x.data_ptr(), y.data_ptr(), 64)
    assert signature(kernel)["y_ptr"] == "*bf16"


def test_dlpack_arrays_are_read_without_copy(runtime):
    class Other:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **kwargs: Any) -> Any:
            return self.array.__dlpack__(**kwargs)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    x = aligned(64)
    kernel = add[(1,)](Other(x), Other(x[1:]), 63, BLOCK=64)
    assert runtime.launches[0][3] == (x.ctypes.data, x.ctypes.data + 4, 63)
    assert signature(kernel)["x_ptr"] == "*fp32"


def test_reinterpret_changes_the_dtype_only(runtime):
    x = aligned(64, np.uint8)
    kernel = add[(1,)](tri.reinterpret(x, tl.float8e5), x, 64, BLOCK=64)
    assert signature(kernel)["x_ptr"] == "*fp8e5"
    assert runtime.launches[0][3][0] == x.ctypes.data


def test_constexprs_of_different_types_are_different_kernels():
    @tri.jit
    def kernel(p, C: tl.constexpr):
        tl.store(p, tl.to_tensor(C))

    p = aligned(1)
    texts = [kernel[(1,)](p, C).asm["ttir"] for C in (1, 1.0, True, 0.0, -0.0)]
    assert len(set(texts)) == 5


def test_none_is_a_constant(runtime):
    @tri.jit
    def kernel(p, q):
        if q is not None:
            tl.store(q, 1.0)
        tl.store(p, 2.0)

    p = aligned(1)
    assert signature(kernel[(1,)](p, None)) == {"p": "*fp32"}
    assert runtime.launches[0][3] == (p.ctypes.data,)


def test_do_not_specialize():
    @tri.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["m"])
    def kernel(p, n, m):
        tl.store(p, n + m)

    built = kernel[(1,)](aligned(1), 1, 16)
    assert list(signature(built)) == ["p", "n", "m"]
    assert divisors(built.asm["ttir"]) == [16, None, None]
    assert list(signature(kernel[(1,)](aligned(1), 1, 1))) == ["p", "n"]


def test_annotations_fix_scalar_types():
    @tri.jit
    def kernel(p, n: tl.int64, f: "fp64"):  # noqa: F821, UP037  as Triton writes it
        tl.store(p, n * f)

    assert signature(kernel[(1,)](aligned(1), 5, 2)) == {"p": "*fp32", "n": "i64", "f": "fp64"}


def test_const_pointers_cannot_be_stored_through():
    @tri.jit
    def kernel(p: tl.const):
        tl.store(p, 1.0)

    with pytest.raises(tri_error("CompilationError"), match="constant pointer"):
        kernel[(1,)](aligned(1))


def tri_error(name: str) -> type[Exception]:
    from tri_core import errors

    return getattr(errors, name)


# --- grids and options ----------------------------------------------------------------------------------


def test_grid_as_a_function_of_the_arguments(runtime):
    x = aligned(100)
    add[lambda meta: (tri.cdiv(meta["n"], meta["BLOCK"]), meta["num_warps"])](
        x, x, 100, BLOCK=32, num_warps=2
    )
    assert runtime.launches[0][1] == (4, 2, 1)


def test_an_empty_grid_launches_nothing(runtime):
    add[(0,)](aligned(4), aligned(4), 4, BLOCK=4)
    assert runtime.launches == []


@pytest.mark.parametrize("grid", [(), (1, 2, 3, 4), (1.5,), (-1,), "x", None])
def test_wrong_grids(grid):
    with pytest.raises(LaunchError, match="the grid of add is") as caught:
        add[grid](aligned(4), aligned(4), 4, BLOCK=4)
    assert caught.value.location.file == __file__


def test_options_reach_the_compile():
    built = add[(1,)](aligned(4), aligned(4), 4, BLOCK=4, num_warps=8)
    assert built.metadata.options["num_warps"] == 8
    assert add[(1,)](aligned(4), aligned(4), 4, BLOCK=4).metadata.options["num_warps"] == 4


def test_unknown_keyword_names_near_ones():
    with pytest.raises(OptionError) as caught:
        add[(1,)](aligned(4), aligned(4), 4, BLOCK=4, num_warp=8)
    assert caught.value.message == "'num_warp' is neither a parameter of add nor an option of fake:one"
    assert caught.value.remedy.startswith("did you mean num_warps")
    assert caught.value.location.file == __file__


def test_warmup_compiles_only(runtime):
    built = add.warmup(tl.float32, np.dtype("float16"), 32, BLOCK=4, grid=(1,))
    assert signature(built) == {"x_ptr": "*fp32", "y_ptr": "*fp16", "n": "i32"}
    assert runtime.loads == []


# --- bad arguments --------------------------------------------------------------------------------------


def test_missing_argument():
    with pytest.raises(LaunchError) as caught:
        add[(1,)](aligned(4), aligned(4), BLOK=4)
    error = caught.value
    assert error.message == "add is missing 'n', 'BLOCK'"
    assert error.remedy == "did you mean BLOCK= instead of BLOK=?"
    assert error.location.file == __file__
    assert "add[(1,)](aligned(4), aligned(4), BLOK=4)" in error.location.source_line


def test_too_many_arguments():
    with pytest.raises(LaunchError, match=r"add takes 4 arguments, 5 were given"):
        add[(1,)](1, 2, 3, 4, 5)


def test_argument_given_twice():
    with pytest.raises(LaunchError, match="add is given 'x_ptr' twice"):
        add[(1,)](aligned(4), aligned(4), 4, 4, x_ptr=aligned(4))


def test_argument_of_a_wrong_class():
    with pytest.raises(LaunchError) as caught:
        add[(1,)](aligned(4), "x", 4, BLOCK=4)
    error = caught.value
    assert error.message == "argument 'y_ptr' of add: a builtins.str was passed to a kernel"
    assert error.location.file == __file__
    assert "NumPy" in error.remedy


def test_list_as_an_argument():
    with pytest.raises(LaunchError) as caught:
        add[(1,)](aligned(4), [1, 2], 4, BLOCK=4)
    assert caught.value.message == "argument 'y_ptr' of add: a list was passed to a kernel"
    assert (
        caught.value.remedy == "pass a tuple or a named tuple, whose length and types are part of the kernel"
    )


def test_variable_keywords_are_refused():
    @tri.jit
    def takes_any(x_ptr, **more):
        pass

    with pytest.raises(LaunchError, match=r"takes_any takes \*\*more; kernels have no variable keywords"):
        takes_any[(1,)](aligned(4))


def test_array_of_a_dtype_that_kernels_lack():
    with pytest.raises(LaunchError, match="argument 'x_ptr' of add: an array of dtype complex64"):
        add[(1,)](np.zeros(4, np.complex64), aligned(4), 4, BLOCK=4)


def test_integer_that_fits_nowhere():
    with pytest.raises(
        LaunchError, match=r"argument 'n' of add: 18446744073709551616 .* does not fit in 64 bits"
    ):
        add[(1,)](aligned(4), aligned(4), 2**64, BLOCK=4)


def test_unhashable_constexpr():
    with pytest.raises(LaunchError, match="argument 'BLOCK' of add: a constexpr argument is a dict"):
        add[(1,)](aligned(4), aligned(4), 4, BLOCK={})


def test_calling_a_kernel_without_a_grid():
    with pytest.raises(tri_error("TriError"), match="launched over a grid") as caught:
        add(1, 2, 3, 4)
    place = caught.value.location
    assert (place.file, place.source_line.strip()) == (__file__, "add(1, 2, 3, 4)")
    assert [frame.path.name for frame in caught.traceback] == ["test_launch.py"]


def test_calling_a_function_of_the_language_outside_of_a_kernel():
    with pytest.raises(tri_error("TriError"), match="load was called outside of a kernel") as caught:
        tl.load(1)
    assert [frame.path.name for frame in caught.traceback] == ["test_launch.py"]


# --- targets --------------------------------------------------------------------------------------------


def test_target_block_chooses(runtime):
    with tri.target("fake:odd") as target:
        built = add[(1,)](aligned(64), aligned(64, offset=16), 1, BLOCK=4)
        again = add[(2,)](aligned(64), aligned(64, offset=16), 1, BLOCK=4)
    assert str(target) == "fake:odd"
    assert str(built.metadata.target) == "fake:odd"
    # this target specializes on 64, and never on 1
    assert divisors(built.asm["ttir"]) == [64, None, None]
    assert list(signature(built)) == ["x_ptr", "y_ptr", "n"]
    assert again is built
    assert len(runtime.launches) == 2
    assert str(add[(1,)](aligned(64), aligned(64), 1, BLOCK=4).metadata.target) == "fake:one"


def test_unknown_target_names_near_ones():
    with pytest.raises(TargetError, match="unknown backend 'fak'") as caught, tri.target("fak"):
        pass
    assert caught.value.remedy == "did you mean fake?"


def test_host_arrays_are_staged_where_the_runtime_says_so(runtime):
    runtime.host_memory = "staged"
    x, y = aligned(64), aligned(32)
    x.flags.writeable = False
    add[(1,)](x, y, 32, BLOCK=4)
    assert runtime.launches[0][3] == (0xD000, 0xD001, 32)
    assert [(a.pointer, a.nbytes, a.writable) for a in runtime.staged_arrays] == [
        (x.ctypes.data, 256, False),
        (y.ctypes.data, 128, True),
    ]


def test_host_arrays_are_refused_where_the_runtime_says_so(runtime):
    runtime.host_memory = "refused"
    with pytest.raises(LaunchError) as caught:
        add[(1,)](aligned(4), aligned(4), 4, BLOCK=4)
    assert caught.value.message == "add got an array in host memory, which fake:one cannot read"
    assert caught.value.remedy == "move it to the fake device"
    assert caught.value.location.file == __file__


# --- observers and extensions ---------------------------------------------------------------------------


@pytest.fixture
def with_plugin():
    """Run with a plugin module made of hooks beside the fake backend."""
    import sys
    import types
    from contextlib import ExitStack

    from tri.launch import dispatcher
    from tri_core import plugins
    from tri_core.api import hookimpl
    from tri_core.plugins import PluginManager, candidate_of

    def giving(value):
        return lambda: value

    with ExitStack() as stack:

        def add(**hooks):
            module = types.ModuleType("tri_extra_plugin")
            module.TRI_PLUGIN_API = (1, 0)
            for name, value in hooks.items():
                setattr(module, name, hookimpl(giving(value)))
            stack.enter_context(
                plugins.use(
                    PluginManager([candidate_of(sys.modules["tri_fake_backend"]), candidate_of(module)])
                )
            )
            dispatcher.forget()

        yield add


def test_observers_hear_of_loads_and_launches(with_plugin, runtime):
    from tri_core.api import Observer

    heard = []
    listen = {
        n: (lambda facts, n=n: heard.append((n, facts)))
        for n in ("kernel_load", "launch_enter", "launch_exit")
    }
    with_plugin(tri_observers=[Observer(name="ear", **listen)])
    for _ in range(2):
        add[(3,)](aligned(4), aligned(4), 4, BLOCK=4)
    assert [n for n, _ in heard] == ["kernel_load", *["launch_enter", "launch_exit"] * 2]
    assert heard[1][1]["grid"] == (3, 1, 1)
    assert heard[0][1]["device"] == "fake:0"
    assert len(runtime.launches) == 2


def test_observers_are_given_device_times_to_wait_for(with_plugin, runtime, monkeypatch):
    from tri_core.api import Observer

    def timer(stream, work):
        work()
        return lambda: 0.5

    heard = []
    with_plugin(tri_observers=[Observer(name="ear", device_times=heard.append)])
    kernel = add[(3,)](aligned(4), aligned(4), 4, BLOCK=4)
    monkeypatch.setattr(runtime, "timer", timer, raising=False)
    kernel[(2,)](aligned(4), aligned(4), 4, 4)
    assert [facts["grid"] for facts in heard] == [(3, 1, 1), (2, 1, 1)]
    assert heard[0]["seconds"]() >= 0
    assert heard[1]["seconds"]() == 0.5
    assert heard[1]["target"].startswith("fake:")
    assert len(runtime.launches) == 2


def test_an_observer_that_raises_is_dropped(with_plugin, runtime):
    from tri_core.api import Observer
    from tri_core.notices import PluginWarning

    def fail(facts):
        raise RuntimeError("deaf")

    with_plugin(tri_observers=[Observer(name="ear", launch_enter=fail)])
    with pytest.warns(PluginWarning, match="observer 'ear' is dropped"):
        add[(1,)](aligned(4), aligned(4), 4, BLOCK=4)
    add[(1,)](aligned(4), aligned(4), 4, BLOCK=4)
    assert len(runtime.launches) == 2


def test_plugins_extend_the_language(with_plugin):
    from tri.language.builtin import builtin
    from tri_core.api import LanguageExtension

    @builtin
    def answer(*, _semantic):
        return _semantic.constant(42, tl.int32)

    with_plugin(tri_language=[LanguageExtension(namespace="mine", module="", builtins={"answer": answer})])

    @tri.jit
    def kernel(p):
        tl.store(p, tl.extra.mine.answer())

    assert "arith.constant 42" in kernel[(1,)](aligned(1, np.int32)).asm["ttir"]

    @tri.jit
    def wrong(p):
        tl.store(p, tl.extra.other.answer())

    with pytest.raises(tri_error("CompilationError"), match="no attribute 'other'"):
        wrong[(1,)](aligned(1, np.int32))


def test_adapters_of_plugins_read_arrays_on_devices(with_plugin, runtime):
    from tri_core.api import ArrayArgument, FrameworkAdapter

    class DeviceArray:
        __fake_array__ = True

        def __init__(self, pointer, index=0):
            self.pointer, self.index = pointer, index

    def describe(array):
        return ArrayArgument(array.pointer, "fp32", 256, runtime.devices()[array.index])

    adapter = FrameworkAdapter(
        name="fake arrays",
        module="nowhere",
        describe=describe,
        protocol="__fake_array__",
        current_stream=lambda i: 77,
    )
    with_plugin(tri_adapters=[adapter])
    kernel = add[(1,)](DeviceArray(0x1000, 1), DeviceArray(0x2004, 1), 32, BLOCK=4)
    assert runtime.launches == [("add", (1, 1, 1), 77, (0x1000, 0x2004, 32))]
    assert runtime.loads == ["add@1"]
    assert divisors(kernel.asm["ttir"]) == [16, None, 16]
    runtime.host_memory = "refused"
    with pytest.raises(LaunchError, match="got an array in host memory"):
        add[(1,)](DeviceArray(0x1000), aligned(4), 32, BLOCK=4)
    with pytest.raises(LaunchError, match="arrays on several devices: fake:0, fake:1"):
        add[(1,)](DeviceArray(0x1000), DeviceArray(0x1000, 1), 32, BLOCK=4)


def test_the_stream_is_that_of_the_adapter_that_knows_the_array(runtime, with_plugin):
    """Of two adapters that match a class, the first does not know this array: nor does its stream."""
    from tri_core.api import ArrayArgument, FrameworkAdapter

    class DeviceArray:
        __fake_array__ = True

        def __init__(self, pointer):
            self.pointer = pointer

    def describe(array):
        return ArrayArgument(array.pointer, "fp32", 256, runtime.devices()[0])

    def adapter(name, describe, stream):
        return FrameworkAdapter(
            name=name,
            module="",
            describe=describe,
            protocol="__fake_array__",
            current_stream=lambda i: stream,
        )

    with_plugin(
        tri_adapters=[adapter("other devices", lambda a: None, 55), adapter("own devices", describe, 66)]
    )
    add[(1,)](DeviceArray(0x1000), DeviceArray(0x2000), 32, BLOCK=32)
    assert [launch[2] for launch in runtime.launches] == [66]


def test_an_array_may_have_a_stream_of_its_own(runtime, with_plugin):
    from tri_core.api import ArrayArgument, FrameworkAdapter

    class DeviceArray:
        __fake_array__ = True

        def __init__(self, pointer, stream):
            self.pointer, self.stream = pointer, stream

    def describe(array):
        return ArrayArgument(array.pointer, "fp32", 256, runtime.devices()[0], stream=array.stream)

    adapter = FrameworkAdapter(
        name="queues", module="", describe=describe, protocol="__fake_array__", current_stream=lambda i: 5
    )
    with_plugin(tri_adapters=[adapter])
    for stream in (7, 8, None, 7):
        add[(1,)](DeviceArray(0x1000, stream), DeviceArray(0x2000, stream), 32, BLOCK=32)
    add[(1,)](describe(DeviceArray(0x1000, 9)), describe(DeviceArray(0x2000, 9)), 32, BLOCK=32)
    assert [launch[2] for launch in runtime.launches] == [7, 8, 5, 7, 9]
    with pytest.raises(LaunchError, match="streams of their own"):
        add[(1,)](DeviceArray(0x1000, 7), DeviceArray(0x2000, 8), 32, BLOCK=32)


def test_annotations_may_be_classes_of_the_language() -> None:
    def kernel(x, kind, n): ...

    kernel.__annotations__ = {"x": tl.pointer_type(tl.float32), "kind": tl.dtype, "n": tl.constexpr}
    parameters = tri.jit(kernel).params
    assert [p.annotation for p in parameters] == ["*float32", "dtype", "constexpr"]
    assert parameters[2].is_constexpr


# --- short messages ----------------------------------------------------------------------------------------


@tri.jit
def first(p, C: tl.constexpr):
    tl.store(p, C[0])


@tri.jit
def beside(p, a):
    tl.store(p, 1.0)


def deep(levels: int) -> Any:
    found: Any = (1,)
    for _ in range(levels):
        found = (found,)
    return found


@pytest.mark.parametrize(
    ("kernel", "value"),
    [
        (first, deep(300)),
        (first, (list(range(10000)),)),
        (beside, [1] * 10000),
        (beside, np.longdouble(1)),
        (beside, np.clongdouble(1)),
        (first, (np.longdouble(1),)),
    ],
    ids=["nested", "constants", "list", "longdouble", "clongdouble", "constant"],
)
def test_messages_are_short(kernel: Any, value: Any) -> None:
    with pytest.raises(TriError) as refused:
        kernel[(1,)](aligned(8), value)
    assert len(str(refused.value)) < 500
    assert "recursion" not in str(refused.value)
