"""Libraries whose functions jump to addresses of this process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tri_runtime.loader.loaded import compile_ir
from tri_runtime.loader.served import SLOTS, ServedLibrary, ir_type, jump, slots, written
from tri_runtime.loader.shared import shared_library

NAMES = ("add_one", "name_of")
_NAME = "libserved.so.1"
_REFUSED = 77


def _file() -> Path:
    text = slots(2) + '@none = dso_local constant [5 x i8] c"none\\00"\n'
    text += jump("add_one", 0, [ir_type(ctypes.c_int32), ir_type(ctypes.c_void_p)], str(_REFUSED))
    text += jump("name_of", 1, [ir_type(ctypes.c_uint64)], "@none", result="ptr")
    return written(shared_library(compile_ir(text), [SLOTS, *NAMES], _NAME), _NAME)


@pytest.fixture
def library() -> Iterator[ServedLibrary]:
    made = ServedLibrary(_file(), NAMES)
    made.loaded.name_of.restype = ctypes.c_char_p
    yield made
    made.close()


def test_types() -> None:
    kinds = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint8, ctypes.c_int32, ctypes.c_size_t)
    assert [ir_type(kind) for kind in kinds] == ["ptr", "ptr", "i8", "i32", "i64"]


def test_functions_are_served_until_the_library_is_closed(library: ServedLibrary) -> None:
    assert library.loaded.add_one(1, None) == _REFUSED
    assert library.loaded.name_of(0) == b"none"
    add = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)(lambda x, _: x + 1)
    name = ctypes.create_string_buffer(b"seven")
    name_of = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64)(lambda _: ctypes.addressof(name))
    addresses = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (add, name_of)]
    library.serve({**dict(zip(NAMES, addresses, strict=True)), "of another library": 1})
    assert library.loaded.add_one(1, None) == 2
    assert library.loaded.name_of(7) == b"seven"
    library.close()
    assert library.loaded.add_one(1, None) == _REFUSED


def test_the_file_goes_with_its_process_and_not_with_a_child() -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom tri_runtime.loader.served import written\n"
        "path = written(b'x', 'lib.so')\nif not os.fork(): sys.exit()\nos.wait()\nprint(path, path.exists())"
    )
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    path, existed = done.stdout.split()
    assert existed == "True"
    assert not Path(path).parent.exists()
