from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import tri_gpu_dialect.dialect  # noqa: F401  registers ttg
from tri_core.dialects.tt import TT
from tri_core.mlir import registry, session

# the machines that run the tests are shared: no deadline per example
settings.register_profile("tri", deadline=None, max_examples=50)
settings.load_profile("tri")


@pytest.fixture(scope="session", autouse=True)
def _dialects() -> Iterator[None]:
    registry.add_dialect(TT)
    with session():
        yield


@pytest.fixture(scope="session")
def kernel() -> Callable[[str], str]:
    """The TTIR of an example kernel, as the front end makes it."""

    def read(name: str) -> str:
        return (Path(__file__).parent / "kernels" / f"{name}.mlir").read_text()

    return read
