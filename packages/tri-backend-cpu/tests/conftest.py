from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tri_core import knobs


@pytest.fixture(autouse=True)
def _own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache that no other run shares."""
    with knobs.scope(CACHE_DIR=tmp_path_factory.getbasetemp() / "cache"):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261120)
