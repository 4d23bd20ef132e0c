"""A pytest plugin that records what tests launch on the CPU target: ``pytest -p integration.original.recorder``.

Each kernel version becomes one file in the folder ``TRI_RECORD_TO``: its portable source, what it was
specialized for, the arguments before the launch, the arrays after it, the TTIR.  Kernels that cannot be
written for the original are counted with the reason.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from integration.original.portable import NotPortable, portable, reference
from tri.launch.arrays import describe
from tri.launch.binder import make_binder
from tri.launch.dispatcher import Dispatcher
from tri.launch.specialize import specialize
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core.errors import TriError

__all__ = ["Case", "read_cases"]

#: arrays beyond this are not worth a file
LARGEST = 1 << 22


@dataclass(frozen=True)
class Case:
    """One recorded launch.

    ``arguments`` are run-time parameters in order: numbers, or (bytes before, bytes after) of an array.
    """

    name: str
    test: str
    source: dict[str, Any]
    constants: dict[str, dict[str, Any]]
    signature: dict[str, str]
    attributes: dict[str, Any]
    options: dict[str, Any]
    grid: tuple[int, int, int]
    arguments: tuple[Any, ...]
    ttir: str


def read_cases(folder: Path) -> list[Case]:
    """The recorded cases, in order of their names."""
    return [pickle.loads(p.read_bytes()) for p in sorted(folder.glob("*.case"))]


class Recorder:
    """Wraps launches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.skipped: Counter[str] = Counter()
        self.launch = Dispatcher.launch

    def before(self, dispatcher: Dispatcher, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """State needed from before the launch; None if it is not recorded."""
        function = dispatcher.function
        try:
            facts, values, options = make_binder(function, 16, True)(*args, **kwargs)
            version = specialize(function, facts, 16)
            return version, options, self._arguments(function, version, args, kwargs, values)
        except (TriError, TypeError, ValueError, NotPortable) as error:
            self.skipped[f"{type(error).__name__}: {error}"[:100]] += 1
            return None

    def after(
        self,
        known: Any,
        dispatcher: Dispatcher,
        grid: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        kernel: Any,
    ) -> None:
        """Record a launch on the CPU target."""
        if known is not None and str(kernel.metadata.target).startswith("cpu"):
            version, options, arguments = known
            shape = dispatcher.shape(grid, args, kwargs)
            self._record(dispatcher.function, version.source, options, shape, arguments, kernel)

    @staticmethod
    def _arguments(function: Any, version: Any, args: Any, kwargs: Any, values: Any) -> list[Any]:
        """Numbers, and (array, its bytes now)."""
        bound = function.signature.bind(*args, **{k: v for k, v in kwargs.items() if k in function.arg_names})
        bound.apply_defaults()
        runtime = [bound.arguments[p.name] for p in function.params if not p.is_constexpr]
        arrays = {i for i, _ in version.arrays}
        made: list[Any] = []
        for position, path in enumerate(version.kept):
            value = functools.reduce(_item, path, runtime)
            if position in arrays:
                view = _bytes(value)
                made.append((view, view.copy()))
            else:
                made.append(value)
        return made

    def _record(self, function: Any, source: Any, options: Any, grid: Any, before: Any, kernel: Any) -> None:
        try:
            _check_types(function, source, options)
            text = portable(function)
            constants = {n: reference(v, _no_function) for n, v in source.constants.items()}
        except NotPortable as error:
            self.skipped[f"not portable: {error}"] += 1
            return
        case = Case(
            function.__name__,
            os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0],
            text,
            constants,
            {p.name: source._texts.get(p.name, "constexpr") for p in function.params},
            dict(source.attrs),
            dict(options),
            grid,
            tuple((b[1], b[0].copy()) if isinstance(b, tuple) else b for b in before),
            kernel.asm["ttir"],
        )
        key = hashlib.sha256(repr((text, constants, case.signature, case.options)).encode()).hexdigest()[:12]
        path = self.folder / f"{function.__name__}-{key}.case"
        if not path.exists():
            path.write_bytes(pickle.dumps(case))


def _check_types(function: Any, source: Any, options: Any) -> None:
    """Tuples have parts in the signature, which the original writes in another way; files are gone by then."""
    if "ir_override" in options:
        raise NotPortable("a stage from a file")
    for parameter in function.params:
        text = source._texts.get(parameter.name)
        if not isinstance(text, str) or (text == "constexpr" and parameter.name not in source.constants):
            raise NotPortable(f"a tuple as the argument {parameter.name}")


#: stands between the caller and the launch in a module that counts as ours: messages name the caller's line
_TRAMPOLINE = """
def launch(dispatcher, grid, args, kwargs):
    known = recorder.before(dispatcher, args, kwargs)
    kernel = recorder.launch(dispatcher, grid, args, kwargs)
    recorder.after(known, dispatcher, grid, args, kwargs, kernel)
    return kernel
"""


def _trampoline(recorder: Recorder) -> Any:
    space: dict[str, Any] = {"__name__": "tri.recorded", "recorder": recorder}
    exec(_TRAMPOLINE, space)
    return space["launch"]


def _item(value: Any, index: int) -> Any:
    """Part ``index`` of an argument: an item of a tuple, or of a descriptor's base, sizes and strides."""
    if isinstance(value, TensorDescriptor):
        return (value.base, *value.shape, *value.strides)[index]
    return value[index]


def _no_function(value: Any) -> int:
    raise NotPortable(f"the function {value.__name__} as an argument")


def _bytes(array: Any) -> npt.NDArray[np.uint8]:
    """The memory of an array of the host as the kernel's pointer sees it."""
    import ctypes

    seen = describe(array)
    if seen.device is not None or seen.nbytes > LARGEST:
        raise NotPortable("an array of a device, or a large one")
    buffer = (ctypes.c_uint8 * seen.nbytes).from_address(seen.pointer)
    return np.frombuffer(memoryview(buffer), np.uint8)


@pytest.fixture(autouse=True, scope="session")
def _recorded() -> Iterator[None]:
    folder = Path(os.environ["TRI_RECORD_TO"])
    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(folder)
    patch = pytest.MonkeyPatch()
    patch.setattr(Dispatcher, "launch", _trampoline(recorder))
    yield
    patch.undo()
    for reason, count in recorder.skipped.most_common(20):
        sys.stderr.write(f"not recorded, {count} times: {reason}\n")
