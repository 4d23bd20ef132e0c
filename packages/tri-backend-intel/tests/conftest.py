from __future__ import annotations

from collections.abc import Iterator

import pytest

from tri_core import knobs


@pytest.fixture(autouse=True)
def _own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache that no other run shares, and no trial builds but where they are the subject."""
    folder = tmp_path_factory.getbasetemp() / "cache"
    with knobs.scope(CACHE_DIR=folder):
        yield
