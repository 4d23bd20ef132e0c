"""Arrays of any library as kernel arguments.

:func:`array_reader` finds how a class of arrays is read: NumPy's and PyTorch's directly, others through the
adapters that plugins contribute (by module, or by a protocol's attribute), then through DLPack.  An
``ArrayArgument`` (of a :class:`tri_runtime.Buffer`, say) is taken as it is.  A reader gives ``(address, dtype, place)``; ``place`` is None for host memory.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from tri.language.types import parse_type
from tri.launch.dtype_names import dtype_names
from tri.launch.mocks import DtypeArray
from tri.launch.tensor_memory import check_memory, is_suspect, spanned_bytes
from tri_core.errors import ArgumentError, LaunchError, TriError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.plugin_records import FrameworkAdapter
    from tri_core.runtime import ArrayArgument
    from tri_core.target import DeviceInfo

__all__ = [
    "ArrayReader",
    "Place",
    "ReadOnly",
    "TensorWrapper",
    "array_reader",
    "describe",
    "is_tensor_class",
    "memory_bytes",
    "parts",
    "place_like",
    "place_of",
    "reach",
    "reaches",
    "read_only",
    "reinterpret",
]


#: classes whose objects are a part of an array, their ``base`` -> what describes one: tensor descriptors
parts: dict[type, Callable[[Any], ArrayArgument]] = {}


@dataclass(frozen=True, eq=False)
class Place:
    """A device that holds arrays; one object per device, compared by identity, so that it is a cheap key."""

    device: DeviceInfo
    #: the framework's stream for launches on its arrays, where an adapter knows it
    current_stream: Callable[[int], int] | None = None


@dataclass(frozen=True, eq=False)
class ReadOnly:
    """A place whose memory must not be written: a kernel for such an argument only reads it; see :func:`read_only`."""

    place: Place | None


#: address, dtype (Triton's name), place
Reading = tuple[int, str, Place | ReadOnly | None]
ArrayReader = Callable[[Any], Reading]

_places: dict[tuple[DeviceInfo, Callable[[int], int] | None], Place] = {}


def place_of(device: DeviceInfo, current_stream: Callable[[int], int] | None = None) -> Place:
    """The one :class:`Place` of ``device``."""
    key = (device, current_stream)
    return _places.get(key) or _places.setdefault(key, Place(device, current_stream))


@cache
def read_only(place: Place | None) -> ReadOnly:
    """The one :class:`ReadOnly` of ``place``."""
    return ReadOnly(place)


_READ_ONLY_HOST = read_only(None)
#: bytes of memory of which nothing is known
_UNKNOWN = 1 << 62


# --- NumPy ----------------------------------------------------------------------------------------------


def _read_numpy(array: Any) -> Reading:
    place = None if array.flags.writeable else _READ_ONLY_HOST
    return array.ctypes.data, dtype_names[array.dtype], place


def _describe_numpy(array: Any) -> ArrayArgument:
    from tri_core.runtime import ArrayArgument

    writable: bool = array.flags.writeable
    return ArrayArgument(array.ctypes.data, dtype_names[array.dtype], _span(array), None, writable, array)


def _span(array: Any) -> int:
    """Bytes from the first element to the end of the last one."""
    if 0 in array.shape:
        return 0
    steps = zip(array.shape, array.strides, strict=True)
    return int(array.itemsize + sum((n - 1) * step for n, step in steps if step > 0))


def _reach_numpy(array: Any) -> tuple[int, int]:
    if array.flags.c_contiguous:
        return 0, array.nbytes
    if 0 in array.shape:
        return 0, 0
    steps = zip(array.shape, array.strides, strict=True)
    return sum((1 - n) * step for n, step in steps if step < 0), _span(array)


# --- PyTorch --------------------------------------------------------------------------------------------


class _TorchPlaces(dict[Any, Place | None]):
    """``torch.device`` -> place, filled as devices are met; a tensor asks for its own on a miss."""

    def of(self, tensor: Any) -> Place | None:
        """The place of ``tensor``."""
        device = tensor.device
        if device not in self:
            self[device] = _torch_place(tensor)
        return self[device]


_torch_places = _TorchPlaces()


def _read_torch(tensor: Any) -> Reading:
    device = tensor.device
    place = _torch_places[device] if device in _torch_places else _torch_places.of(tensor)
    try:
        address = tensor.data_ptr()
        if not address or is_suspect(tensor):
            check_memory(tensor)
            # a tensor without elements has no memory; a null pointer would be refused, or worse, before anything is accessed
            address = address or (0 if place is not None else nowhere())
        return address, dtype_names[tensor.dtype], place
    except RuntimeError as error:  # NotImplementedError is one
        raise LaunchError(
            f"a PyTorch tensor of layout {tensor.layout} was passed to a kernel, which has no address: {error}",
            remedy="pass the dense tensors that it consists of, e.g. its values() and indices(), or .to_dense()",
        ) from error


def _read_torch_subclass(tensor: Any) -> Reading:
    """Of classes that derive from PyTorch's: some have shapes alone (fake tensors), or tensors within."""
    if tensor.layout is _strided():
        check_memory(tensor)
    return _read_torch(tensor)


