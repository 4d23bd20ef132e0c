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
