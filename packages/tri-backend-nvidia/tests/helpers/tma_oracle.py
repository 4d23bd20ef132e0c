"""Cases of copies through descriptors, and what NumPy says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["BLOCKS", "COMBINED", "DTYPES", "Block", "block_of", "combined", "outside", "values"]

DTYPES = (
    "int8",
    "uint8",
    "int16",
    "uint16",
    "float16",
    "int32",
    "uint32",
    "float32",
    "int64",
    "uint64",
    "float64",
)


@dataclass(frozen=True)
class Block:
    """A block at ``start`` of an array of ``shape`` whose rows are ``pad`` elements longer in memory."""

    shape: tuple[int, ...]
    block: tuple[int, ...]
    start: tuple[int, ...]
    dtype: str = "float32"
    nan: bool = False
    pad: int = 0

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
        made = [1]
        for size in self.shape[:0:-1]:
            made.append(made[-1] * size + (self.pad if len(made) == 1 else 0))
        return tuple(made[::-1])

    @property
    def id(self) -> str:
        """A name."""
        return f"{'x'.join(map(str, self.block))}-{self.dtype}-at-{'.'.join(map(str, self.start))}"


BLOCKS = [
    Block((256,), (128,), (64,)),
    Block((200,), (128,), (128,)),
    Block((200,), (512,), (-40,)),
    Block((40, 64), (16, 64), (16, 0), "float16"),
    Block((40, 72), (16, 64), (-5, 40), "float16", nan=True),
    Block((40, 72), (32, 64), (30, -8), "float32", pad=4),
    Block((100, 300), (64, 256), (-1, 90), "float16", pad=4),
    Block((100, 300), (64, 256), (-1, 88), "float16", pad=4),
    Block((100, 300), (64, 256), (50, 91), "float16", pad=4),
    Block((100, 40), (32, 128), (70, 0), "float16"),
    Block((40, 72), (16, 64), (-5, 37), "float32", nan=True),
    Block((40, 72), (16, 64), (-5, 40), "float64", nan=True),
    Block((40, 32), (16, 32), (30, 8), "int32"),
    Block((40, 32), (4, 32), (38, 8), "int32"),
    Block((600, 16), (512, 16), (90, 0), "int8"),
    Block((5, 20, 64), (2, 16, 64), (4, 7, 32), "float16"),
    Block((5, 20, 64), (4, 8, 32), (-2, 15, -4)),
    Block((3, 4, 6, 16), (2, 2, 8, 16), (2, -1, 3, 8)),
    Block((2, 3, 4, 5, 8), (2, 2, 2, 4, 8), (-1, 2, 3, 2, -4)),
    *(Block((24, 64), (16, 32), (12, 48), dtype) for dtype in DTYPES),
]


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Random numbers of a type, no two alike by accident of being small."""
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def outside(block: Block) -> float:
    """What is read outside of the array."""
    return float("nan") if block.nan else 0


def block_of(x: np.ndarray, block: Block) -> np.ndarray:
    """The block of ``x``, padded."""
    out = np.full(block.block, outside(block), x.dtype)
    inside, own = [], []
    for start, size, whole in zip(block.start, block.block, block.shape, strict=True):
        low, high = max(start, 0), min(start + size, whole)
        inside.append(slice(low, high))
        own.append(slice(low - start, high - start))
    out[tuple(own)] = x[tuple(inside)]
    return out


#: (reduction, type)
COMBINED = [
    ("add", "float32"),
    ("add", "float16"),
    ("add", "int32"),
    ("add", "uint64"),
    ("min", "int32"),
    ("max", "int64"),
    ("max", "uint32"),
    ("min", "float16"),
    ("max", "float16"),
    ("and", "int32"),
    ("or", "uint64"),
    ("xor", "uint32"),
]


def combined(kind: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``y`` after ``x`` was combined with it twice."""
    functions = {
        "add": np.add, "min": np.minimum, "max": np.maximum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        return functions[kind](functions[kind](y, x), x)
