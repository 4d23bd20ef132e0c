"""Tensor descriptors made on the host and passed to kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tri.language.types import parse_type
from tri.launch.arrays import array_reader, describe, parts
from tri_core.errors import DescriptorError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.runtime import ArrayArgument

__all__ = ["TensorDescriptor"]

_MOST_DIMENSIONS = 5
#: what bases and strides are aligned to, in bytes
_ALIGNMENT = 16
_MOST_ELEMENTS = 1 << 20
#: bytes that an address space has at most; what reaches further means addresses modulo 2**64 (slices of different lengths are read so)
_ADDRESSES = 1 << 63

#: dtype, shape, strides, block, padding of descriptors that were found right, some of them
_right: set[tuple[Any, ...]] = set()
_REMEMBERED = 1024
#: class of arrays -> what reads address, dtype and place of one
_readers: dict[type, Callable[[Any], tuple[int, str, Any]]] = {}


@dataclass
class TensorDescriptor:
    """The tensor at ``base`` (an array of any library), which a kernel reads and writes in blocks.

    ``shape``, ``strides`` and ``block_shape`` are in elements, of 1 to 5 dimensions; the base and all strides
    but the last, which is 1, are multiples of 16 bytes.  What a block has outside of the tensor reads as zero,
    or as NaN with ``padding="nan"``.  With ``round_f32_to_tf32`` kernels read float32 rounded to TF32.  Raises DescriptorError for anything else.
    """

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self) -> None:
        address, name = self._read()
        given = tuple(self.shape), tuple(self.strides), tuple(self.block_shape), self.padding
        key = name, *given, *map(type, self.block_shape), self.round_f32_to_tf32
        if key in _right and not address % _ALIGNMENT:
            return  # descriptors are made for every launch
        self._check(address, name)
        if len(_right) >= _REMEMBERED:
            _right.clear()
        _right.add(key)

    @property
    def layout_text(self) -> str:
        """The layout of blocks in shared memory, as the IR writes it; empty: the compiler decides."""
        return ""

    def _check(self, address: int, name: str) -> None:
        dtype, rank = parse_type(name), len(self.shape)
        _require(
            1 <= rank <= _MOST_DIMENSIONS, f"a descriptor has 1 to {_MOST_DIMENSIONS} dimensions, got {rank}"
        )
        for what, given in (("strides", self.strides), ("block_shape", self.block_shape)):
            _require(
                len(given) == rank, f"{what} has {len(given)} items; {rank} are needed, one per dimension"
            )
        _require(not address % _ALIGNMENT, f"the base is at {address:#x}, which is no multiple of 16 bytes")
        _check_sizes(self.shape, self.block_shape)
        _check_strides(self.strides, dtype.itemsize)
        if self.padding not in ("zero", "nan"):
            raise DescriptorError(f"padding is {self.padding!r}", remedy="use 'zero' or 'nan'")
        _require(
            self.padding == "zero" or dtype.is_floating(), f"{dtype} has no NaN to pad with", "use 'zero'"
        )
        _require(
            not self.round_f32_to_tf32 or name == "fp32",
            f"round_f32_to_tf32 is only supported for float32 tensors, not for {dtype}",
            "leave it out",
        )

    def _read(self) -> tuple[int, str]:
        """The address of the base and the name of its dtype."""
        cls = type(self.base)
        read = _readers.get(cls)
        if read is None:
            read = _readers[cls] = _reader(cls)
        address, name, _ = read(self.base)
        return address, name

    @staticmethod
    def from_tensor(
        tensor: Any, block_shape: Sequence[int], padding: str = "zero", round_f32_to_tf32: bool = False
    ) -> TensorDescriptor:
        """The descriptor of a whole array with its own shape and strides."""
        return TensorDescriptor(
            tensor, list(tensor.shape), _strides(tensor), block_shape, padding, round_f32_to_tf32
        )


def _reader(cls: type) -> Callable[[Any], tuple[int, str, Any]]:
    try:
        return array_reader(cls)
    except LookupError:
        raise DescriptorError(
            f"the base of a descriptor is a {cls.__qualname__}",
            remedy="give an array (NumPy, PyTorch, DLPack or a device-array interface)",
        ) from None


def _strides(array: Any) -> list[int]:
    """The strides of ``array`` in elements: by method (PyTorch), or in bytes by attribute (NumPy)."""
    stride = getattr(array, "stride", None)
    if callable(stride):
        return list(stride())
    array = getattr(array, "base", array) if not hasattr(array, "strides") else array
    steps = [step // array.itemsize for step in array.strides]
    if steps and array.shape[-1] == 1:
        steps[-1] = 1  # a dimension of one element has no stride of its own
    return steps


def _check_sizes(shape: Sequence[int], block: Sequence[int]) -> None:
    elements = 1
    for size in shape:
        _require(0 < size < 1 << 31, f"shape has {size}; positive 32-bit sizes are needed")
    for size in block:
        power = isinstance(size, int) and size > 0 and not size & (size - 1)
        _require(power, f"block_shape has {size}; powers of two are needed")
        elements *= size
    _require(elements <= _MOST_ELEMENTS, f"a block has {elements} elements; {_MOST_ELEMENTS} are allowed")


def _check_strides(strides: Sequence[int], itemsize: int) -> None:
    _require(
        strides[-1] == 1,
        f"the last stride of a descriptor is 1, got {strides[-1]}",
        "pass a tensor that is contiguous along its last dimension",
    )
    for i, stride in enumerate(strides[:-1]):
        _require(
            not stride * itemsize % _ALIGNMENT,
            f"strides[{i}] is {stride} elements, {stride * itemsize} bytes: a multiple of 16 bytes is needed",
            "pad the rows, or pass a pointer",
        )


def _require(holds: bool, message: str, remedy: str | None = None) -> None:
    if not holds:
        raise DescriptorError(message, remedy=remedy)


def _describe(desc: TensorDescriptor) -> ArrayArgument:
    """The base of ``desc``, which holds all that it reaches, unless its addresses wrap around: then each access says what it needs."""
    found = describe(desc.base)
    steps = zip(desc.shape, desc.strides, strict=True)
    needed = (1 + sum((n - 1) * step for n, step in steps)) * parse_type(found.dtype).itemsize
    if found.nbytes < needed < _ADDRESSES:
        raise DescriptorError(
            f"a descriptor of {list(desc.shape)} with strides {list(desc.strides)} reaches over {needed} bytes; "
            f"its base has {found.nbytes}",
            remedy="give the shape and strides of the base, or a base that holds the whole tensor",
        )
    return found


parts[TensorDescriptor] = _describe
# where programs import it from, by which it is pickled
TensorDescriptor.__module__ = "tri.tools.tensor_descriptor"
