"""Shared libraries without a linker: what the system's own loader makes of them."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

from loader_support import compiled
from tri_core.api import DeviceError
from tri_runtime.loader.loaded import compile_ir
from tri_runtime.loader.shared import shared_library

PROGRAM = """
@numbers = dso_local global [4 x i64] [i64 1, i64 2, i64 3, i64 4]
@where = internal global ptr @numbers
@zeroed = dso_local global [100 x i64] zeroinitializer
@jump = internal global [2 x ptr] [ptr @first, ptr @second]

define internal i64 @first(i64 %i) { %r = add i64 %i, 1000 ret i64 %r }
define internal i64 @second(i64 %i) { %r = mul i64 %i, 7 ret i64 %r }
define dso_local i64 @number(i64 %i) {
  %p = load volatile ptr, ptr @where
  %q = getelementptr i64, ptr %p, i64 %i
  %v = load i64, ptr %q
  ret i64 %v
}
define dso_local i64 @by_table(i64 %which, i64 %i) {
  %at = getelementptr ptr, ptr @jump, i64 %which
  %f = load volatile ptr, ptr %at
  %r = call i64 %f(i64 %i)
  ret i64 %r
}
define dso_local i64 @count() {
  %old = load i64, ptr @zeroed
  %new = add i64 %old, 1
  store i64 %new, ptr @zeroed
  ret i64 %new
}
"""
EXPORTS = ["number", "by_table", "count", "numbers", "zeroed"]

linux = pytest.mark.skipif(sys.platform != "linux", reason="the system does not load ELF libraries")


def _loaded(tmp_path: Path, name: str = "libmade.so") -> ctypes.CDLL:
    path = tmp_path / name
    path.write_bytes(shared_library(compile_ir(PROGRAM), EXPORTS, name))
    made = ctypes.CDLL(str(path))
    for function in EXPORTS[:3]:
        getattr(made, function).restype = ctypes.c_int64
    return made


@linux
def test_code_and_data_are_found_and_addresses_are_filled_in(tmp_path: Path) -> None:
    made = _loaded(tmp_path)
    assert [made.number(ctypes.c_int64(i)) for i in range(4)] == [1, 2, 3, 4]
    assert made.by_table(ctypes.c_int64(0), ctypes.c_int64(5)) == 1005
    assert made.by_table(ctypes.c_int64(1), ctypes.c_int64(5)) == 35
    (ctypes.c_int64 * 4).in_dll(made, "numbers")[2] = 77
    assert made.number(ctypes.c_int64(2)) == 77
    assert list((ctypes.c_int64 * 100).in_dll(made, "zeroed")) == [0] * 100


@linux
def test_libraries_have_memory_of_their_own(tmp_path: Path) -> None:
    one, other = _loaded(tmp_path, "one.so"), _loaded(tmp_path, "other.so")
    assert [one.count(), one.count(), other.count()] == [1, 2, 1]


@linux
def test_only_what_is_exported_is_found(tmp_path: Path) -> None:
    made = _loaded(tmp_path)
    for name in ("first", "where", "no_such"):
        with pytest.raises(AttributeError, match=name):
            getattr(made, name)


def test_the_bytes_are_the_same_each_time() -> None:
    data = compile_ir(PROGRAM)
    assert shared_library(data, EXPORTS) == shared_library(data, EXPORTS)


def test_another_machine(tmp_path: Path) -> None:
    """AArch64 has pages of up to 64 KiB, and another number for the same relocation."""
    made = shared_library(compiled(PROGRAM, "aarch64-unknown-linux-gnu"), EXPORTS)
    assert int.from_bytes(made[18:20], "little") == 183
    assert (1027).to_bytes(8, "little") in made


@pytest.mark.parametrize(
    ("text", "exports", "said"),
    [
        ("define dso_local void @f() { ret void }", ["g"], "does not define g"),
        (
            "declare void @abort()\\ndefine dso_local void @f() { call void @abort() ret void }",
            ["f"],
            "abort",
        ),
        ("@environ = external global ptr\\ndefine dso_local ptr @f() { ret ptr @environ }", ["f"], "environ"),
    ],
    ids=["missing", "calls another", "reads another"],
)
def test_what_is_refused(text: str, exports: list[str], said: str) -> None:
    with pytest.raises(DeviceError, match=said):
        shared_library(compile_ir(text.replace("\\n", "\n")), exports)


def test_damaged_objects_are_errors() -> None:
    data = compile_ir(PROGRAM)
    for end in range(0, len(data), 97):
        with pytest.raises(DeviceError):
            shared_library(data[:end], EXPORTS)
