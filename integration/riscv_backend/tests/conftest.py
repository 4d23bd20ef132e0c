"""Tests that run kernels need the emulator; what compiles them needs none."""

from __future__ import annotations

import pytest

from tri_backend_riscv import emulator


@pytest.fixture
def emulated() -> None:
    """Skip without the emulator."""
    if emulator.find() is None:
        pytest.skip(f"no emulator: {emulator.REMEDY}")
