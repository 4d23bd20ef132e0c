"""Arguments of an interpreted launch: typed as a compiled one types them, arrays as checked memory."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from tri.compiler.arguments import fill
from tri.compiler.parameters import parameter_values, runtime_parameters
from tri.interpreter.allocations import Allocation
from tri.interpreter.arrays import Array
from tri.interpreter.memory import Memory
from tri.language import types as t
from tri.language.constexpr import unwrap
from tri.language.tensor import tensor
from tri.launch.arrays import TensorWrapper, describe
from tri.launch.calls import call_site
from tri.launch.specialize import one_device, specialize
from tri.launch.tensor_descriptor import TensorDescriptor
from tri_core.abi import Parameter
from tri_core.errors import LaunchError
from tri_core.lazy_dataclasses import dataclass
from tri_runtime import check_arguments, check_grid

if TYPE_CHECKING:
    from tri.interpreter.builder import EagerBuilder
    from tri.kernel import Kernel, KernelLauncher
    from tri_core.runtime import ArrayArgument

__all__ = ["Arguments"]


class Arguments:
    """The arguments of a call of ``function``: specialized as for a compile, not yet in memory.

    ``source`` is what a compile for them would take, ``options`` what the call says beside them, ``place`` the device that the
    arrays are on (None: host memory).
    """

    def __init__(
        self,
        function: Kernel,
        launcher: KernelLauncher,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        facts, self._read, self.options = launcher.read(args, kwargs)
        version = specialize(function, facts, 16)
        self.source, self._kept = version.source, version.kept
        own = {k: v for k, v in kwargs.items() if k not in self.options}
        bound = function.signature.bind(*args, **own)
        bound.apply_defaults()
        self._given = [bound.arguments[p.name] for p in function.params if not p.is_constexpr]
        self.place = one_device(function, version)

    def check(self, shape: tuple[int, int, int], limits: Mapping[str, int]) -> None:
        """LaunchError for what a compiled kernel's launcher refuses: a grid above ``limits``, null pointers, numbers beyond their types."""
        check_grid(shape, limits)
        parameters = tuple(_parameter(*item) for item in runtime_parameters(self.source.types).items())
        values = [self._item(path) for path in self._kept]
        if self.place is not None:  # what is null there the device's runtime knows
            values = [v or 1 if p.is_pointer else v for p, v in zip(parameters, values, strict=True)]
        check_arguments(self.source.name, parameters, values)

    def values(self, builder: EagerBuilder, extra: tuple[Any, ...], stack: ExitStack) -> dict[str, Any]:
        """The values by parameter name; ``stack`` copies back what had to be copied here."""
        source, staging = self.source, _Staging(stack)
        given: dict[str, tensor] = {}
        for (name, type_), path in zip(runtime_parameters(source.types).items(), self._kept, strict=True):
            if type_.is_ptr():
                given[name] = _pointer(builder.memory, name, self._array(path), type_, staging)
            else:
                given[name] = builder.constant(self._item(path), type_)
        for i, array in enumerate(extra):
            builder.memory.add(_allocation(f"interpret({i})", array, staging))
        made = parameter_values(builder, source.types, given, source.attrs)  # type: ignore[arg-type]
        trees = {n: fill(tree, lambda leaf: made[leaf.name]) for n, tree in source.trees.items()}
        constants = {name: unwrap(v) for name, v in source.constants.items()}
        return {p.name: _first(p.name, trees, constants, made) for p in source.fn.params}

    def _item(self, path: tuple[int, ...]) -> Any:
        """Value that the binder read at ``path``."""
        return functools.reduce(operator.getitem, path, self._read)

    def _array(self, path: tuple[int, ...]) -> Any:
        """The array that was given at ``path``."""
        found = self._given[path[0]]
        for index in path[1:]:
            found = found.base if isinstance(found, TensorDescriptor) else found[index]
        return found


def _parameter(name: str, type_: t.dtype) -> Parameter:
    """As a compiled kernel's signature has it."""
    return Parameter(
        name, f"*{type_.element_ty.mangle()}" if isinstance(type_, t.pointer_type) else type_.mangle()
    )


def _first(name: str, *tables: Mapping[str, Any]) -> Any:
    return next(table[name] for table in tables if name in table)


def _pointer(memory: Memory, name: str, array: Any, type_: t.dtype, staging: _Staging) -> tensor:
    allocation = _allocation(name, array, staging)
    owner = memory.add(allocation)
    address = np.asarray(describe(array).pointer, np.int64)
    return tensor(Array(address, owner=owner), type_)


def _allocation(name: str, array: Any, staging: _Staging) -> Allocation:
    found = describe(array)
    owner = array.base if isinstance(array, TensorWrapper) else array
    shape = getattr(owner, "shape", None)
    facts = {
        "dtype": found.dtype,
        "shape": None if shape is None else tuple(int(n) for n in shape),
        "writable": found.writable,
    }
    if found.device is not None:
        memory_at, copy = staging.place(name, owner, found)
        return Allocation.at(name, found.pointer, memory_at, found.nbytes, owner=(array, copy), **facts)
    below = _bytes_below(found.owner)
    start = found.pointer - below
    return Allocation.at(name, start, start, found.nbytes + below, owner=array, **facts)


def _bytes_below(array: Any) -> int:
    """Bytes of a NumPy array in front of its first element: of dimensions that run backwards."""
    if not isinstance(array, np.ndarray) or 0 in array.shape:
        return 0
    return -sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True) if s < 0)


@dataclass
class _Staging:
    """Host copies of the storages of device arrays, each made once, so that arguments that overlap do so here too.

    What is on the device is overwritten when ``stack`` is left without an error.
    """

    stack: ExitStack
    copies: dict[int, Any] = field(default_factory=dict)

    def place(self, name: str, owner: Any, found: ArrayArgument) -> tuple[int, Any]:
        """The address of a copy of the array ``owner``, and what keeps it alive."""
        if not hasattr(owner, "untyped_storage"):
            raise LaunchError(
                f"argument {name!r} is on a device ({found.device.kind if found.device else '?'}), "
                "and the interpreter copies only PyTorch's tensors from there",
                remedy="copy it to host memory before the launch",
                location=call_site(),
            )
        storage = owner.untyped_storage()
        start = storage.data_ptr()
        if start not in self.copies:
            count = storage.nbytes() // owner.element_size()
            self._copy(start, owner.detach().as_strided((count,), (1,), 0))
        host = self.copies[start]
        return host.data_ptr() + found.pointer - start, host

    def _copy(self, start: int, device: Any) -> None:
        host = self.copies[start] = device.to("cpu", copy=True)

        def leave(kind: object, *_: object) -> None:
            if kind is None:
                device.copy_(host)

        self.stack.push(leave)
