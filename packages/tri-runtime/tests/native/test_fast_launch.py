"""Compiled launches with a driver and a library of arrays made of Python functions."""

from __future__ import annotations

import ctypes
import gc
import struct
import threading
import weakref
from contextvars import ContextVar
from types import CellType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.api import HiddenNumbers, LaunchPlan, Parameter, Probe
from tri_runtime.native import (
    AnyItem,
    ArrayItem,
    BoolItem,
    Call,
    Captured,
    ConstantItem,
    EmptyList,
    Entry,
    FastLaunches,
    FloatItem,
    IntItem,
    LaunchEntry,
    Part,
    PartsItem,
    Pattern,
    Variable,
    available,
    exchange_of,
    table_of,
)
from tri_runtime.native.layouts import CONFIG, TENSOR

pytestmark = pytest.mark.skipif(not available(), reason="no compiled launches here")


class Array:
    """What the exchange API below reads."""

    def __init__(self, address=1 << 40, dtype=0x12002, device=2, refuses=False):
        self.address, self.dtype, self.device, self.refuses = address, dtype, device, refuses


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
def read(array, out):
    if array.refuses:
        return -1
    found = TENSOR.structure.from_address(out)
    found.data, found.byte_offset = array.address - 8, 8
    found.device, found.dtype, found.ndim = array.device, array.dtype, 1
    return 0


current = [0]


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
def current_stream(kind, index, out):
    ctypes.c_uint64.from_address(out).value = current[0] + kind + 1000 * index
    return 0


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def capsule():
    table = struct.pack("@2I6P", 1, 3, 0, 0, 0, 0, address_of(read), address_of(current_stream))
    kept.append(ctypes.create_string_buffer(table, len(table)))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(ctypes.addressof(kept[-1]), b"dlpack_exchange_api", None)


kept: list[object] = []
Array.__dlpack_c_exchange_api__ = capsule()
EXCHANGE = exchange_of(Array)
ANY = (False, False, False)


class Driver:
    """Remembers launches: grid, block, shared memory, stream, attributes, and the bytes of parameters of ``sizes``."""

    def __init__(self, *sizes):
        self.sizes, self.launches, self.status = sizes, [], 0
        self.entry = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(self.start)

    def start(self, config, function, parameters, extra):
        words = tuple(CONFIG.unpack(ctypes.string_at(config, CONFIG.size)).values())
        places = (ctypes.c_void_p * len(self.sizes)).from_address(parameters)
        data = tuple(ctypes.string_at(p, n) for p, n in zip(places, self.sizes, strict=True))
        self.launches.append((words, function, data))
        return self.status


def plan_of(driver, types, **given):
    parameters = tuple(Parameter(f"p{i}", t) for i, t in enumerate(types))
    given = {"numbers": lambda stream: HiddenNumbers(), **given}
    return LaunchPlan(
        name="k", start=address_of(driver.entry), function=77, threads=128, shared=512, parameters=parameters, keep=(driver,), **given
    )  # fmt: skip


def launches_of(
    plan, items, arguments, names=None, keywords=0, conditions=(), numbers=None, defaults=None, others=()
):
    """A callable, and the list of calls that it leaves to Python."""
    left = []

    def otherwise(*args, **kwargs):
        left.append((args, kwargs))
        return "otherwise"

    launches = FastLaunches(otherwise)
    names = names or [f"a{i}" for i in range(len(items))]
    for found in (numbers or HiddenNumbers(), *others):
        launches.add(
            Call(
                plan,
                Pattern(
                    items, names, keywords, conditions, arguments, found, EXCHANGE, 2, "done", defaults or {}
                ),
            )
        )
    return launches, left


def test_a_launch_hands_over_everything():
    driver = Driver(8, 4)
    launches, left = launches_of(
        plan_of(driver, ["*fp32", "i32"]), (array_item(0), IntItem.like(5, 8, 4, ANY)), [0, 5]
    )
    current[0] = 40
    assert launches.call((3, 2), Array(1 << 33), -9) == "done"
    current[0] = 0
    ((words, function, data),) = driver.launches
    assert words == (3, 2, 1, 128, 1, 1, 512, 42, 0, 0)
    assert function == 77
    assert data == (struct.pack("Q", 1 << 33), struct.pack("i", -9))
    assert not left


def array_item(offset, **changed):
    wanted = {"device": 2, "dtype": 0x12002, "mask": 15, "aligned": True, **changed}
    return ArrayItem(offset, Array, EXCHANGE, **wanted)


