"""TMA copies between tensors in global memory and buffers in shared memory, and the barriers that count them."""

from __future__ import annotations

from tri_backend_nvidia.tma.boxes import Boxes, boxes

__all__ = ["Boxes", "boxes"]
