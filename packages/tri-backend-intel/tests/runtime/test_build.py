"""A driver's compiler that takes long is reported of."""

from __future__ import annotations

import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tri_backend_intel.runtime import build


def test_a_long_build_is_reported_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = threading.Event()
    lines: list[tuple[int, str]] = []

    def log(level: int, text: str, *facts: object) -> None:
        lines.append((level, text % facts))
        reported.set()

    image: Any = SimpleNamespace(metadata=SimpleNamespace(name="matmul"), data=bytes(4096))
    monkeypatch.setattr(build.logger, "log", log)
    monkeypatch.setattr(build, "NOTICES", ((0.0, logging.INFO), (3600.0, logging.WARNING)))
    with build.announced(image, "a CPU"):
        assert reported.wait(60)
    assert [level for level, _ in lines] == [logging.INFO]
    assert lines[0][1].startswith("the driver of a CPU is compiling matmul (4 KiB of SPIR-V) since 0 s")