@cache
def _strided() -> Any:
    return sys.modules["torch"].strided


@cache
def nowhere() -> int:
    """Address of host arrays without elements: a page with no other use."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    owned = (ctypes.c_char * mmap.PAGESIZE).from_buffer(page)
    _pages.append(owned)
    return ctypes.addressof(owned)


#: what :func:`nowhere` has given away
_pages: list[Any] = []


def _torch_place(tensor: Any) -> Place | None:
    """Host memory, or what an adapter for PyTorch says, or the device of the kind that PyTorch names."""
    kind, index = tensor.device.type, tensor.device.index or 0
    if kind == "cpu":
        return None
    for adapter in _adapters():
        if (
            tensor_adapter(adapter)
            and (found := adapter.describe(tensor)) is not None
            and found.device is not None
        ):
            return place_of(found.device, adapter.current_stream)
    from tri_core.plugins import manager
    from tri_runtime import runtime

    kinds = {info.runtime for info in manager().backends().values() if kind in info.device_kinds}
    for owner in sorted(kinds):
        for device in runtime(owner).devices():
            if device.index == index:
                return place_of(device)
    raise LaunchError(
        f"a PyTorch tensor on {tensor.device} was passed to a kernel; no installed backend has such a device",
        remedy="install the backend of that device, or move the tensor to the host with .cpu()",
    )


def tensor_adapter(adapter: FrameworkAdapter) -> bool:
    """True if ``adapter`` reads PyTorch's tensors."""
    return adapter.module == "torch"


def _describe_torch(tensor: Any) -> ArrayArgument:
    from tri_core.runtime import ArrayArgument

    pointer, dtype, place = _read_torch(tensor)
    check_memory(tensor)
    device = place.device if isinstance(place, Place) else None
    return ArrayArgument(pointer, dtype, spanned_bytes(tensor), device, True, tensor)


def _reach_torch(tensor: Any) -> tuple[int, int]:
    return 0, spanned_bytes(tensor)


# --- other dtypes of the same bytes ---------------------------------------------------------------------


