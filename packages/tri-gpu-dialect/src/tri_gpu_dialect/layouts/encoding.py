"""Encodings: values, stored as attributes, that give a linear layout for a shape.

This module is the one bridge between attributes and layouts.  An encoding is a frozen dataclass; the
decorator :func:`encoding` gives it an attribute of a dialect whose only parameter is a dictionary of the
dataclass's fields, named in camel case unless ``keys`` says otherwise.  A vendor's package defines encodings in the same way, in its own dialect::

    @encoding(MyDialect, "mma")
    @dataclass(frozen=True)
    class Mma(DistributedEncoding):
        instr_shape: tuple[int, ...]

        def linear_layout(self, shape): ...
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from tri_core.api import InternalError, Unsupported, VerificationError
from tri_core.mlir import ir
from tri_core.notebooks import html_table
from tri_gpu_dialect.layouts.linear import BLOCK, LinearLayout

if TYPE_CHECKING:
    from tri_core.mlir import ext

__all__ = [
    "MALFORMED",
    "DistributedEncoding",
    "Encoding",
    "SharedEncoding",
    "decode",
    "encoding",
    "layout_for",
    "of",
    "places_alike",
    "registered",
]

Shape = tuple[int, ...]

#: what computing with an encoding raises that is wrong in itself, or does not fit a tensor's shape
MALFORMED = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)


class Encoding(abc.ABC):
    """A placement of tensors; subclasses are frozen dataclasses under :func:`encoding`."""

    #: the attribute class, set by the decorator
    attribute: ClassVar[type[Any]]
    #: (key in the attribute's dictionary, field name), set by the decorator
    keys: ClassVar[tuple[tuple[str, str], ...]]

    @abc.abstractmethod
    def linear_layout(self, shape: Shape) -> LinearLayout:
        """The layout of a tensor of ``shape``, its outputs being ``dim0``, ``dim1``, ... of these sizes."""

    def to_attr(self) -> ir.Attribute:
        """This encoding as an attribute of the current context (cached)."""
        found = _attributes.get(self)
        if found is None:
            given = ((k, getattr(self, name)) for k, name in self.keys)
            fields = {k: _to_attr(v) for k, v in given if v != ()}
            found = _attributes[self] = type(self).attribute.get(ir.DictAttr.get(fields))
        return found

    def _repr_html_(self) -> str:
        """HTML for notebooks: the parameters, by their names in IR."""
        rows = [(key, _shown(getattr(self, name))) for key, name in self.keys]
        return html_table((), rows, type(self).__name__)

    @classmethod
    def from_attr(cls, attr: ir.Attribute) -> Any:
        """The encoding that ``attr`` stores; VerificationError when it is not one of this class."""
        found = decode(attr)
        if not isinstance(found, cls):
            raise VerificationError(f"{attr} is not a {cls.__name__} encoding")
        return found

    def __str__(self) -> str:
        """The text of :meth:`to_attr`, made without a context."""
        given = ((k, getattr(self, name)) for k, name in sorted(self.keys))
        fields = ", ".join(f"{k} = {_text(v)}" for k, v in given if v != ())
        return f"#{type(self).attribute.attr_name}<{{{fields}}}>"


def _shown(value: object) -> str:
    """A parameter as text; lists as in IR."""
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, tuple) else str(value)


class DistributedEncoding(Encoding):
    """A placement in registers: layouts from (register, lane, warp, block)."""

    def operand_layout(self, operand: int, k_width: int, shape: Shape) -> LinearLayout:
        """The layout of a dot's operand 0 or 1, of ``shape``, when the result has this encoding.

        ``k_width`` is the number of consecutive elements along k in one register group; 0: no matter.
        """
        raise Unsupported(f"{type(self).__name__} has no dot operands")


class SharedEncoding(Encoding):
    """A placement in shared memory: layouts from (offset, block); offsets are in elements.

    ``padding`` lists (interval, pad): after every ``interval`` elements ``pad`` elements are skipped, which
    a linear layout cannot say.
    """

    @property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """The (interval, pad) pairs in elements; empty for most encodings."""
        return ()

    @property
    def blocks(self) -> int:
        """Blocks of a cluster that each have a part (or a copy) of the tensor in their memory."""
        return 1

    def share(self, shape: Shape) -> Shape:
        """The shape of what one block of the cluster has in its memory of a buffer of ``shape``."""
        return shape

    def part(self, shape: Shape) -> tuple[LinearLayout, tuple[Shape, ...]]:
        """Layout of a block's :meth:`share`: (offset) to coordinates in it; and for each bit of the block
        index the coordinates at which the share of a block with that bit begins.
        """
        whole = layout_for(self, shape)
        if self.blocks == 1:
            return whole, ()
        own = whole.without_ins(BLOCK)
        for name, size in zip(own.out_dims, self.share(shape), strict=True):
            own = own.resize_out(name, size)
        return own, whole.bases[BLOCK]

    @property
    def alignment(self) -> int:
        """Bytes that the start of a buffer must be a multiple of."""
        return 16

    def permuted(self, order: Shape) -> SharedEncoding:
        """The encoding of a buffer seen with result dimension i being dimension ``order[i]``."""
        raise Unsupported(f"{type(self).__name__} with its dimensions permuted")


class _Dialect(Protocol):
    DIALECT_NAMESPACE: ClassVar[str]
    Attribute: type[Any]


class _Keys:
    """The attribute ``keys`` of the encoding ``cls``, made when it is first asked for: a kernel has few of all encodings."""

    def __init__(self, cls: type[Encoding], renamed: Mapping[str, str]) -> None:
        self.cls, self.renamed = cls, renamed

    def __get__(self, instance: object, owner: type[Encoding]) -> tuple[tuple[str, str], ...]:
        names = [f.name for f in dataclasses.fields(self.cls)]  # type: ignore[arg-type]  # a dataclass by contract
        made = self.cls.keys = tuple((self.renamed.get(name, _camel(name)), name) for name in names)
        return made


E = TypeVar("E", bound=Encoding)
_classes: dict[str, type[Encoding]] = {}
_attributes: dict[Encoding, ir.Attribute] = {}


def encoding(
    dialect: type[ext.Dialect] | _Dialect, name: str, keys: Mapping[str, str] = MappingProxyType({})
) -> Callable[[type[E]], type[E]]:
    """Register an :class:`Encoding` dataclass as attribute ``#dialect.name``.

    ``keys`` has the dictionary keys of fields whose key is not the field's name in camel case.
    """

    def register(cls: type[E]) -> type[E]:
        full = f"{dialect.DIALECT_NAMESPACE}.{name}"
        if full in _classes:
            raise InternalError(f"encoding {full!r} is registered twice")
        body = {"__annotations__": {"fields": Any}, "__doc__": cls.__doc__, "__module__": cls.__module__}
        cls.attribute = type(f"{cls.__name__}Attr", (dialect.Attribute,), body, name=name)
        cls.keys = _Keys(cls, keys)  # type: ignore[assignment]  # gives what the attribute is declared as
        _classes[full] = cls
        return cls

    return register


def registered() -> Mapping[str, type[Encoding]]:
    """The known encodings by attribute name."""
    return dict(_classes)


def decode(attr: ir.Attribute) -> Encoding:
    """The encoding stored in ``attr`` (cached); VerificationError when it is none, or malformed."""
    found = _decoded.get(attr)
    if found is None:
        found = _decoded[attr] = _decode(attr)
    return found


_decoded: dict[ir.Attribute, Encoding] = {}


def _decode(attr: ir.Attribute) -> Encoding:
    attr = attr.maybe_downcast()
    cls = _classes.get(getattr(attr, "attr_name", ""))
    if cls is None:
        raise VerificationError(f"{attr} is not an encoding; known: {', '.join(sorted(_classes))}")
    given = {n.name: _from_attr(n.attr) for n in attr.params[0].maybe_downcast()}
    names = dict(cls.keys)
    if unknown := set(given) - set(names):
        raise VerificationError(f"{attr}: unknown keys {sorted(unknown)}; known: {sorted(names)}")
    try:
        return cls(**{names[k]: v for k, v in given.items()})
    except MALFORMED as error:
        raise VerificationError(f"{attr}: {error}") from error


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _to_attr(value: Any) -> ir.Attribute:
    match value:
        case bool():
            return ir.BoolAttr.get(value)
        case int():
            return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
        case str():
            return ir.StringAttr.get(value)
        case tuple():
            return ir.ArrayAttr.get([_to_attr(v) for v in value])
        case Encoding():
            return value.to_attr()
    raise InternalError(f"an encoding cannot hold {value!r}")


def _text(value: Any, inner: bool = False) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value) if inner else f"{value} : i64"
        case tuple():
            return f"[{', '.join(_text(v, inner=True) for v in value)}]"
        case str():
            return f'"{value}"'
    return str(value)


def _from_attr(attr: ir.Attribute) -> Any:
    match attr.maybe_downcast():
        case ir.BoolAttr() | ir.IntegerAttr() | ir.StringAttr() as plain:
            return plain.value
        case ir.ArrayAttr() | ir.DenseI32ArrayAttr() | ir.DenseI64ArrayAttr() as array:
            return tuple(_from_attr(a) if isinstance(a, ir.Attribute) else a for a in array)
        case other:
            return decode(other)


def of(tensor_type: ir.Type) -> LinearLayout:
    """The linear layout of a tensor or memory descriptor type (cached by type).

    Raises VerificationError for a tensor without an encoding.
    """
    found = _layouts.get(tensor_type)
    if found is None:
        found = _layouts[tensor_type] = _layout_of(tensor_type)
    return found


_layouts: dict[ir.Type, LinearLayout] = {}


def _layout_of(tensor_type: Any) -> LinearLayout:
    attr = getattr(tensor_type, "encoding", None)
    if attr is None:
        raise VerificationError(
            f"{tensor_type} has no layout", remedy="run convert-triton-to-tritongpu first"
        )
    return layout_for(decode(attr), tuple(tensor_type.shape))


@lru_cache(maxsize=4096)
def layout_for(enc: Encoding, shape: Shape) -> LinearLayout:
    """``enc.linear_layout(shape)``, cached; ValueError or VerificationError where it does not fit ``shape``."""
    return enc.linear_layout(shape)


def places_alike(left: Encoding, right: Encoding, shape: Shape) -> bool:
    """True if both place a tensor of ``shape`` in the same registers of the same threads."""
    return left == right or layout_for(left, shape) == layout_for(right, shape)
