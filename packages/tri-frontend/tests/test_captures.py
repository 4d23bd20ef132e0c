"""What a kernel captures decides which kernel it is: a launch after a change compiles another, with another key."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl

SOURCE = """
import dataclasses
import enum
import types


SCALE = tl.constexpr(3)
DTYPE = tl.int32
OTHER = types.ModuleType("other")
OTHER.N = 3
FUNCTION = tl.minimum
PAIR = (tl.constexpr(3), tl.constexpr(4))
TABLE = {"n": 3}


class Config:
    N = 3


class Mode(enum.Enum):
    LOW = 3


@dataclasses.dataclass
class Sizes:
    n: int = 3


SIZES = tl.constexpr(Sizes())


def plain():
    return TABLE["n"] + Config.N + OTHER.N


@tri.constexpr_function
def number():
    return plain()


@tri.constexpr_function
def looked_up(name):
    return TABLE[name]


def make(value):
    @tri.constexpr_function
    def of_cell():
        return value

    @tri.jit
    def inner(x, S: tl.constexpr = value):
        return x * value * S

    @tri.jit
    def from_cell(out):
        tl.store(out, value)

    @tri.jit
    def through_inner(out):
        tl.store(out, inner(1))

    @tri.jit
    def through_function(out):
        tl.store(out, of_cell())

    def assign(new):
        nonlocal value
        value = new

    return from_cell, through_inner, through_function, assign


@tri.jit
def scaled(x):
    return x * SCALE


@tri.jit
def with_global(out):
    tl.store(out, SCALE)


@tri.jit
def with_dtype(out):
    tl.store(out, tl.full((), 7, DTYPE).dtype.primitive_bitwidth)


@tri.jit
def with_class(out):
    tl.store(out, Config.N)


@tri.jit
def with_module(out):
    tl.store(out, OTHER.N)


@tri.jit
def with_function(out):
    tl.store(out, FUNCTION(3, 4))


@tri.jit
def with_tuple(out):
    tl.store(out, PAIR[0])


@tri.jit
def with_object(out):
    tl.store(out, SIZES.n)


@tri.jit
def with_function_of_globals(out):
    tl.store(out, number())


@tri.jit
def with_table(out):
    tl.store(out, looked_up("n"))


@tri.jit
def with_argument(out, F: tl.constexpr):
    tl.store(out, F(1))


@tri.jit
def with_default(x, S: tl.constexpr = Config.N):
    return x * S


@tri.jit
def calls_default(out):
    tl.store(out, with_default(1))
"""


def launched(kernel: Any, *args: Any) -> int:
    out = np.zeros(1, np.int32)
    kernel[(1,)](out, *args)
    return int(out[0])


def _set(owner: str, name: str, value: Any) -> Callable[[ModuleType], None]:
    def change(module: ModuleType) -> None:
        setattr(getattr(module, owner) if owner else module, name, value)

    return change


#: kernel, what changes, what it stores before and after
CHANGES: dict[str, tuple[str, Callable[[ModuleType], object], int, int]] = {
    "a global": ("with_global", _set("", "SCALE", tl.constexpr(5)), 3, 5),
    "a dtype": ("with_dtype", _set("", "DTYPE", tl.int64), 32, 64),
    "an attribute of a class": ("with_class", _set("Config", "N", 5), 3, 5),
    "an attribute of a module": ("with_module", _set("OTHER", "N", 5), 3, 5),
    "a function of the language": ("with_function", _set("", "FUNCTION", tl.maximum), 3, 4),
    "a tuple": ("with_tuple", _set("", "PAIR", (tl.constexpr(5),)), 3, 5),
    "an attribute of an object": ("with_object", lambda m: setattr(m.SIZES.value, "n", 5), 3, 5),
    "an item of a dictionary": ("with_table", lambda m: m.TABLE.update(n=5), 3, 5),
    "what a plain function reads": ("with_function_of_globals", lambda m: m.TABLE.update(n=5), 9, 11),
    "a class that a plain function reads": ("with_function_of_globals", _set("Config", "N", 5), 9, 11),
    "a module that a plain function reads": ("with_function_of_globals", _set("OTHER", "N", 5), 9, 11),
}


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_makes_another_kernel(what: str, kernel_file: Callable[[str], ModuleType]) -> None:
    module = kernel_file(SOURCE)
    name, change, before, after = CHANGES[what]
    kernel = getattr(module, name)
    assert [launched(kernel), launched(kernel)] == [before, before]
    key = kernel.cache_key
    change(module)
    assert [launched(kernel), launched(kernel)] == [after, after]
    assert kernel.cache_key != key


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("which", [0, 1, 2], ids=["its own", "a callee's", "a constexpr function's"])
def test_a_variable_of_an_enclosing_function(which: int, kernel_file: Callable[[str], ModuleType]) -> None:
    made = kernel_file(SOURCE).make(tl.constexpr(3))
    kernel, assign = made[which], made[3]
    key, first = kernel.cache_key, launched(kernel)
    assign(tl.constexpr(5))
    assert first == (9 if which == 1 else 3)
    assert launched(kernel) == (15 if which == 1 else 5)  # defaults are those of the definition
    assert kernel.cache_key != key


@pytest.mark.usefixtures("cpu")
def test_what_a_function_among_the_arguments_reads(kernel_file: Callable[[str], ModuleType]) -> None:
    module = kernel_file(SOURCE)
    assert launched(module.with_argument, module.scaled) == 3
    module.SCALE = tl.constexpr(5)
    assert launched(module.with_argument, module.scaled) == 5


def test_a_default_of_a_function_is_part_of_the_key(kernel_file: Callable[[str], ModuleType]) -> None:
    keys = []
    for text in (SOURCE, SOURCE.replace("class Config:\n    N = 3", "class Config:\n    N = 4")):
        module = kernel_file(text)
        module.with_default.fn.__module__ = module.with_default.__module__ = "kernels"
        module.calls_default.fn.__module__ = module.calls_default.__module__ = "kernels"
        keys.append(module.calls_default.cache_key)
    assert keys[0] != keys[1]


def test_constexprs_do_not_change_in_place() -> None:
    size = tl.constexpr(3)
    with pytest.raises(AttributeError, match="a constexpr does not change"):
        size.value = 4
    assert size.value == 3


@pytest.mark.usefixtures("cpu")
def test_nothing_is_compiled_again_without_a_change(kernel_file: Callable[[str], ModuleType]) -> None:
    module = kernel_file(SOURCE)
    made = module.make(tl.constexpr(3))
    for kernel in (*made[:3], module.with_table, module.with_object, module.with_function_of_globals):
        launched(kernel)
        with tri.no_compile():
            launched(kernel)