class TensorWrapper:
    """An array whose bytes a kernel reads as another ``dtype`` (of :mod:`tri.language`); see :func:`reinterpret`.

    What PyTorch's tensors are asked for in host code, it asks its ``base``.
    """

    def __init__(self, base: Any, dtype: Any) -> None:
        self.base = base
        self.dtype = dtype
        #: the data of the base, where it has such a thing; code that keeps a copy elsewhere puts it here
        self.data: Any = getattr(base, "data", base)

    @property
    def shape(self) -> Any:
        """The dimensions of the base."""
        return self.base.shape

    @property
    def device(self) -> Any:
        """The device of the base."""
        return self.base.device

    def data_ptr(self) -> int:
        """The address of the first element."""
        return array_reader(type(self.base))(self.base)[0]

    def stride(self, *args: int) -> Any:
        """The strides of the base, in elements."""
        return self.base.stride(*args)

    def element_size(self) -> int:
        """Bytes of an element."""
        return int(self.dtype.itemsize)

    def cpu(self) -> TensorWrapper:
        """A copy in host memory."""
        return TensorWrapper(self.base.cpu(), self.dtype)

    def clone(self) -> TensorWrapper:
        """A copy."""
        return TensorWrapper(self.base.clone(), self.dtype)

    def copy_(self, other: TensorWrapper) -> None:
        """Take the elements of ``other``."""
        self.base.copy_(other.base)

    def to(self, device: Any) -> TensorWrapper:
        """A copy on ``device``."""
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes: Any) -> TensorWrapper:
        """A new one of ``sizes`` beside it."""
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __repr__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base!r})"


def reinterpret(tensor: Any, dtype: Any) -> Any:
    """``tensor`` (an array of any library) for a kernel that reads its bytes as ``dtype``.

    ``dtype`` is one of :mod:`tri.language` (or of a framework, by the same name), as wide as the array's;
    LaunchError otherwise.
    """
    if not hasattr(dtype, "mangle"):
        dtype = parse_type(dtype_names[dtype])
    base = tensor.base if isinstance(tensor, TensorWrapper) else tensor
    try:
        held = parse_type(array_reader(type(base))(base)[1])
    except LookupError:
        raise ArgumentError(
            f"a {type(base).__qualname__} cannot be reinterpreted", remedy="pass an array"
        ) from None
    if held.itemsize != dtype.itemsize:
        raise LaunchError(
            f"an array of {held} ({held.itemsize} bytes) cannot be reinterpreted as {dtype} ({dtype.itemsize} bytes)",
            remedy="view it as integers of that width first",
        )
    return base if held is dtype else TensorWrapper(base, dtype)


def _read_reinterpreted(array: TensorWrapper) -> Reading:
    pointer, _, place = array_reader(type(array.base))(array.base)
    return pointer, array.dtype.mangle(), place


# --- what has an address and a dtype ----------------------------------------------------------------------


def _is_pointer(cls: type) -> bool:
    """True if objects of ``cls`` have ``data_ptr()`` and, apparently, an attribute ``dtype``, as PyTorch's
    tensors do.
    """
    return callable(getattr(cls, "data_ptr", None))


def _read_pointer(array: Any) -> Reading:
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        raise LaunchError(
            f"a {type(array).__qualname__} was passed to a kernel: it has data_ptr() but no dtype",
            remedy="give it the attribute dtype, of PyTorch or of the language",
        )
    name = dtype.mangle() if hasattr(dtype, "mangle") else dtype_names[dtype]
    address, place = int(array.data_ptr()), place_like(getattr(array, "device", None))
    if not address and place is None and 0 in (getattr(array, "shape", None) or ()):
        address = nowhere()
    return address, name, place


