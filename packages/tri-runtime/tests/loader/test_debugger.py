"""Where the symbols are that debuggers watch."""

from __future__ import annotations

import mmap
import sys

import pytest

from tri_runtime.loader import debugger

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux' list of mappings")


def test_a_file_that_is_read_is_not_taken_for_the_library() -> None:
    """Another thread may have mapped the file to look for the symbols in it: what was there was overwritten."""
    pytest.importorskip("llvmlite.binding")
    before = debugger._library("libllvmlite.so")
    if before is None:
        pytest.skip("llvmlite has no library of its own here")
    with open(before[1], "rb") as file:
        maps = [mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) for _ in range(3)]
    try:
        assert debugger._library("libllvmlite.so") == before
    finally:
        for each in maps:
            each.close()
