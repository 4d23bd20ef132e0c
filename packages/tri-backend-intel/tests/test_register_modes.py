"""Which of the driver's options a kernel is built with, by what it spills; Level Zero's calls, on a stand-in for its loader."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tri_backend_intel.runtime.native import NativeImages, NativeRefused, Programs
from tri_backend_intel.runtime.native.level_zero import LevelZero
from tri_core import knobs

SMALL, LARGE = "-small", "-large"


@pytest.fixture(autouse=True)
def _store(tmp_path: Path) -> Iterator[None]:
    with knobs.scope(CACHE_DIR=tmp_path):
        yield


class Loader:
    """Functions of Level Zero on Python's side: ``spills`` by options; what is made and not given back is in ``living``."""

    def __init__(self, spills: dict[str, int]) -> None:
        self.spills = spills
        self.living: dict[int, tuple[str, Any]] = {}
        self.calls: list[str] = []
        for name in [n for n in vars(type(self)) if n.startswith("ze")]:
            setattr(self, name, self._counted(name, getattr(type(self), name)))

    def _counted(self, name: str, function: Callable[..., int]) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            self.calls.append(name)
            return function(self, *arguments)

        return call

    def _new(self, out: Any, kind: str, what: Any) -> int:
        handle = 0x1000 + 16 * len(self.calls)
        self.living[handle] = (kind, what)
        _at(out, ctypes.c_void_p).value = handle
        return 0

    def zeModuleCreate(self, context: Any, device: Any, desc: Any, module: Any, log: Any) -> int:
        assert (context, device) == (1, 2)
        given = desc._obj
        data = ctypes.string_at(given.pInputModule, given.inputSize)
        options = given.pBuildFlags.decode()
        assert given.stype == 0x1B
        if given.format == 1:
            if not data.startswith(b"native "):
                return 0x78000004
            options = data.removeprefix(b"native ").decode()
        elif b"bad" in data:
            self._new(log, "log", b"line 3: this is bad")
            return 0x70000004
        return self._new(module, "module", options)

    def zeModuleDestroy(self, module: Any) -> int:
        assert self.living.pop(_value(module))[0] == "module"
        return 0

    def zeModuleGetNativeBinary(self, module: Any, size: Any, data: Any) -> int:
        made = b"native " + self.living[_value(module)][1].encode()
        _at(size, ctypes.c_size_t).value = len(made)
        if data is not None:
            data[: len(made)] = made
        return 0

    def zeModuleBuildLogGetString(self, log: Any, size: Any, text: Any) -> int:
        said = self.living[_value(log)][1] + b"\0"
        _at(size, ctypes.c_size_t).value = len(said)
        if text is not None:
            text[: len(said)] = said
        return 0

    def zeModuleBuildLogDestroy(self, log: Any) -> int:
        assert self.living.pop(_value(log))[0] == "log"
        return 0

    def zeKernelCreate(self, module: Any, desc: Any, kernel: Any) -> int:
        given = desc._obj
        assert given.stype == 0x1D
        if given.pKernelName != b"k":
            return 0x78000011
        return self._new(kernel, "kernel", self.living[_value(module)][1])

    def zeKernelGetProperties(self, kernel: Any, properties: Any) -> int:
        given = properties._obj
        assert given.stype == 0x1E
        given.spillMemSize = self.spills[self.living[_value(kernel)][1]]
        return 0

    def zeDeviceGetProperties(self, device: Any, properties: Any) -> int:
        given = properties._obj
        assert (_value(device), given.stype, ctypes.sizeof(given)) == (2, 0x3, 368)
        given.coreClockRate = 2850
        return 0

    def zeKernelDestroy(self, kernel: Any) -> int:
        assert self.living.pop(_value(kernel))[0] == "kernel"
        return 0


def _at(reference: Any, type_: Any) -> Any:
    return reference._obj if hasattr(reference, "_obj") else ctypes.cast(reference, ctypes.POINTER(type_))[0]


