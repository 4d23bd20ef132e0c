"""Kernels and what stands around them, pickled and copied, here and in another process."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tri
from tri_core.errors import TriError

TEXT = """
import tri
import tri.language as tl


@tri.jit(do_not_specialize=["n"], debug=True)
def plain(out, n, C: tl.constexpr = 3):
    tl.store(out, n * C)


@tri.autotune([tri.Config({"C": 4}), tri.Config({"C": 5})], key=["n"], deterministic=True)
@tri.heuristics({"D": lambda args: args["C"] + 1})
@tri.jit
def tuned(out, n, C: tl.constexpr, D: tl.constexpr):
    tl.store(out, n * C * D)


def make(factor):
    FACTOR = tl.constexpr(factor)

    @tri.jit
    def inner(out, n):
        tl.store(out, n * FACTOR)

    return inner
"""


def stored(kernel: Any) -> int:
    out = np.zeros(1, np.int32)
    with tri.interpret():
        kernel[(1,)](out, 7)
    return int(out[0])


@pytest.fixture
def module(kernel_file: Callable[[str], ModuleType]) -> ModuleType:
    return kernel_file(TEXT)


def test_pickled_by_name(module: ModuleType) -> None:
    parts = (module.plain, module.tuned, module.tuned.fn, module.tuned.fn.fn)
    for found, original in zip(pickle.loads(pickle.dumps(parts)), parts, strict=True):
        assert found is original


def test_copies_of_kernels_are_the_kernels(module: ModuleType) -> None:
    assert copy.copy(module.plain) is copy.deepcopy(module.plain) is module.plain
    assert copy.deepcopy({"k": [module.plain]})["k"][0] is module.plain


@pytest.mark.parametrize("function", [copy.copy, copy.deepcopy])
def test_copies_of_tuners_tune_for_themselves(module: ModuleType, function: Callable[[Any], Any]) -> None:
    first = stored(module.tuned)
    made = function(module.tuned)
    made.configs = made.configs[1:]
    made.reset_to_zero.append("out")
    assert (first, stored(made), stored(module.tuned)) == (7 * 4 * 5, 7 * 5 * 6, 7 * 4 * 5)
    assert module.tuned.reset_to_zero == []
    assert made.cache is not module.tuned.cache
    assert made.pre_hook.__self__ is made
    assert copy.copy(module.tuned.fn).computed((None, 7), {"C": 2}) == {"C": 2, "D": 3}


def test_by_value_where_there_is_no_name(module: ModuleType) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    kernel = pickle.loads(cloudpickle.dumps(module.make(6)))
    assert stored(kernel) == 42
    tuner = tri.autotune([tri.Config({}), tri.Config({}, num_warps=2)], key=["n"])(module.make(5))
    assert stored(pickle.loads(cloudpickle.dumps(tuner))) == 35


_READER = """
import pickle, sys
import numpy as np, tri
sys.path.insert(0, sys.argv[1])
kernels = pickle.load(sys.stdin.buffer)
with tri.interpret():
    for kernel in kernels:
        out = np.zeros(1, np.int32)
        kernel[(1,)](out, 7)
        print(out[0])
"""
#: a script whose kernels have no module that another process could import
_SCRIPT = (
    "import sys, cloudpickle\n"
    + TEXT
    + "\nsys.stdout.buffer.write(cloudpickle.dumps((plain, tuned, make(6))))\n"
)


def _read(folder: Path, data: bytes) -> list[str]:
    command = [sys.executable, "-c", _READER, str(folder)]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode().split()


def test_in_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_kernels.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    import some_kernels  # type: ignore[import-not-found]

    assert _read(tmp_path, pickle.dumps((some_kernels.plain, some_kernels.tuned))) == ["21", "140"]


def test_from_a_main_module_to_another_process(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    (tmp_path / "script.py").write_text(_SCRIPT)
    data = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")], capture_output=True, check=True
    ).stdout
    assert _read(tmp_path, data) == ["21", "140", "42"]


def strip(function: Any) -> tuple[Any, ...]:
    """What PyTorch's Inductor does before it pickles a function; what it puts back."""
    before = (function.fn, function.__globals__, function.used_global_vals, function.repr)
    function.fn = function.__globals__ = function.used_global_vals = None
    function._hash_lock = None
    return before


def put_back(function: Any, before: tuple[Any, ...]) -> None:
    function.fn, function.__globals__, function.used_global_vals, function.repr = before


def test_without_its_function(module: ModuleType) -> None:
    plain = module.plain
    text, key, function = plain.src, plain.cache_key, plain.fn
    before = strip(plain)
    assert plain.fn is plain.__globals__ is plain.used_global_vals is None
    copied, sent = copy.deepcopy(plain), pickle.loads(pickle.dumps(plain))
    put_back(plain, before)
    assert (plain.fn, plain.cache_key, plain.src) == (function, key, text)
    assert stored(plain) == 21
    for left in (copied, sent):
        assert left is not plain
        assert (left.fn, left.src, left.arg_names) == (None, text, ["out", "n", "C"])
        assert (left.__name__, left.__module__, left.__qualname__) == ("plain", module.__name__, "plain")
        assert [p.is_constexpr for p in left.params] == [False, False, True]
        assert (left.do_not_specialize, left.debug, left.repr(None)) == (["n"], True, "plain")
        # once more, as of what another process sent
        assert pickle.loads(pickle.dumps(left)).params == left.params
        with pytest.raises(TriError, match=r"plain was taken away.*compiled before"):
            _ = left.cache_key


def test_with_another_function(module: ModuleType) -> None:
    sent = pickle.loads(pickle.dumps(_stripped(module.plain)))
    sent.fn = module.plain.fn
    assert stored(sent) == 21
    function = module.make(5)
    key, before = function.cache_key, strip(function)
    function.fn = module.make(6).fn
    assert (function.cache_key != key, stored(function)) == (True, 42)
    put_back(function, before)
    assert (function.cache_key, stored(function)) == (key, 35)


def test_with_a_text_of_its_own(module: ModuleType) -> None:
    module.plain._unsafe_update_src(module.plain.src.replace("n * C", "n + C"))
    sent = pickle.loads(pickle.dumps(_stripped(module.plain)))
    assert "n + C" in sent.src
    assert stored(module.plain) == 10


def _stripped(function: Any) -> Any:
    before = strip(function)
    found = copy.deepcopy(function)
    put_back(function, before)
    return found


def test_globals_are_those_of_the_function(module: ModuleType) -> None:
    with pytest.raises(AttributeError, match="those of its Python function"):
        module.plain.__globals__ = {}


def test_a_name_that_is_given_is_kept(module: ModuleType) -> None:
    module.plain.repr = str.lower
    assert pickle.loads(pickle.dumps(_stripped(module.plain))).repr("ABC") == "abc"
