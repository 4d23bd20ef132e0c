"""Files in Triton's syntax: where conversions are put, and where values are computed again instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tri_core.testing import check_passes

FILES = sorted((Path(__file__).parent / "conversions").glob("*.mlir"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file(path: Path) -> None:
    check_passes(path.read_text(), path=path.name)
