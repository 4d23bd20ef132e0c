"""What TMA copies can do and what they cannot, one thing varied at a time."""

from __future__ import annotations

from machine_cases import Column, MachineCase, any_bits, each
from tma_cases import Tensor, _load, _store
from tri_backend_nvidia.machine import TmaLoadOp, TmaStoreOp

__all__ = ["LIMITS"]

_SCRATCH, _BITS = Column("i4"), any_bits("i4", 16)


def _loads(tensor: Tensor) -> MachineCase:
    columns = ((Column("i4", 16),), (Column("i4", 2), _SCRATCH))
    return MachineCase(
        "tma_load", TmaLoadOp.OPERATION_NAME, *columns, _load(tensor), each(_BITS), shared=1160
    )


def _stores(tensor: Tensor, combine: str = "") -> MachineCase:
    columns = ((Column("i4", 16), Column("i4", 2)), (_SCRATCH,))
    values, body = each(_BITS, any_bits("i4", 2)), _store(tensor, combine)
    return MachineCase(
        "tma_store", TmaStoreOp.OPERATION_NAME, *columns, body, values, shared=1160, changes=(0,)
    )


def _wide(at: tuple[int, int]) -> Tensor:
    return Tensor("f32", (16, 128), (16, 8), at)


#: name -> (case, whether hardware does it)
LIMITS: dict[str, tuple[MachineCase, bool]] = {
    "load": (_loads(_wide((4, 0))), True),
    "load-f16-at-16-bytes": (_loads(Tensor("f16", (32, 128), (32, 8), (8, 0))), True),
    "load-f16-at-8-bytes": (_loads(Tensor("f16", (32, 128), (32, 8), (4, 0))), False),
    "load-f32-at-4-bytes": (_loads(_wide((1, 0))), False),
    "load-u64-at-8-bytes": (_loads(Tensor("u64", (8, 128), (8, 8), (1, 0))), False),
    "load-negative": (_loads(_wide((-4, -3))), True),
    "load-negative-at-8-bytes": (_loads(_wide((-2, 0))), False),
    "load-5d": (_loads(Tensor("u64", (4, 4, 4, 4, 4), (2, 4, 2, 2, 2), (2, 0, 3, -1, 2))), True),
    "load-past-the-end": (_loads(_wide((16, 200))), True),
    "store": (_stores(_wide((4, 0))), True),
    "store-past-the-end": (_stores(_wide((16, 200))), True),
    "store-negative-column": (_stores(_wide((-4, 0))), False),
    "store-negative-row": (_stores(_wide((0, -20))), False),
    "store-at-8-bytes": (_stores(_wide((2, 0))), False),
    "max-f16-at-16-bytes": (_stores(Tensor("f16", (32, 128), (32, 8), (8, 0)), "max"), True),
    "max-f16-at-8-bytes": (_stores(Tensor("f16", (32, 128), (32, 8), (4, 0)), "max"), False),
}
