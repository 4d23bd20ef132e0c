"""Versions of PyTorch that nobody tried are warned of once, by Inductor's first question to the package."""

from __future__ import annotations

import logging
import sys
from types import ModuleType

import pytest

from tri.compat.triton import torch_versions
from tri.compat.triton.cache import triton_key


def warned(
    version: str | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> list[str]:
    """What is said in two questions by PyTorch of ``version``."""
    torch_versions._check.cache_clear()
    caplog.clear()
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    if version is not None:
        fake = ModuleType("torch")
        fake.__version__ = version  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "torch", fake)
    with caplog.at_level(logging.WARNING, "tri"):
        triton_key()
        triton_key()
    return [record.getMessage() for record in caplog.records]


def test_an_untried_version_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (said,) = warned("2.99.0a0+git", monkeypatch, caplog)
    assert "PyTorch 2.99.0a0+git" in said
    assert "2.11 (an NVIDIA GPU), 2.13 (CPU tensors)" in said


@pytest.mark.parametrize("version", [None, "2.11.1+cu128", "2.13.0+cpu", "unknown"])
def test_others_are_not(
    version: str | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert not warned(version, monkeypatch, caplog)
