"""Launches that are wrong: the same error compiled for a CPU, interpreted, and in a simulator, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from integration.kernels.launched import assembled, inc, narrow, pairs, pointers
from tri_core.errors import ArgumentError, LaunchError, OptionError, TriError, Unsupported


class Null:
    """Array whose memory is at 0."""

    dtype, shape, device = tl.float32, (8,), None

    def data_ptr(self) -> int:
        return 0

    def stride(self) -> tuple[int, ...]:
        return (1,)


def array() -> Any:
    return np.zeros(8, np.float32)


@dataclass(frozen=True)
class Launch:
    """A launch of ``kernel`` over ``grid``, that raises ``error`` with ``text`` in it; ``args`` makes the arguments after the array."""

    error: type[TriError]
    text: str
    grid: Any = (1,)
    args: tuple[Any, ...] = (8,)
    kwargs: dict[str, Any] = field(default_factory=dict)
    kernel: Any = inc
    array: Callable[[], Any] = array


def _raises(given: Any) -> Any:
    return 1 // 0


LAUNCHES = {
    # keywords
    "a constant misspelt": Launch(OptionError, "did you mean B", kwargs={"BB": 4}),
    "a constant in small letters": Launch(OptionError, "'b' is neither", kwargs={"b": 16}),
    "an option misspelt": Launch(OptionError, "num_warps", kwargs={"num_warp": 4}),
    "an unknown option": Launch(OptionError, "'no_such_option' is neither", kwargs={"no_such_option": 1}),
    "a keyword beside another that is right": Launch(
        OptionError, "num_stages", kwargs={"num_warps": 2, "num_stage": 2}
    ),
    "an argument twice": Launch(ArgumentError, "'n' twice", kwargs={"n": 3}),
    "an argument missing": Launch(ArgumentError, "missing 'n'", args=()),
    "an argument missing, and one misspelt": Launch(ArgumentError, "missing 'n'", args=(), kwargs={"m": 8}),
    "too many arguments": Launch(ArgumentError, "takes 3 arguments, 5 were given", args=(8, 8, 8, 8)),
    # grids
    "a grid of 2**31": Launch(LaunchError, "x extent", grid=(2**31,)),
    "a grid of 2**31 along y": Launch(LaunchError, "y extent", grid=(1, 2**31)),
    "a grid of 2**31 along z": Launch(LaunchError, "z extent", grid=(1, 1, 2**31)),
    "a grid of 2**64": Launch(LaunchError, "x extent", grid=2**64),
    "a negative grid": Launch(LaunchError, "the grid of inc is", grid=(-1,)),
    "a grid negative along z": Launch(LaunchError, "the grid of inc is", grid=(1, 1, -1)),
    "a grid of four": Launch(LaunchError, "the grid of inc is", grid=(1, 1, 1, 1)),
    "a grid of none": Launch(LaunchError, "the grid of inc is", grid=()),
    "a grid of text": Launch(LaunchError, "the grid of inc is", grid="1"),
    "a grid of floats": Launch(LaunchError, "the grid of inc is", grid=(1.0,)),
    "a grid of numbers in a tuple": Launch(LaunchError, "the grid of inc is", grid=((1, 1),)),
    "a grid of an array": Launch(LaunchError, "the grid of inc is", grid=(np.zeros(2),)),
    "a grid's function that raises": Launch(LaunchError, "raised ZeroDivisionError", grid=_raises),
    "a grid's function that gives floats": Launch(
        LaunchError, "the grid of inc is", grid=lambda given: (1.5,)
    ),
    "a grid's function without parameters": Launch(LaunchError, "raised TypeError", grid=lambda: (1,)),
    # options
    "three warps": Launch(OptionError, "num_warps is 3", kwargs={"num_warps": 3}),
    "no warps": Launch(OptionError, "num_warps is 0", kwargs={"num_warps": 0}),
    "warps in words": Launch(OptionError, "num_warps is '4'", kwargs={"num_warps": "4"}),
    "stages of less than none": Launch(OptionError, "num_stages is -1", kwargs={"num_stages": -1}),
    "an option in a list": Launch(OptionError, "option debug is", kwargs={"debug": [1]}),
    # arguments
    "a number for a pointer": Launch(ArgumentError, "passed for a pointer", kernel=pointers, array=lambda: 3),
    "a list": Launch(ArgumentError, "a list was passed", array=lambda: [1.0] * 8),
    "text": Launch(ArgumentError, "builtins.str was passed", args=("8",)),
    "an object": Launch(ArgumentError, "builtins.object was passed", args=(object(),)),
    "an array of text": Launch(LaunchError, "dtype", array=lambda: np.array(["a"])),
    "an array of complex numbers": Launch(LaunchError, "complex", array=lambda: np.zeros(8, np.complex64)),
    "a masked array": Launch(
        ArgumentError, "masked array", array=lambda: np.ma.masked_array(array(), [True] * 8)
    ),
    "a null pointer": Launch(LaunchError, "null", array=Null),
    "a number of more than 64 bits": Launch(LaunchError, "64 bits", args=(1 << 64,)),
    "a number beyond its type": Launch(LaunchError, "n = 300", kernel=narrow, args=(300,)),
    "a number below its type": Launch(LaunchError, "n = -129", kernel=narrow, args=(-129,)),
    "a float for an integer": Launch(LaunchError, "n = 1.5", kernel=narrow, args=(1.5,)),
    "an object in a tuple": Launch(ArgumentError, "object was passed", kernel=pairs, args=((1, object()),)),
    "a constant that cannot be hashed": Launch(ArgumentError, "cannot be hashed", args=(8, {"a": []})),
}
TARGETS = ("cpu", "sim:nvidia:sm_90a")


@pytest.fixture(params=TARGETS)
def target(request: Any) -> Iterator[str]:
    with tri.target(request.param):
        yield request.param


def refusal(launch: Launch, x: Any) -> tuple[type, str]:
    """The type and the message of what the launch raises."""
    with pytest.raises(TriError) as refused:
        launch.kernel[launch.grid](x, *launch.args, **launch.kwargs)
    return type(refused.value), refused.value.message


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_bad_launch_is_refused_in_the_same_words_compiled_and_interpreted(name: str, target: str) -> None:
    launch = LAUNCHES[name]
    x = launch.array()
    compiled = refusal(launch, x)
    with tri.interpret():
        assert refusal(launch, x) == compiled
    assert issubclass(compiled[0], launch.error)
    with pytest.raises(TriError) as refused:
        launch.kernel[launch.grid](x, *launch.args, **launch.kwargs)
    assert launch.text in str(refused.value)
    if isinstance(x, np.ndarray) and x.dtype == np.float32:
        assert not np.asarray(x).any()


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_bad_launch_is_refused_by_the_interpreter_without_a_target(name: str) -> None:
    launch = LAUNCHES[name]
    x = launch.array()
    with tri.interpret():
        error, _ = refusal(launch, x)
    assert issubclass(error, launch.error)
    if isinstance(x, np.ndarray) and x.dtype == np.float32:
        assert not np.asarray(x).any()


# --- options that ask for nothing ---------------------------------------------------------------------------

IDLE: tuple[dict[str, Any], ...] = (
    {"launch_cooperative_grid": False},
    {"launch_cooperative_grid": None},
    {"launch_pdl": False},
    {"maxnreg": None},
    {"matrix_instr_nonkdim": 0, "waves_per_eu": 0},
    {"grf_mode": "default"},
    {"instrumentation_mode": ""},
    {"num_consumer_groups": 0, "num_buffers_warp_spec": 0},
    {"cluster_dims": (1, 1, 1)},
)
EVERYWHERE = ("cpu", "sim:nvidia:sm_90a", "sim:nvidia:sm_80", "sim:amd:gfx942", "sim:intel:pvc")


@pytest.mark.parametrize("options", IDLE, ids=str)
@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("name", EVERYWHERE)
def test_an_option_that_asks_for_nothing_is_taken_everywhere(
    name: str, interpreted: bool, options: dict[str, Any]
) -> None:
    x = array()
    with ExitStack() as stack:
        stack.enter_context(tri.target(name))
        if interpreted:
            stack.enter_context(tri.interpret())
        inc[(1,)](x, 8, **options)
    np.testing.assert_array_equal(x, np.ones(8))


@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("name", ["cpu", "sim:amd:gfx942", "sim:intel:pvc"])
def test_one_that_asks_for_what_a_target_cannot_do_is_refused_by_name(name: str, interpreted: bool) -> None:
    with ExitStack() as stack:
        stack.enter_context(tri.target(name))
        if interpreted:
            stack.enter_context(tri.interpret())
        with pytest.raises(OptionError, match="launch_cooperative_grid=True") as refused:
            inc[(1,)](array(), 8, launch_cooperative_grid=True)
    assert refused.value.remedy == (
        "leave launch_cooperative_grid out for this target, or pass launch_cooperative_grid=False"
    )
    assert refused.value.location is not None
    assert refused.value.location.file == __file__


def test_the_interpreter_alone_takes_the_options_of_every_target() -> None:
    x = array()
    with tri.interpret():
        inc[(1,)](x, 8, maxnreg=64, waves_per_eu=2, num_warps=8, launch_cooperative_grid=True)
    np.testing.assert_array_equal(x, np.ones(8))


def test_a_float_beyond_its_type_is_infinite(target: str) -> None:
    for context in (nullcontext, tri.interpret):
        x = array()
        with context():
            narrow[(1,)](x, 3, 1e60)
        assert x[0] == np.inf


@pytest.mark.parametrize(
    "text", ["shl.b32 $0, $1, 2;", "{ .reg .b32 t; cvt.rn.f16x2.f32 t, $1, $1; mov.b32 $0, t; }", "add.u32 $0, $1, $1;"]
)  # fmt: skip
def test_a_gpus_assembly_is_refused_by_a_cpu_where_it_stands(text: str) -> None:
    with tri.target("cpu"), pytest.raises(Unsupported, match="that is a GPU") as refused:
        assembled[(1,)](np.zeros(8, np.int32), text)
    assert refused.value.location is not None
    assert refused.value.location.file == assembled.fn.__code__.co_filename
    assert len(str(refused.value)) < 800