RANGES = {
    "i8": (1, True),
    "i16": (2, True),
    "i32": (4, True),
    "i64": (8, True),
    "u8": (1, False),
    "u32": (4, False),
}
scalars = st.lists(st.sampled_from([*RANGES, "fp32", "fp64", "u1"]), min_size=1, max_size=40).flatmap(
    lambda types: st.tuples(st.just(types), st.tuples(*[value_of(t) for t in types]))
)


def value_of(type_):
    if type_ == "u1":
        return st.booleans()
    if type_.startswith("fp"):
        return st.floats(width=32 if type_ == "fp32" else 64, allow_nan=False)
    size, signed = RANGES[type_]
    low = -(1 << (8 * size - 1)) if signed else 0
    return st.integers(low, low + (1 << 8 * size) - 1)


@settings(max_examples=60, deadline=None)
@given(scalars)
def test_parameters_are_those_of_the_table(given):
    types, values = given
    sizes = [1 if t == "u1" else int(t[2:]) // 8 if t[0] == "f" else RANGES[t][0] for t in types]
    driver = Driver(*sizes)
    plan = plan_of(driver, types)
    offsets = table_of(plan).offsets
    items = tuple(
        BoolItem(o)
        if t == "u1"
        else FloatItem(o, s)
        if t[0] == "f"
        else IntItem.like(v, o, s, ANY, RANGES[t][1])
        for t, o, s, v in zip(types, offsets, sizes, values, strict=True)
    )
    launches, left = launches_of(plan, items, [type(v)(0) for v in values])
    launches.call((1,), *values)
    expected = ctypes.create_string_buffer(table_of(plan).size)
    table_of(plan).pack_into(expected, values)
    assert not left
    assert driver.launches[0][2] == tuple(
        expected.raw[o : o + s] for o, s in zip(offsets, sizes, strict=True)
    )


@settings(max_examples=200, deadline=None)
@given(
    st.integers(-(1 << 66), 1 << 66),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.tuples(*[st.booleans()] * 3),
    st.sampled_from(sorted(RANGES)),
)
def test_ints_fit_where_they_look_alike(value, like, care, type_):
    size, signed = RANGES[type_]
    driver = Driver(size)
    launches, left = launches_of(plan_of(driver, [type_]), (IntItem.like(like, 0, size, care, signed),), [0])
    looks = [(n == 1, -(1 << 31) <= n < 1 << 31, n % 16 == 0) for n in (value, like)]
    low = -(1 << (8 * size - 1)) if signed else 0
    alike = all(a == b for a, b, c in zip(*looks, care, strict=True) if c)
    launches.call((1,), value)
    assert (not left) == (alike and low <= value <= min(low + (1 << 8 * size) - 1, (1 << 63) - 1))


MISFITS = [
    (array_item(0), [Array(8 + (1 << 40)), Array(dtype=0x14002), Array(device=2 + (1 << 32)), Array(refuses=True), object(), None]),
    (array_item(0, aligned=False), [Array()]),
    (array_item(0, named=("address", 1 << 40)), [Array(1 << 41)]),
    (IntItem.like(5, 0, 4, ANY), [True, 5.0, "5", 1 << 31]),
    (FloatItem(0, 8), [1, True]),
    (BoolItem(0), [1, None]),
    (ConstantItem(5), [6, 5.0, True, 1 << 80]),
    (ConstantItem(0.0), [-0.0, 0]),
    (ConstantItem("a"), ["b", b"a", None]),
    (ConstantItem(None), [0]),
]  # fmt: skip


@pytest.mark.parametrize(("item", "values"), MISFITS)
def test_what_does_not_fit_is_left_to_python(item, values):
    driver = Driver(8)
    launches, left = launches_of(plan_of(driver, ["i64"]), (item,), [0])
    for value in values:
        assert launches.call((1,), value) == "otherwise"
        assert left[-1] == (((1,), value), {})
    assert not driver.launches


def test_constants_are_equal_not_the_same():
    launches, left = launches_of(plan_of(Driver(), []), tuple(map(ConstantItem, (1000, 0.5, "ab", None))), [])
    assert launches.call((1,), int("1000"), float("0.5"), "".join("ab"), None) == "done"
    assert not left


class Thing:
    """An object with parts."""

    def __init__(self, array, sizes, word="a"):
        self.array, self.sizes, self.word = array, sizes, word


def test_parts():
    sizes = (IntItem.like(16, 8, 4, (False, False, True)), AnyItem())
    parts = (
        Part("array", None, (array_item(0),)),
        Part("sizes", list, sizes),
        Part("word", None, (ConstantItem("a"),)),
    )
    driver = Driver(8, 4)
    launches, left = launches_of(plan_of(driver, ["*fp32", "i32"]), (PartsItem(Thing, parts),), [0, 16])
    assert launches.call((1,), Thing(Array(1 << 34), [32, "anything"])) == "done"
    assert driver.launches[0][2] == (struct.pack("Q", 1 << 34), struct.pack("i", 32))
    for other in (
        Thing(Array(8), [32, 1]),
        Thing(Array(), [33, 1]),
        Thing(Array(), (32, 1)),
        Thing(Array(), [32]),
        Thing(Array(), [32, 1], "b"),
        Array(),
    ):
        assert launches.call((1,), other) == "otherwise"
    del other
    broken = Thing(Array(), [32, 1])
    del broken.sizes
    assert launches.call((1,), broken) == "otherwise"
    assert len(left) == 7


def test_keywords_have_their_order():
    driver = Driver(4, 4)
    items = IntItem.like(2, 0, 4, ANY), IntItem.like(2, 4, 4, ANY)
    launches, left = launches_of(
        plan_of(driver, ["i32", "i32"]), items, [2, 2], names=["first", "second"], keywords=1
    )
    assert launches.call((1,), 3, second=4) == "done"
    for call in (
        lambda: launches.call((1,), 3, 4),
        lambda: launches.call((1,), 3, third=4),
        lambda: launches.call((1,), first=3, second=4),
    ):
        assert call() == "otherwise"
    assert left[-1] == (((1,),), {"first": 3, "second": 4})
    assert launches.call() == "otherwise"


GRIDS = [((4,), (4, 1, 1)), ((4, 5, 6), (4, 5, 6)), (lambda given: (given["x"], given["n"]), (7, 2, 1))]


@pytest.mark.parametrize(("grid", "expected"), GRIDS)
def test_grids(grid, expected):
    driver = Driver(4)
    launches, _ = launches_of(
        plan_of(driver, ["i32"]), (IntItem.like(3, 0, 4, ANY),), [3], names=["n"], defaults={"x": 7}
    )
    assert launches.call(grid, 2) == "done"
    assert driver.launches[0][0][:3] == expected


@pytest.mark.parametrize(
    "grid", [(), (1,) * 4, (-1,), (1.0,), (True,), [1], 1, "x", (1 << 31,), (1, 1 << 16), lambda given: [5]]
)
def test_grids_that_python_looks_at(grid):
    driver = Driver()
    launches, left = launches_of(plan_of(driver, []), (), [])
    assert launches.call(grid) == "otherwise"
    assert left[0][0] == ([5] if callable(grid) else grid,)
    assert not driver.launches


def test_a_grid_that_fails():
    launches, left = launches_of(plan_of(Driver(), []), (), [])
    assert launches.call(lambda given: given["missing"]) == "otherwise"  # which says whose grid it is
    assert len(left) == 1

    def interrupted(given):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        launches.call(interrupted)
    assert len(left) == 1


def test_conditions():
    hooks, names, variable = [], {"n": 5}, ContextVar("v", default=None)
    conditions = EmptyList(hooks), Entry(names, "n", names["n"]), Variable(variable, None)
    launches, left = launches_of(plan_of(Driver(), []), (), [], conditions=conditions)
    assert launches.call((1,)) == "done"
    hooks.append(1)
    assert launches.call((1,)) == "otherwise"
    hooks.clear()
    names["n"] = 6
    assert launches.call((1,)) == "otherwise"
    del names["n"]
    assert launches.call((1,)) == "otherwise"
    names["n"] = 5
    token = variable.set("x")
    assert launches.call((1,)) == "otherwise"
    variable.reset(token)
    assert launches.call((1,)) == "done"
    assert len(left) == 4


def test_variables_of_enclosing_functions():
    cell = CellType("a")
    conditions = [Captured(cell, cell.cell_contents)]
    launches, left = launches_of(plan_of(Driver(), []), (), [], conditions=conditions)
    assert launches.call((1,)) == "done"
    cell.cell_contents = "b"
    assert launches.call((1,)) == "otherwise"
    del cell.cell_contents
    assert launches.call((1,)) == "otherwise"
    cell.cell_contents = "a"
    assert launches.call((1,)) == "done"
    assert len(left) == 2


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def which(stream, out):
    ctypes.c_uint64.from_address(out).value = (stream or 0) * 10
    return 0


def test_numbers_of_streams():
    driver = Driver(8)
    first, second = (
        HiddenNumbers((n,), (Probe(address_of(which), 10 * s),)) for n, s in ((500, 2), (600, 3))
    )
    launches, left = launches_of(plan_of(driver, ["i64"]), (), [], numbers=first, others=(second,))
    for stream in (0, 1, 0):
        current[0] = stream
        assert launches.call((1,)) == "done"
    current[0] = 5
    assert launches.call((1,)) == "otherwise"
    current[0] = 0
    assert [data for _, _, (data,) in driver.launches] == [struct.pack("q", n) for n in (500, 600, 500)]
    assert len(left) == 1


def test_persistent_kernels_and_limits():
    driver = Driver(4, 4, 4)
    launches, _ = launches_of(plan_of(driver, ["i32"] * 3, resident=10), (), [])
    launches.call((4, 2))
    launches.call((4, 5))
    assert [words[:3] for words, *_ in driver.launches] == [(8, 1, 1), (10, 1, 1)]
    assert driver.launches[1][2] == tuple(struct.pack("i", n) for n in (4, 5, 1))
    assert launches.call((1 << 16, 1 << 15)) == "otherwise"
    launches, _ = launches_of(plan_of(driver, ["i32"] * 3, cluster=4, most_ctas=16), (), [0] * 3)
    assert launches.call((2, 2)) == "done"
    assert driver.launches[-1][0][:3] == (8, 2, 1)
    assert launches.call((2, 3)) == "otherwise"
    assert launches.call((0, 3)) == "done"
    assert len(driver.launches) == 3


def test_what_the_driver_refuses_is_done_again():
    driver, reported = Driver(), []
    launches, left = launches_of(plan_of(driver, [], note=reported.append), (), [])
    driver.status = 5
    assert launches.call((1,)) == "otherwise"
    assert (len(driver.launches), len(left), reported) == (1, 1, ["k"])


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def context(out):
    ctypes.c_uint64.from_address(out).value = 1234
    return 0


@pytest.mark.parametrize(("wanted", "result"), [(1234, "done"), (4321, "otherwise")])
def test_contexts(wanted, result):
    launches, _ = launches_of(plan_of(Driver(), [], context=(address_of(context), wanted)), (), [])
    assert launches.call((1,)) == result


def test_descriptors_are_encoded_when_arguments_change():
    driver, seen = Driver(4, 128, 128), []

    def encode(values):
        seen.append(values)
        if values[0] == 13:
            raise ValueError
        return [bytes([values[0]]) * 128, bytes([values[0] + 1]) * 128]

    plan = plan_of(driver, ["i32"], descriptors=2, encode=encode)
    launches, left = launches_of(plan, (IntItem.like(3, 0, 4, ANY),), [3])
    for n in (3, 3, 5, 5, 3):
        assert launches.call((1,), n) == "done"
        assert driver.launches[-1][2][1:] == (bytes([n]) * 128, bytes([n + 1]) * 128)
    assert seen == [(3,), (5,), (3,)]
    assert launches.call((1,), 13) == "otherwise"
    assert len(left) == 1


def test_the_right_one_of_many():
    driver = Driver(4)
    plan = plan_of(driver, ["i32"])
    launches, left = launches_of(plan, (IntItem.like(3, 0, 4, ANY), ConstantItem(0)), [3])
    for c in range(1, 40):
        items = IntItem.like(3, 0, 4, ANY), ConstantItem(c)
        launches.add(Call(plan, Pattern(items, ["n", "c"], 0, (), [3], HiddenNumbers(), EXCHANGE, 2, c, {})))
    for _ in range(3):
        for c in (39, 7, 39, 1, 39, 20):
            assert launches.call((1,), c, c) == c
            assert driver.launches[-1][2] == (struct.pack("i", c),)
    assert launches.call((1,), 5, 0) == "done"
    assert launches.call((1,), 5, 40) == "otherwise"
    assert len(left) == 1


def test_a_record_that_is_forgotten_in_use():
    driver = Driver(4)
    launches, left = launches_of(plan_of(driver, ["i32"]), (IntItem.like(3, 0, 4, ANY),), [3])

    def forget(given):
        launches.clear()
        gc.collect()
        return (2,)

    assert launches.call(forget, 9) == "done"
    assert driver.launches[0][2] == (struct.pack("i", 9),)
    assert launches.call((1,), 9) == "otherwise"
    assert len(left) == 1


def test_records_change_while_threads_launch():
    driver = Driver(4)
    plan, item = plan_of(driver, ["i32"]), IntItem.like(3, 0, 4, ANY)
    launches, left = launches_of(plan, (item,), [3])
    pattern = Pattern((item,), ["n"], 0, (), [3], HiddenNumbers(), EXCHANGE, 2, "done", {})
    done = []

    def launch():
        done.extend(launches.call((1,), n) for n in range(2000))

    threads = [threading.Thread(target=launch) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        launches.clear()
        for _ in range(3):
            launches.add(Call(plan, pattern))
    for thread in threads:
        thread.join()
    assert len(done) == 6000
    assert done.count("done") == len(driver.launches)
    assert done.count("otherwise") == len(left)


def test_nothing_is_kept_for_ever():
    driver = Driver(4)
    launches, _ = launches_of(plan_of(driver, ["i32"]), (IntItem.like(3, 0, 4, ANY),), [3])
    call, gone = launches.call, weakref.ref(launches)
    del launches
    gc.collect()
    assert call((1,), 5) == "done", "the callable is enough"
    del call
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("change", [{"major": 2}, {"read": 0}, {"stream": 0}])
def test_other_versions_of_the_exchange_api(change):
    class Other:
        pass

    given = {"major": 1, "read": address_of(read), "stream": address_of(current_stream), **change}
    table = struct.pack("@2I6P", given["major"], 0, 0, 0, 0, 0, given["read"], given["stream"])
    kept.append(ctypes.create_string_buffer(table, len(table)))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    Other.__dlpack_c_exchange_api__ = make(ctypes.addressof(kept[-1]), b"dlpack_exchange_api", None)
    assert exchange_of(Other) is None
    assert exchange_of(int) is None


# --- a compiled kernel's run ---------------------------------------------------------------------------------


def compiled_launches(driver, numbers=None):
    """``run`` of a kernel of an array and an i32, and the launches that it leaves to Python."""
    left = []
    plan = plan_of(driver, ["*fp32", "i32"])
    items = array_item(0), IntItem.like(5, 8, 4, ANY), AnyItem()
    launches = FastLaunches(lambda *args: left.append(args), LaunchEntry.COMPILED)
    given = numbers or HiddenNumbers()
    launches.add(Call(plan, Pattern(items, [""] * 3, 0, (), [0, 5], given, EXCHANGE, 2, None, {})))
    return launches, left


@pytest.mark.parametrize(("stream", "seen"), [(0, 42), (None, 42), (7, 7)])
def test_a_compiled_kernel_is_launched_on_the_stream_that_is_named(stream, seen):
    driver = Driver(8, 4)
    launches, left = compiled_launches(driver)
    current[0] = 40
    assert (
        launches.call(3, 2, 1, stream, "function", "packed", "facts", None, None, Array(1 << 33), -9, 64)
        is None
    )
    current[0] = 0
    ((words, function, data),) = driver.launches
    assert words == (3, 2, 1, 128, 1, 1, 512, seen, 0, 0)
    assert (function, data) == (77, (struct.pack("Q", 1 << 33), struct.pack("i", -9)))
    launches.call(3, 0, 1, stream, None, None, None, None, None, Array(), 1, 64)
    assert len(driver.launches) == 1, "nothing is launched for an empty grid"
    assert not left


HEAD = (1, 1, 1, 0, None, None, None, None, None)
REST = (Array(), 5, 64)
LEFT = [
    HEAD[:8],
    (*HEAD, Array(), 5),
    (*HEAD, Array(), 5, 64, 64),
    (*HEAD, Array(8 + (1 << 40)), 5, 64),
    (*HEAD, Array(), 5.0, 64),
    *((*HEAD[:i], print, *HEAD[i + 1 :], *REST) for i in (7, 8)),
    *((*HEAD[:i], extent, *HEAD[i + 1 :], *REST) for i in range(3) for extent in (-1, 1 << 31, 1.0, None)),
    *((*HEAD[:3], stream, *HEAD[4:], *REST) for stream in ("s", True, 1 << 64)),
]


@pytest.mark.parametrize("given", LEFT)
def test_what_a_compiled_kernel_leaves_to_python(given):
    driver = Driver(8, 4)
    launches, left = compiled_launches(driver)
    launches.call(*given)
    assert left == [given]
    assert not driver.launches


def test_a_named_stream_is_probed():
    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)
    def identity(stream, out):
        ctypes.c_uint64.from_address(out).value = stream
        return 0

    driver = Driver(8, 4)
    launches, left = compiled_launches(driver, HiddenNumbers((), (Probe(address_of(identity), 7),)))
    for stream in (7, 8):
        launches.call(*HEAD[:3], stream, *HEAD[4:], *REST)
    assert len(driver.launches) == len(left) == 1
