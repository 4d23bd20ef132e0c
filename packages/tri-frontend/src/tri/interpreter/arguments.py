"""Arguments of an interpreted launch: typed as a compiled one types them, arrays as checked memory."""

from __future__ import annotations

import difflib
import functools
import operator
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from tri.compiler.arguments import fill
from tri.compiler.parameters import parameter_values, runtime_parameters
from tri.interpreter.arrays import Array
from tri.interpreter.memory import Allocation, Memory
from tri.language import types as t
from tri.language.constexpr import unwrap
from tri.language.tensor import tensor
from tri.launch.arrays import describe
from tri.launch.calls import call_site
from tri.launch.specialize import specialize
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core.errors import LaunchError, OptionError

if TYPE_CHECKING:
    from tri.interpreter.builder import EagerBuilder
    from tri.jit import JITFunction
    from tri_core.runtime import ArrayArgument

__all__ = ["Arguments"]


class Arguments:
    """The arguments of a call of ``function``: specialized as for a compile, not yet in memory."""

    def __init__(self, function: JITFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        facts, self._read, self.options = function._dispatcher.read(args, kwargs)
        version = specialize(function, facts, 16)
        self._source, self._kept = version.source, version.kept
        own = {k: v for k, v in kwargs.items() if k not in self.options}
        bound = function.signature.bind(*args, **own)
        bound.apply_defaults()
        self._given = [bound.arguments[p.name] for p in function.params if not p.is_constexpr]
        for name in self.options:
            near = difflib.get_close_matches(name, function.arg_names)
            if near:
                raise OptionError(
                    f"{name!r} is no parameter of {function.__name__}",
                    remedy=f"did you mean {near[0]}?",
                    location=call_site(),
                )

    def values(self, builder: EagerBuilder, extra: tuple[Any, ...], stack: ExitStack) -> dict[str, Any]:
        """The values by parameter name; ``stack`` copies back what had to be copied here."""
        source = self._source
        given: dict[str, tensor] = {}
        for (name, type_), path in zip(runtime_parameters(source.types).items(), self._kept, strict=True):
            if type_.is_ptr():
                given[name] = _pointer(builder.memory, name, self._array(path), type_, stack)
            else:
                given[name] = _scalar(self._item(path), type_)
        for i, array in enumerate(extra):
            builder.memory.add(_allocation(f"interpret({i})", array, stack))
        made = parameter_values(builder, source.types, given, source.attrs)  # type: ignore[arg-type]
        trees = {n: fill(tree, lambda leaf: made[leaf.name]) for n, tree in source.trees.items()}
        constants = {name: unwrap(v) for name, v in source.constants.items()}
        return {p.name: _first(p.name, trees, constants, made) for p in source.fn.params}

    def _item(self, path: tuple[int, ...]) -> Any:
        """What the binder read at ``path``."""
        return functools.reduce(operator.getitem, path, self._read)

    def _array(self, path: tuple[int, ...]) -> Any:
        """The array that was given at ``path``."""
        found = self._given[path[0]]
        for index in path[1:]:
            found = found.base if isinstance(found, TensorDescriptor) else found[index]
        return found


def _first(name: str, *tables: Mapping[str, Any]) -> Any:
    return next(table[name] for table in tables if name in table)


def _scalar(value: Any, type_: t.dtype) -> tensor:
    return tensor(Array(_element(value, type_)), type_)


def _element(value: Any, type_: t.dtype) -> Any:
    from tri.interpreter.arrays import numpy_type
    from tri.interpreter.floats import from_f64

    if type_.is_floating():
        return from_f64(float(value), type_)
    bits = type_.int_bitwidth
    wrapped = int(value) & ((1 << bits) - 1)
    if type_.is_bool():
        return np.asarray(bool(wrapped))
    return np.asarray(wrapped - (wrapped >> (bits - 1) << bits), numpy_type(type_))


def _pointer(memory: Memory, name: str, array: Any, type_: t.dtype, stack: ExitStack) -> tensor:
    allocation = _allocation(name, array, stack)
    owner = memory.add(allocation)
    address = np.asarray(describe(array).pointer, np.int64)
    return tensor(Array(address, owner=owner), type_)


def _allocation(name: str, array: Any, stack: ExitStack) -> Allocation:
    found = describe(array)
    shape = getattr(
        getattr(array, "base", None) if type(array).__name__ == "Reinterpreted" else array, "shape", None
    )
    facts = {
        "dtype": found.dtype,
        "shape": None if shape is None else tuple(int(n) for n in shape),
        "writable": found.writable,
        "owner": array,
    }
    if found.device is not None:
        return _staged(name, array, found, facts, stack)
    below = _bytes_below(found.owner)
    return Allocation.at(name, found.pointer - below, found.pointer - below, found.nbytes + below, **facts)


def _bytes_below(array: Any) -> int:
    """Bytes of a NumPy array in front of its first element: of dimensions that run backwards."""
    if not isinstance(array, np.ndarray) or 0 in array.shape:
        return 0
    return -sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True) if s < 0)


def _staged(
    name: str, array: Any, found: ArrayArgument, facts: dict[str, Any], stack: ExitStack
) -> Allocation:
    """An array of a device through a copy on the host, written back when the launch ends without an error."""
    owner = array.base if type(array).__name__ == "Reinterpreted" else array
    if not hasattr(owner, "detach") or not hasattr(owner, "untyped_storage"):
        raise LaunchError(
            f"argument {name!r} is on {found.device.kind if found.device else 'a device'}, "
            "and the interpreter can only copy PyTorch's tensors from there",
            remedy="copy it to host memory before the launch",
            location=call_site(),
        )
    import torch

    flat = torch.as_strided(owner.detach(), (found.nbytes // owner.element_size(),), (1,))
    copy = flat.cpu()
    stack.push(lambda kind, *_: flat.copy_(copy) if kind is None else None)
    return Allocation.at(
        name, found.pointer, copy.data_ptr(), found.nbytes, **{**facts, "owner": (array, copy)}
    )
