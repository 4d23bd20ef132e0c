"""Runs where Triton 3.9 and NumPy are, and nothing of ours: kernels in Triton's own interpreter.

A job is a pickle on the standard input: ``source`` of a module, ``arguments`` of its function ``kernel``, each a
number, a pair of a type's name and bytes, or a pair of the place of an earlier array and the element of it where this
one begins.  The answer is a pickle on the standard output: ``arrays``, the bytes of all arrays but such parts
afterwards, or ``error``.
"""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"

import itertools
import linecache
import pickle
import sys
import traceback
import types
import warnings
from typing import Any, BinaryIO

import numpy as np
import triton  # noqa: F401  the interpreter is chosen when it is imported

_STORED_AS = {"bfloat16": "uint16"}
_numbers = itertools.count()


class _Dtype:
    """As much of a dtype as Triton reads: how it is written."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Dtype) and other.name == self.name


class Array:
    """A NumPy array with what Triton's interpreter asks of a tensor; it is its own storage, unless it is a part of another."""

    def __init__(self, dtype: str, content: bytes) -> None:
        kind = np.dtype(_STORED_AS.get(dtype, dtype))
        memory = np.empty(len(content) + 64, np.uint8)
        first = -memory.ctypes.data % 64
        self.data = memory[first : first + len(content)].view(kind)
        self.data.view(np.uint8)[:] = np.frombuffer(content, np.uint8)
        self.dtype = _Dtype(dtype)
        self.storage = self

    def part(self, first: int) -> Array:
        """The array from element ``first`` on, in the same memory."""
        made = Array(self.dtype.name, b"")
        made.data, made.storage = self.data[first:], self
        return made

    def data_ptr(self) -> int:
        return int(self.data.ctypes.data)

    def element_size(self) -> int:
        return self.data.itemsize

    def untyped_storage(self) -> Array:
        return self.storage

    def cpu(self) -> Array:
        return self

    def copy_(self, other: Array) -> None:
        assert other is self

    def new_empty(self, count: int, device: str) -> Array:
        del count, device
        return self

    def set_(self, *place: Any) -> None:
        assert place[0] is self.storage

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        return self.data.shape

    def stride(self) -> tuple[int, ...]:
        return (1,)


def _module(source: str) -> types.ModuleType:
    """The module of a text, whose lines ``inspect`` finds."""
    name = f"random_{next(_numbers)}"
    path = f"<{name}>"
    module = types.ModuleType(name)
    module.__file__ = path
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    sys.modules[name] = module
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except BaseException:
        _forget(module)
        raise
    return module


def _forget(module: types.ModuleType) -> None:
    sys.modules.pop(module.__name__, None)
    linecache.cache.pop(str(module.__file__), None)


def _run(job: dict[str, Any]) -> dict[str, Any]:
    module = _module(job["source"])
    try:
        arguments: list[Any] = []
        arrays: list[Array] = []
        for given in job["arguments"]:
            if isinstance(given, int):
                arguments.append(given)
            elif isinstance(given[0], int):
                arguments.append(arguments[given[0]].part(given[1]))
            else:
                arrays.append(Array(*given))
                arguments.append(arrays[-1])
        module.kernel[(1,)](*arguments)
        return {"arrays": [a.data.tobytes() for a in arrays]}
    finally:
        _forget(module)


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    try:
        return _run(job)
    except Exception as error:
        return {
            "error": "".join(traceback.format_exception_only(error)).strip(),
            "trace": traceback.format_exc(),
        }


def _serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    while True:
        try:
            job = pickle.load(jobs)
        except EOFError:
            return
        pickle.dump(_answer(job), answers)
        answers.flush()


def main() -> None:
    """Serve until the input ends."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr
    _serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
