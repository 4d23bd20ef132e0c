"""The stream that the surrounding framework uses now."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["framework_stream"]


def framework_stream(index: int) -> int:
    """HIP's handle of PyTorch's current stream on device ``index``; 0, the default one, without PyTorch."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.version.hip or not torch.cuda.is_initialized():
        return 0
    return int(torch.cuda.current_stream(index).cuda_stream)
