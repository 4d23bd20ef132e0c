"""PyTorch's versions that tri was tried with under Inductor: what it asks of Triton's package changes from one to the next."""

from __future__ import annotations

import logging
import re
import sys
from functools import lru_cache
from types import MappingProxyType
from typing import Any

__all__ = ["TRIED", "check_torch"]

_log = logging.getLogger(__name__)

#: major and minor version -> where it was tried
TRIED = MappingProxyType({(2, 11): "an NVIDIA GPU", (2, 13): "CPU tensors"})


def check_torch() -> None:
    """Warn, once a process, where PyTorch is loaded in a version that nobody tried."""
    torch: Any = sys.modules.get("torch")
    text = str(getattr(torch, "__version__", ""))
    if text:
        _check(text)


@lru_cache
def _check(text: str) -> None:
    found = re.match(r"(\d+)\.(\d+)", text)
    if found is None or (int(found[1]), int(found[2])) in TRIED:
        return
    tried = ", ".join(f"{major}.{minor} ({where})" for (major, minor), where in TRIED.items())
    _log.warning(
        "PyTorch %s compiles by tri, which was tried with %s; where torch.compile fails, that may be why",
        text,
        tried,
    )