def _value(handle: Any) -> int:
    return int(handle.value if hasattr(handle, "value") else handle)


class Below:
    """In place of what is below a SYCL queue: takes programs over, as handles."""

    def __init__(self, spills: dict[str, int]) -> None:
        self.loader = Loader(spills)
        self.api = LevelZero(self.loader, 1, 2)

    def adopt(self, program: int) -> Any:
        loader = self.loader

        class Taken:
            handle = program

            def has_sycl_kernel(self, name: str) -> bool:
                return name == "k"

        assert loader.living[program][0] == "module"
        return Taken()

    def has_kernel(self, program: Any, name: str) -> bool:
        return bool(program.has_sycl_kernel(name))


def programs(**spills: int) -> tuple[Programs, Loader]:
    below: Any = Below({f"-{mode}": size for mode, size in spills.items()})
    return Programs(below, NativeImages("stand-in")), below.loader


@pytest.mark.parametrize(
    ("spills", "chosen", "left"),
    [
        ({"small": 0, "large": 0}, SMALL, 0),
        ({"small": 704, "large": 0}, LARGE, 0),
        ({"small": 5632, "large": 704}, LARGE, 704),
        ({"small": 64, "large": 64}, SMALL, 64),
        ({"small": 64, "large": 128}, SMALL, 64),
    ],
)
def test_the_mode_that_spills_least(spills: dict[str, int], chosen: str, left: int) -> None:
    made, loader = programs(**spills)
    program = made.build(b"module", "k", (SMALL, LARGE))
    assert (program.options, program.spills) == (chosen, left)
    # all else was given back
    assert loader.living == {program.program.handle: ("module", chosen)}
    assert loader.calls.count("zeModuleCreate") == (1 if spills["small"] == 0 else 2)


def test_the_choice_is_kept_with_the_image() -> None:
    made, loader = programs(small=704, large=0)
    made.build(b"module", "k", (SMALL, LARGE))
    again, loader = programs()  # which can ask for no spills
    program = again.kept(b"module", "k", (SMALL, LARGE))
    assert program is not None
    assert (program.options, program.spills) == (LARGE, 0)
    assert loader.living == {program.program.handle: ("module", LARGE)}
    assert again.kept(b"modula", "k", (SMALL, LARGE)) is None


def test_a_mode_that_cannot_be_built_is_left_out() -> None:
    made, loader = programs(small=704)
    create = loader.zeModuleCreate
    loader_any: Any = loader
    loader_any.zeModuleCreate = lambda *a: 1 if a[2]._obj.pBuildFlags == b"-large" else create(*a)
    made = Programs(_below(loader), NativeImages("stand-in"))
    program = made.build(b"module", "k", (SMALL, LARGE))
    assert (program.options, program.spills) == (SMALL, 704)


def _below(loader: Loader) -> Any:
    below = Below({})
    below.loader, below.api = loader, LevelZero(loader, 1, 2)
    return below


def test_the_drivers_log_is_the_reason() -> None:
    made, loader = programs(small=0)
    with pytest.raises(NativeRefused, match="line 3: this is bad"):
        made.build(b"bad", "k", (SMALL,))
    assert not loader.living
    with pytest.raises(NativeRefused, match="0x78000011"):
        made.build(b"good", "another", (SMALL,))
    assert not loader.living


def test_an_image_that_the_driver_refuses_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    made, loader = programs(small=0)
    made.images.put(b"module", SMALL, b"of something else", {"options": SMALL, "spills": 0})
    assert made.kept(b"module", "k", (SMALL,)) is None
    assert "0x78000004" in caplog.text
    assert made.images.get(b"module", SMALL) is None
    assert not loader.living


def test_the_device_says_its_frequency_and_no_extensions() -> None:
    made, _ = programs(small=0)
    assert made.interop.api.megahertz() == 2850
    assert made.interop.api.extensions() is None