def place_like(device: Any) -> Place | None:
    """Place of a tensor on ``device``; for None, on PyTorch's accelerator in use, or on the host if there is
    none.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if device is None:
        device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
    return _torch_places.of(torch.empty(0, device=device))


def _describe_pointer(array: Any) -> ArrayArgument:
    from tri_core.runtime import ArrayArgument

    pointer, name, place = _read_pointer(array)
    sizes, stride = getattr(array, "shape", None), getattr(array, "stride", None)
    if sizes is None or not callable(stride):
        raise LaunchError(
            f"a {type(array).__qualname__} was passed to a kernel whose arguments are copied to a device: "
            "its extent is unknown",
            remedy="give it shape and stride(), or pass the tensor that it stands for",
        )
    steps = zip(sizes, stride(), strict=True)
    elements = 0 if 0 in sizes else 1 + sum((n - 1) * step for n, step in steps if step > 0)
    device = place.device if isinstance(place, Place) else None
    return ArrayArgument(pointer, name, elements * parse_type(name).itemsize, device, True, array)


def _reach_pointer(array: Any) -> tuple[int, int]:
    """As far as ``shape`` and ``stride()`` say; nothing where they are not there."""
    sizes, stride = getattr(array, "shape", None), getattr(array, "stride", None)
    if sizes is None or not callable(stride) or 0 in sizes:
        return 0, 0
    width = parse_type(_read_pointer(array)[1]).itemsize
    steps = list(zip(sizes, stride(), strict=True))
    before = sum((1 - n) * step for n, step in steps if step < 0)
    return before * width, (1 + sum((n - 1) * step for n, step in steps if step > 0)) * width


# --- everything else ------------------------------------------------------------------------------------


def _adapters() -> list[FrameworkAdapter]:
    from tri_core.plugins import manager

    return manager().adapters()


def _matches(adapter: FrameworkAdapter, cls: type) -> bool:
    by_module = any(
        base.__module__ == adapter.module or base.__module__.startswith(f"{adapter.module}.")
        for base in cls.__mro__
        if adapter.module
    )
    return by_module or bool(adapter.protocol and hasattr(cls, adapter.protocol))


def _read_described(array: Any) -> Reading:
    found, adapter = _described_by(array)
    place = None
    if found.device is not None:
        # another adapter may match the class too and know a stream, but not this array's
        place = place_of(found.device, _stream_of(found, None if adapter is None else adapter.current_stream))
    return found.pointer, found.dtype, place if found.writable else read_only(place)


def _stream_of(
    array: ArrayArgument, current_stream: Callable[[int], int] | None
) -> Callable[[int], int] | None:
    return current_stream if array.stream is None else _always(array.stream)


@cache
def _always(stream: int) -> Callable[[int], int]:
    """One function per stream: places are told apart by it."""
    return lambda index: stream


def _describe_other(array: Any) -> ArrayArgument:
    return _described_by(array)[0]


def _described_by(array: Any) -> tuple[ArrayArgument, FrameworkAdapter | None]:
    """``array``, and the adapter that knows it; None for one read through DLPack."""
    for adapter in _adapters():
        if _matches(adapter, type(array)):
            found = adapter.describe(array)
            if found is not None:
                return found, adapter
    return _describe_dlpack(array), None


def _describe_dlpack(array: Any) -> ArrayArgument:
    from tri_core.runtime import ArrayArgument
    from tri_runtime.dlpack import HOST_DEVICES, read_dlpack

    try:
        found = read_dlpack(array)
    except TriError:
        raise
    except Exception as error:
        raise LaunchError(
            f"a {type(array).__qualname__} was passed to a kernel, and its __dlpack__ raised "
            f"{type(error).__name__}: {error}",
            remedy="pass what gives its memory away: an array on a device, detached, in a dtype of DLPack",
        ) from error
    if found.device_type not in HOST_DEVICES:
        raise LaunchError(
            f"an array on DLPack device ({found.device_type}, {found.device_index}) was passed to a kernel; "
            "no installed backend knows this kind of device",
            remedy="install the backend of that device, or move the array to the host",
        )
    return ArrayArgument(found.pointer, found.dtype, found.nbytes, None, found.writable, array)


def _is_array_of(cls: type, module: str, name: str) -> bool:
    """True if ``cls`` is a class of ``module``, or derives from it; imports nothing."""
    owner = sys.modules.get(module)
    base = getattr(owner, name, None)
    return base is not None and issubclass(cls, base)


def _read_argument(array: ArrayArgument) -> Reading:
    place = None if array.device is None else place_of(array.device, _stream_of(array, None))
    return array.pointer, array.dtype, place if array.writable else read_only(place)


def memory_bytes(array: Any) -> int:
    """Bytes of the memory that ``array`` is part of, as far as its library says; else those of the array alone.

    A dtype in place of an array stands for a small one.
    """
    cls = type(array)
    if cls is DtypeArray:
        return 0
    if cls is TensorWrapper:
        return memory_bytes(array.base)
    if _is_array_of(cls, "torch", "Tensor"):
        return int(array.untyped_storage().nbytes())
    if _is_array_of(cls, "numpy", "ndarray"):
        base = array.base
        owned = memory_bytes(base) if _is_array_of(type(base), "numpy", "ndarray") else 0
        return max(
            owned,
            _span(array)
            + sum((n - 1) * -s for n, s in zip(array.shape, array.strides, strict=True) if s < 0),
        )
    if array_reader(cls) is _read_pointer:
        return _UNKNOWN  # what it is a part of is not known
    return describe(array).nbytes


def is_tensor_class(cls: type) -> bool:
    """True if ``cls`` is PyTorch's class of tensors, or of parameters: none whose attributes may be a user's."""
    torch = sys.modules.get("torch")
    return torch is not None and cls in (torch.Tensor, torch.nn.Parameter)


def _is_argument(cls: type) -> bool:
    owner = sys.modules.get("tri_core.runtime")
    return owner is not None and cls is owner.ArrayArgument


def _reader_and_describer(cls: type) -> tuple[ArrayReader, Callable[[Any], ArrayArgument]] | None:
    if _is_array_of(cls, "numpy", "ndarray"):
        if _is_array_of(cls, "numpy.ma", "MaskedArray"):
            raise ArgumentError(
                "a masked array of NumPy was passed to a kernel, which would read and write what the mask hides",
                remedy="pass .filled(value), a copy, or .data with the mask as an argument of its own",
            )
        return _read_numpy, _describe_numpy
    if _is_array_of(cls, "torch", "Tensor"):
        return _read_torch if is_tensor_class(cls) else _read_torch_subclass, _describe_torch
    if _is_argument(cls):
        return _read_argument, lambda argument: argument
    if cls is DtypeArray:
        return lambda array: (0, array.dtype, None), _describe_other
    if cls is TensorWrapper:
        return _read_reinterpreted, lambda array: describe(array.base)
    if hasattr(cls, "__dlpack__") or any(_matches(a, cls) for a in _adapters()):
        return _read_described, _describe_other
    if _is_pointer(cls):
        return _read_pointer, _describe_pointer
    return None


def array_reader(cls: type) -> ArrayReader:
    """Reader of arrays of class ``cls``; LookupError if they are no arrays."""
    found = _reader_and_describer(cls)
    if found is None:
        raise LookupError(cls)
    return found[0]


def describe(array: Any) -> ArrayArgument:
    """``array`` (or the base of a descriptor) with its extent and owner, for staging.

    LookupError when it is no array, LaunchError for a descriptor that reaches beyond its base.
    """
    for cls, describe_part in parts.items():
        if isinstance(array, cls):
            return describe_part(array)
    found = _reader_and_describer(type(array))
    if found is None:
        raise LookupError(type(array))
    return found[1](array)


class _Reaches(dict[type, Callable[[Any], tuple[int, int]]]):
    """Class of arrays -> how far they reach, filled as classes are met."""

    def __missing__(self, cls: type) -> Callable[[Any], tuple[int, int]]:
        found: Callable[[Any], tuple[int, int]]
        if _is_array_of(cls, "numpy", "ndarray"):
            found = _reach_numpy
        elif _is_array_of(cls, "torch", "Tensor"):
            found = _reach_torch
        elif cls is TensorWrapper or cls in parts:
            found = _reach_base
        elif array_reader(cls) is _read_pointer:
            found = _reach_pointer
        else:
            found = _reach_described
        self[cls] = found
        return found


def _reach_base(array: Any) -> tuple[int, int]:
    return reach(array.base)


def _reach_described(array: Any) -> tuple[int, int]:
    return 0, describe(array).nbytes


#: for code that cannot afford the call of :func:`reach`
reaches = _Reaches()


def reach(array: Any) -> tuple[int, int]:
    """Bytes of ``array`` (or the base of a descriptor) before its first element, and from there to the end of the last."""
    return reaches[type(array)](array)
