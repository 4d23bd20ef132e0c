# Made by `python -m integration.stubs` from the language's own functions: do not edit.
import builtins as _builtins
import os
from collections.abc import Iterator as _Iterator
from typing import Any as _Any
from typing import Literal as _Literal
from typing import TypeAlias as _TypeAlias
from typing import overload as _overload

from tri.language import core as core
from tri.language import extra as extra
from tri.language import math as math
from tri.language import random as random
from tri.language import semantic as semantic
from tri.language import standard as standard
from tri.language import target_info as target_info
from tri.language.aggregate import aggregate_replace as aggregate_replace
from tri.language.builtin import builtin as builtin
from tri.language.builtin import constexpr_function as constexpr_function
from tri.language.elementwise import must_use_result as must_use_result
from tri.language.selection import PropagateNan as PropagateNan
from tri.language.type_names import str_to_ty as str_to_ty
from tri.language.types import block_type as _block_type
from tri.language.types import block_type as block_type
from tri.language.types import const as const
from tri.language.types import dtype as _dtype
from tri.language.types import dtype as dtype
from tri.language.types import pointer_type as _pointer_type
from tri.language.types import pointer_type as pointer_type
from tri.language.types import tensor_descriptor_type as _tensor_descriptor_type
from tri.language.types import tensor_descriptor_type as tensor_descriptor_type

__all__ = [
    "TRITON_MAX_TENSOR_NUMEL",
    "PropagateNan",
    "abs",
    "add",
    "advance",
    "aggregate_replace",
    "arange",
    "argmax",
    "argmin",
    "associative_scan",
    "assume",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_poll",
    "atomic_store",
    "atomic_xchg",
    "atomic_xor",
    "bfloat16",
    "bitonic_merge",
    "block_pointer",
    "block_type",
    "broadcast",
    "broadcast_to",
    "builtin",
    "cast",
    "cat",
    "cdiv",
    "ceil",
    "clamp",
    "condition",
    "const",
    "constexpr",
    "constexpr_function",
    "core",
    "cos",
    "cumprod",
    "cumsum",
    "debug_barrier",
    "device_assert",
    "device_print",
    "div_rn",
    "dot",
    "dot_scaled",
    "dtype",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "expect_zero",
    "extra",
    "fdiv",
    "flip",
    "float8e4b8",
    "float8e4b15",
    "float8e4nv",
    "float8e5",
    "float8e5b16",
    "float16",
    "float32",
    "float64",
    "floor",
    "fma",
    "full",
    "gather",
    "histogram",
    "inline_asm_elementwise",
    "int1",
    "int8",
    "int16",
    "int32",
    "int64",
    "interleave",
    "join",
    "load",
    "load_tensor_descriptor",
    "log",
    "log2",
    "make_block_ptr",
    "make_tensor_descriptor",
    "map_elementwise",
    "math",
    "max",
    "max_constancy",
    "max_contiguous",
    "maximum",
    "min",
    "minimum",
    "mul",
    "multiple_of",
    "must_use_result",
    "num_programs",
    "pair_uniform_to_normal",
    "permute",
    "philox",
    "philox_impl",
    "pi32_t",
    "pointer_type",
    "program_id",
    "rand",
    "rand4x",
    "randint",
    "randint4x",
    "randn",
    "randn4x",
    "random",
    "range",
    "ravel",
    "reduce",
    "reduce_or",
    "reshape",
    "rsqrt",
    "semantic",
    "sigmoid",
    "sin",
    "slice",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "sqrt_rn",
    "squeeze",
    "standard",
    "static_assert",
    "static_print",
    "static_range",
    "store",
    "store_tensor_descriptor",
    "str_to_ty",
    "sub",
    "sum",
    "swizzle2d",
    "target_info",
    "tensor",
    "tensor_descriptor",
    "to_tensor",
    "topk",
    "trans",
    "tuple",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint_to_uniform_float",
    "umulhi",
    "unsqueeze",
    "view",
    "void",
    "where",
    "xor_sum",
    "zeros",
    "zeros_like",
]

from builtins import slice as slice
from builtins import tuple as tuple

def _known_while_compiling(cls: _Any) -> _Any: ...

MYPY: bool
if MYPY:
    if os.name == "none":
        constexpr: _TypeAlias = _Any
else:
    @_known_while_compiling
    class constexpr:
        """A compile-time value: annotate a kernel's parameter with it, or wrap a global that kernels may read.

        Operators compute on the values and give a constexpr; mixed with plain Python values too."""

        value: _Any
        def __init__(self, value: _Any) -> None: ...

class tensor:
    """A run-time value of a kernel: an SSA ``handle`` and its language ``type``.

    Its operators and methods are the functions of :mod:`tri.language`; they work inside kernels only."""

    T: tensor
    type: _dtype
    def __add__(self, other: _Any) -> tensor: ...
    def __and__(self, other: _Any) -> tensor: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object) -> tensor: ...  # type: ignore[override]
    def __float__(self) -> float: ...
    def __floordiv__(self, other: _Any) -> tensor: ...
    def __ge__(self, other: _Any) -> tensor: ...
    def __getitem__(self, index: _Any) -> tensor: ...
    def __gt__(self, other: _Any) -> tensor: ...
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __invert__(self) -> tensor: ...
    def __le__(self, other: _Any) -> tensor: ...
    def __lshift__(self, other: _Any) -> tensor: ...
    def __lt__(self, other: _Any) -> tensor: ...
    def __mod__(self, other: _Any) -> tensor: ...
    def __mul__(self, other: _Any) -> tensor: ...
    def __ne__(self, other: object) -> tensor: ...  # type: ignore[override]
    def __neg__(self) -> tensor: ...
    def __or__(self, other: _Any) -> tensor: ...
    def __pos__(self) -> tensor: ...
    def __radd__(self, other: _Any) -> tensor: ...
    def __rand__(self, other: _Any) -> tensor: ...
    def __rfloordiv__(self, other: _Any) -> tensor: ...
    def __rlshift__(self, other: _Any) -> tensor: ...
    def __rmod__(self, other: _Any) -> tensor: ...
    def __rmul__(self, other: _Any) -> tensor: ...
    def __ror__(self, other: _Any) -> tensor: ...
    def __rrshift__(self, other: _Any) -> tensor: ...
    def __rshift__(self, other: _Any) -> tensor: ...
    def __rsub__(self, other: _Any) -> tensor: ...
    def __rtruediv__(self, other: _Any) -> tensor: ...
    def __rxor__(self, other: _Any) -> tensor: ...
    def __sub__(self, other: _Any) -> tensor: ...
    def __truediv__(self, other: _Any) -> tensor: ...
    def __xor__(self, other: _Any) -> tensor: ...
    def abs(self) -> tensor:
        """The absolute value; of an unsigned integer, itself."""
    def argmax(self, axis: _Any, tie_break_left: constexpr = True, keep_dims: constexpr = False) -> tensor:
        """The index along ``axis`` of the maximum."""
    def argmin(self, axis: _Any, tie_break_left: constexpr = True, keep_dims: constexpr = False) -> tensor:
        """The index along ``axis`` of the minimum."""
    def associative_scan(self, axis: int, combine_fn: _Any, reverse: bool = False) -> tensor:
        """The inclusive scan of ``input`` (a value or a tuple) along ``axis``, from the end when ``reverse``."""
    def atomic_add(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Add ``val`` at ``pointer`` where ``mask``; the old values.  fp16 and bf16 too."""
    def atomic_and(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Bitwise and with ``val`` at ``pointer`` where ``mask``; the old values."""
    def atomic_cas(self, cmp: _Any, val: _Any, sem: str | None = None, scope: str | None = None) -> tensor:
        """Put ``val`` at ``pointer`` where it holds ``cmp``; the old values."""
    def atomic_load(self, mask: _Any = None, sem: str | None = None, scope: str | None = None) -> tensor:
        """The values at ``pointer`` where ``mask`` (elsewhere anything); ``sem``: acquire (default) or relaxed."""
    def atomic_max(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """The maximum with ``val`` at ``pointer`` where ``mask``; the old values."""
    def atomic_min(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """The minimum with ``val`` at ``pointer`` where ``mask``; the old values."""
    def atomic_or(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Bitwise or with ``val`` at ``pointer`` where ``mask``; the old values."""
    def atomic_poll(
        self, expected_value: _Any, sem: str | None = None, scope: str | None = None, timeout_ns: _Any = None
    ) -> tensor:
        """Wait until memory at ``pointer`` holds ``expected_value``; int1, false where ``timeout_ns`` passed before.

        Elements are integers of 16, 32 or 64 bits; ``timeout_ns``, a scalar, is for all of them together, and each
        is read once at least.  ``sem``: acquire (default) or relaxed."""
    def atomic_store(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> None:
        """Put ``val`` at ``pointer`` where ``mask``; ``sem``: release (default) or relaxed."""
    def atomic_xchg(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Put ``val`` at ``pointer`` where ``mask``; the old values."""
    def atomic_xor(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Bitwise exclusive or with ``val`` at ``pointer`` where ``mask``; the old values."""
    def broadcast_to(self, *shape: _Any) -> tensor:
        """``input`` stretched to ``shape``."""
    def cast(self, dtype: _dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> tensor:
        """``input`` converted to ``dtype``; with ``bitcast`` its bits reread, else its value converted.

        ``fp_downcast_rounding`` (``"rtne"`` or ``"rtz"``) rounds a cast to a narrower float."""
    def cdiv(self, div: _Any) -> tensor:
        """``x / div``, rounded up, of non-negative integers."""
    def ceil(self) -> tensor:
        """The smallest integer not below ``x``, as a float (fp32 or fp64)."""
    def cos(self) -> tensor:
        """The cosine of radians (fp32 or fp64)."""
    def cumprod(self, axis: _Any = 0, reverse: constexpr = False, dtype: constexpr = None) -> tensor:
        """The running product along ``axis``; narrow numbers are multiplied in 32 bits, floats are rounded once."""
    def cumsum(self, axis: _Any = 0, reverse: constexpr = False, dtype: constexpr = None) -> tensor:
        """The running sum along ``axis``; narrow numbers add up in 32 bits, floats are rounded once."""
    @property
    def dtype(self) -> _dtype: ...
    def erf(self) -> tensor:
        """The error function (fp32 or fp64)."""
    def exp(self) -> tensor:
        """e to the power of ``x`` (fp32 or fp64)."""
    def exp2(self) -> tensor:
        """2 to the power of ``x`` (fp32 or fp64)."""
    def expand_dims(self, axis: _Any) -> tensor:
        """New dimensions of size 1 at ``axis``, one or several, counted in the result."""
    def flip(self, dim: constexpr = None) -> tensor:
        """``x`` with dimension ``dim`` (the last by default) reversed."""
    def floor(self) -> tensor:
        """The largest integer not above ``x``, as a float (fp32 or fp64)."""
    def gather(self, index: tensor, axis: int) -> tensor:
        """``src[..., index[..., i, ...], ...]`` along ``axis``; the other dimensions are equal."""
    def histogram(self, num_bins: int, mask: _Any = None) -> tensor:
        """Counts of each of 0 to ``num_bins - 1`` in ``input`` (of rank 1) where ``mask``: int32."""
    def item(self) -> tensor:
        """The one element of a block, as a scalar."""
    def log(self) -> tensor:
        """The natural logarithm (fp32 or fp64)."""
    def log2(self) -> tensor:
        """The logarithm to base 2 (fp32 or fp64)."""
    def logical_and(self, other: _Any) -> tensor: ...
    def logical_or(self, other: _Any) -> tensor: ...
    @_overload
    def max(
        self,
        axis: _Any,
        return_indices: _Literal[True],
        return_indices_tie_break_left: constexpr = True,
        keep_dims: constexpr = False,
    ) -> _builtins.tuple[tensor, tensor]: ...
    @_overload
    def max(
        self,
        axis: _Any = None,
        *,
        return_indices: _Literal[True],
        return_indices_tie_break_left: constexpr = True,
        keep_dims: constexpr = False,
    ) -> _builtins.tuple[tensor, tensor]: ...
    @_overload
    def max(
        self,
        axis: _Any = None,
        return_indices: _Literal[False] = False,
        return_indices_tie_break_left: constexpr = True,
        keep_dims: constexpr = False,
    ) -> tensor:
        """The maximum along ``axis`` (at least 32 bits wide), with ``return_indices`` also where it stands."""
    @_overload
    def min(
        self,
        axis: _Any,
        return_indices: _Literal[True],
        return_indices_tie_break_left: constexpr = True,
        keep_dims: constexpr = False,
    ) -> _builtins.tuple[tensor, tensor]: ...
    @_overload
    def min(
        self,
        axis: _Any = None,
        *,
        return_indices: _Literal[True],
        return_indices_tie_break_left: constexpr = True,
        keep_dims: constexpr = False,
    ) -> _builtins.tuple[tensor, tensor]: ...
    @_overload
    def min(
        self,
        axis: _Any = None,
        return_indices: _Literal[False] = False,
        return_indices_tie_break_left: constexpr = True,
        keep_dims: constexpr = False,
    ) -> tensor:
        """The minimum along ``axis`` (at least 32 bits wide), with ``return_indices`` also where it stands."""
    @property
    def numel(self) -> constexpr: ...
    def permute(self, *dims: _Any) -> tensor:
        """The dimensions of ``input`` in the order ``dims``."""
    def ravel(self, can_reorder: constexpr = False) -> tensor:
        """``x`` with one dimension."""
    def reduce(self, axis: int | None, combine_fn: _Any, keep_dims: bool = False) -> tensor:
        """``input`` (a value or a tuple of them) combined along ``axis``, or wholly when it is None.

        ``combine_fn`` is a jit function of (accumulators..., elements...) that must be associative."""
    def reduce_or(self, axis: _Any, keep_dims: constexpr = False) -> tensor:
        """The inclusive or along ``axis`` of integers."""
    def reshape(self, *shape: _Any, can_reorder: bool = False) -> tensor:
        """``input`` in another shape, row-major; with ``can_reorder`` in any order."""
    def rsqrt(self) -> tensor:
        """1 / sqrt(x) (fp32 or fp64)."""
    @property
    def shape(self) -> _builtins.tuple[constexpr, ...]: ...
    def sigmoid(self) -> tensor:
        """``1 / (1 + exp(-x))``."""
    def sin(self) -> tensor:
        """The sine of radians (fp32 or fp64)."""
    def softmax(
        self, dim: _Any = None, *, keep_dims: constexpr = None, ieee_rounding: constexpr = False
    ) -> tensor:
        """The softmax along ``dim`` (the first by default)."""
    def sort(self, dim: constexpr = None, descending: constexpr = 0) -> tensor:
        """``x`` sorted along its last dimension, upwards, or downwards with ``descending``."""
    def split(self) -> _builtins.tuple[tensor, tensor]:
        """The two halves along the last dimension, whose size is 2."""
    def sqrt(self) -> tensor:
        """The square root (fp32 or fp64), with the target's fast rounding."""
    def sqrt_rn(self) -> tensor:
        """The square root of fp32, rounded to nearest even."""
    def store(
        self,
        value: _Any,
        mask: _Any = None,
        boundary_check: _Any = (),
        padding_option: str = "",
        *,
        cache_modifier: str | None = "",
        eviction_policy: str | None = "",
    ) -> None:
        """Write ``value`` to ``pointer`` where ``mask`` is true; it is broadcast and converted to the pointee.

        A block pointer takes ``boundary_check`` instead: the dimensions along which the block may leave the tensor."""
    def sum(self, axis: _Any = None, keep_dims: constexpr = False, dtype: constexpr = None) -> tensor:
        """The sum along ``axis`` (of all elements by default); narrow numbers add up in 32 bits, floats are rounded once."""
    def to(self, dtype: _dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> tensor:
        """As :func:`cast`; the method ``x.to(dtype)``."""
    def trans(self, *dims: _Any) -> tensor:
        """The last two dimensions exchanged, or the dimensions in the order ``dims``."""
    def view(self, *shape: _Any) -> tensor:
        """``input`` in another shape, elements in any order."""
    def xor_sum(self, axis: _Any = None, keep_dims: constexpr = False) -> tensor:
        """The exclusive or along ``axis`` of integers."""
    def __hash__(self) -> int: ...

class tensor_descriptor_base:
    """Descriptor in a kernel; made by :func:`make_tensor_descriptor` or passed as an argument."""

    shape: _builtins.tuple[tensor, ...]
    strides: _builtins.tuple[tensor, ...]
    type: _tensor_descriptor_type
    def atomic_add(self, offsets: _Any, value: _Any) -> None:
        """Add ``value`` to the block at ``offsets``, each element atomically."""
    def atomic_and(self, offsets: _Any, value: _Any) -> None:
        """The bitwise and of memory and ``value``, each element atomically."""
    def atomic_max(self, offsets: _Any, value: _Any) -> None:
        """The maximum of memory and ``value``, each element atomically; fp16 and bf16 too."""
    def atomic_min(self, offsets: _Any, value: _Any) -> None:
        """The minimum of memory and ``value``, each element atomically; fp16 and bf16 too."""
    def atomic_or(self, offsets: _Any, value: _Any) -> None:
        """The bitwise or of memory and ``value``, each element atomically."""
    def atomic_xor(self, offsets: _Any, value: _Any) -> None:
        """The bitwise exclusive or of memory and ``value``, each element atomically."""
    @property
    def block_shape(self) -> _builtins.tuple[constexpr, ...]: ...
    @property
    def block_type(self) -> _block_type: ...
    @property
    def dtype(self) -> _dtype: ...
    def gather(
        self,
        x_offsets: _Any,
        y_offset: _Any,
        cache_modifier: str | None = "",
        eviction_policy: str | None = "",
    ) -> tensor:
        """Rows ``x_offsets`` (a block of int16 or int32) from column ``y_offset`` on, as a block."""
    def load(
        self, offsets: _Any, cache_modifier: str | None = "", eviction_policy: str | None = ""
    ) -> tensor:
        """The block that begins at ``offsets`` (int32, in elements); out of bounds is padded."""
    def scatter(self, value: _Any, x_offsets: _Any, y_offset: _Any) -> None:
        """Write the rows of ``value`` to rows ``x_offsets`` from column ``y_offset`` on."""
    def store(
        self, offsets: _Any, value: _Any, cache_modifier: str | None = "", eviction_policy: str | None = ""
    ) -> None:
        """Write ``value``, converted to the elements' type, to the block at ``offsets``; out of bounds is dropped."""

class tensor_descriptor(tensor_descriptor_base):
    """A descriptor of a tensor in global memory: ``shape`` (int32), ``strides`` (int64), ``block_shape``, ``dtype``."""

class block_pointer:
    """A block of ``block_shape`` at ``offsets`` in a tensor: made by :func:`make_block_ptr`."""

    base: tensor
    shape: _builtins.tuple[tensor, ...]
    strides: _builtins.tuple[tensor, ...]
    offsets: _builtins.tuple[tensor, ...]
    block_shape: constexpr
    order: constexpr
    def advance(self, offsets: _Any) -> block_pointer:
        """The block pointer moved by ``offsets``."""
    @property
    def dtype(self) -> _pointer_type: ...
    def store(
        self,
        value: _Any,
        mask: _Any = None,
        boundary_check: _Any = (),
        padding_option: str = "",
        *,
        cache_modifier: str | None = "",
        eviction_policy: str | None = "",
    ) -> None:
        """Write ``value`` to ``pointer`` where ``mask`` is true; it is broadcast and converted to the pointee.

        A block pointer takes ``boundary_check`` instead: the dimensions along which the block may leave the tensor."""
    @property
    def type(self) -> _pointer_type: ...

class range:
    """A loop at run time, as Python's range, with hints to the compiler.

    ``num_stages``: depth of the software pipeline of this loop; ``loop_unroll_factor``: copies of the body;
    ``disallow_acc_multi_buffer``, ``flatten``, ``disable_licm``: see the language page.  ``warp_specialize``: whether
    warps of their own copy the blocks of the kernel; None: the option of that name decides."""
    def __init__(
        self,
        arg1: _Any,
        arg2: _Any = None,
        step: _Any = None,
        num_stages: int | None = None,
        loop_unroll_factor: int | None = None,
        disallow_acc_multi_buffer: bool = False,
        flatten: bool = False,
        warp_specialize: bool | None = None,
        disable_licm: bool = False,
    ) -> None: ...
    def __iter__(self) -> _Iterator[tensor]: ...

class static_range:
    """A loop that is unrolled while compiling: its bounds are constexpr, and so is its variable."""
    def __init__(self, arg1: _Any, arg2: _Any = None, step: _Any = None) -> None: ...
    def __iter__(self) -> _Iterator[constexpr]: ...

class condition:
    """The condition of a ``while``, with hints: ``while tl.condition(x > 0, disable_licm=True)``."""
    def __init__(self, arg1: _Any, disable_licm: bool = False) -> None: ...
    def __bool__(self) -> bool: ...

TRITON_MAX_TENSOR_NUMEL: int

def abs(x: _Any) -> tensor:
    """The absolute value; of an unsigned integer, itself."""

def add(x: _Any, y: _Any, sanitize_overflow: bool = True) -> tensor:
    """``x + y``; ``sanitize_overflow=False`` leaves out the check that the option of that name asks for."""

def advance(base: _Any, offsets: _Any) -> block_pointer:
    """The block pointer ``base`` moved by ``offsets``, one per dimension."""

def arange(start: int, end: int) -> tensor:
    """The int32 values ``start`` to ``end - 1``; both are constexpr, their distance a power of two."""

def argmax(input: _Any, axis: _Any, tie_break_left: constexpr = True, keep_dims: constexpr = False) -> tensor:
    """The index along ``axis`` of the maximum."""

def argmin(input: _Any, axis: _Any, tie_break_left: constexpr = True, keep_dims: constexpr = False) -> tensor:
    """The index along ``axis`` of the minimum."""

@_overload
def associative_scan(input: tensor, axis: int, combine_fn: _Any, reverse: bool = False) -> tensor: ...
@_overload
def associative_scan(
    input: _builtins.tuple[_Any, ...], axis: int, combine_fn: _Any, reverse: bool = False
) -> _builtins.tuple[tensor, ...]:
    """The inclusive scan of ``input`` (a value or a tuple) along ``axis``, from the end when ``reverse``."""

def assume(cond: _Any) -> None:
    """Let the compiler rely on the scalar ``cond``; undefined behaviour when it is false."""

def atomic_add(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Add ``val`` at ``pointer`` where ``mask``; the old values.  fp16 and bf16 too."""

def atomic_and(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Bitwise and with ``val`` at ``pointer`` where ``mask``; the old values."""

def atomic_cas(
    pointer: _Any, cmp: _Any, val: _Any, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Put ``val`` at ``pointer`` where it holds ``cmp``; the old values."""

def atomic_load(pointer: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None) -> tensor:
    """The values at ``pointer`` where ``mask`` (elsewhere anything); ``sem``: acquire (default) or relaxed."""

def atomic_max(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """The maximum with ``val`` at ``pointer`` where ``mask``; the old values."""

def atomic_min(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """The minimum with ``val`` at ``pointer`` where ``mask``; the old values."""

def atomic_or(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Bitwise or with ``val`` at ``pointer`` where ``mask``; the old values."""

def atomic_poll(
    pointer: _Any,
    expected_value: _Any,
    sem: str | None = None,
    scope: str | None = None,
    timeout_ns: _Any = None,
) -> tensor:
    """Wait until memory at ``pointer`` holds ``expected_value``; int1, false where ``timeout_ns`` passed before.

    Elements are integers of 16, 32 or 64 bits; ``timeout_ns``, a scalar, is for all of them together, and each
    is read once at least.  ``sem``: acquire (default) or relaxed."""

def atomic_store(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> None:
    """Put ``val`` at ``pointer`` where ``mask``; ``sem``: release (default) or relaxed."""

def atomic_xchg(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Put ``val`` at ``pointer`` where ``mask``; the old values."""

def atomic_xor(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Bitwise exclusive or with ``val`` at ``pointer`` where ``mask``; the old values."""

bfloat16: dtype

def bitonic_merge(x: _Any, dim: constexpr = None, descending: constexpr = 0) -> tensor:
    """``x``, whose last dimension rises and then falls (or the reverse), sorted along it."""

def broadcast(input: tensor, other: tensor) -> _builtins.tuple[tensor, tensor]:
    """Both values in their common shape."""

def broadcast_to(input: _Any, *shape: _Any) -> tensor:
    """``input`` stretched to ``shape``."""

def cast(
    input: _Any, dtype: _dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False
) -> tensor:
    """``input`` converted to ``dtype``; with ``bitcast`` its bits reread, else its value converted.

    ``fp_downcast_rounding`` (``"rtne"`` or ``"rtz"``) rounds a cast to a narrower float."""

def cat(input: tensor, other: tensor, can_reorder: bool = False, dim: int = 0) -> tensor:
    """Two blocks one after the other along ``dim``; with ``can_reorder`` (rank 1) in any order."""

def cdiv(x: _Any, div: _Any) -> tensor:
    """``x / div``, rounded up, of non-negative integers."""

def ceil(x: _Any) -> tensor:
    """The smallest integer not below ``x``, as a float (fp32 or fp64)."""

def clamp(x: _Any, min: _Any, max: _Any, propagate_nan: PropagateNan = ...) -> tensor:
    """``x`` held between ``min`` and ``max``; undefined when ``min > max``."""

def cos(x: _Any) -> tensor:
    """The cosine of radians (fp32 or fp64)."""

def cumprod(input: _Any, axis: _Any = 0, reverse: constexpr = False, dtype: constexpr = None) -> tensor:
    """The running product along ``axis``; narrow numbers are multiplied in 32 bits, floats are rounded once."""

def cumsum(input: _Any, axis: _Any = 0, reverse: constexpr = False, dtype: constexpr = None) -> tensor:
    """The running sum along ``axis``; narrow numbers add up in 32 bits, floats are rounded once."""

def debug_barrier() -> None:
    """All threads of a program wait for each other, and see each other's memory."""

def device_assert(cond: _Any, msg: str = "", mask: _Any = None) -> None:
    """Fail the kernel with ``msg`` where ``cond`` is false (and ``mask`` true); only with debug=True."""

def device_print(prefix: str, *args: _Any, hex: bool = False) -> None:
    """Print ``prefix`` and the elements of ``args`` from the kernel, a line for each.

    ``hex``: integers and pointers with all their hexadecimal digits, floats as C's ``%a`` (those of 8 bits as integers)."""

def div_rn(x: _Any, y: _Any) -> tensor:
    """``x / y`` of fp32, rounded to nearest even."""

def dot(
    input: _Any,
    other: _Any,
    acc: _Any = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,
    max_num_imprecise_acc: int | None = None,
    out_dtype: _dtype | None = None,
) -> tensor:
    """``input @ other + acc`` over the last two dimensions (M x K by K x N), batched over those before.

    ``input_precision`` says how fp32 operands are read; the result is fp32, int32 of int8, fp64 of
    fp64; of fp16 and 8-bit floats what ``acc`` or ``out_dtype`` says.  ``max_num_imprecise_acc``: how many products of 8-bit floats
    (0 to K) a target may add in sums shorter than fp32 before they are added to ``acc`` in fp32; K keeps ``acc`` out
    of the short sums, 0 asks for the shortest that the target has, None for no limit."""

def dot_scaled(
    lhs: _Any,
    lhs_scale: _Any,
    lhs_format: str,
    rhs: _Any,
    rhs_scale: _Any,
    rhs_format: str,
    acc: _Any = None,
    fast_math: bool = False,
    lhs_k_pack: bool = True,
    rhs_k_pack: bool = True,
    out_dtype: _dtype = ...,
) -> tensor:
    """``(lhs * lhs_scale) @ (rhs * rhs_scale) + acc`` in fp32, over M x K and K x N (batched over a third).

    Formats: ``e2m1`` (two in a uint8, the first in the low bits, along K unless ``k_pack`` is false), ``e4m3``,
    ``e5m2`` (fp8 or uint8), ``bf16``, ``fp16``.  Scales are e8m0 in uint8 of M x K/32 and N x K/32, or None.
    Where the target has no such instruction, operands are converted to bf16 (to fp16 when one of them is).
    With ``fast_math`` the scale 0xFF need not give NaN."""

def erf(x: _Any) -> tensor:
    """The error function (fp32 or fp64)."""

def exp(x: _Any) -> tensor:
    """e to the power of ``x`` (fp32 or fp64)."""

def exp2(x: _Any) -> tensor:
    """2 to the power of ``x`` (fp32 or fp64)."""

def expand_dims(input: _Any, axis: _Any) -> tensor:
    """New dimensions of size 1 at ``axis``, one or several, counted in the result."""

def expect_zero(x: _Any, mask: _Any) -> _Any:
    """``x``, said to be zero where ``mask``; with debug=True that is asserted."""

def fdiv(x: _Any, y: _Any, ieee_rounding: bool = False, approx: bool = False) -> tensor:
    """``x / y`` of floats; ``approx`` takes the target's fast division, of fp32 only."""

def flip(x: _Any, dim: constexpr = None) -> tensor:
    """``x`` with dimension ``dim`` (the last by default) reversed."""

float8e4b8: dtype
float8e4b15: dtype
float8e4nv: dtype
float8e5: dtype
float8e5b16: dtype
float16: dtype
float32: dtype
float64: dtype

def floor(x: _Any) -> tensor:
    """The largest integer not above ``x``, as a float (fp32 or fp64)."""

def fma(x: _Any, y: _Any, z: _Any) -> tensor:
    """``x * y + z``, rounded once."""

def full(shape: _Any, value: _Any, dtype: _dtype) -> tensor:
    """A block of ``shape`` (a list of constexpr ints) with ``value`` everywhere."""

def gather(src: tensor, index: tensor, axis: int) -> tensor:
    """``src[..., index[..., i, ...], ...]`` along ``axis``; the other dimensions are equal."""

def histogram(input: tensor, num_bins: int, mask: _Any = None) -> tensor:
    """Counts of each of 0 to ``num_bins - 1`` in ``input`` (of rank 1) where ``mask``: int32."""

@_overload
def inline_asm_elementwise(
    asm: str, constraints: str, args: _Any, dtype: _dtype, is_pure: bool, pack: int
) -> tensor: ...
@_overload
def inline_asm_elementwise(
    asm: str,
    constraints: str,
    args: _Any,
    dtype: _builtins.tuple[_Any, ...] | list[_Any],
    is_pure: bool,
    pack: int,
) -> _builtins.tuple[tensor, ...]:
    """Assembly of the target, run for ``pack`` elements of ``args`` at a time.

    ``args``: values, broadcast to one shape; ``dtype``: the element type of the result, or a tuple of them for a
    tuple of results; ``constraints``: as LLVM writes them, results first.  Elements narrower than 32 bits come in
    32-bit registers, as many as fit and ``pack`` allows.  ``is_pure=False`` keeps code whose results are unused."""

int1: dtype
int8: dtype
int16: dtype
int32: dtype
int64: dtype

def interleave(a: _Any, b: _Any) -> tensor:
    """The elements of ``a`` and ``b`` in turn along the last dimension."""

def join(a: _Any, b: _Any) -> tensor:
    """``a`` and ``b`` along a new last dimension of size 2."""

def load(
    pointer: _Any,
    mask: _Any = None,
    other: _Any = None,
    boundary_check: _Any = (),
    padding_option: str = "",
    *,
    cache_modifier: str | None = "",
    eviction_policy: str | None = "",
    volatile: bool = False,
) -> tensor:
    """The values at ``pointer``; where ``mask`` is false memory is not touched and ``other`` is given.

    ``mask`` and ``other`` are broadcast to the pointers' shape, ``other`` is converted to the pointee.  A block
    pointer takes instead ``boundary_check``, the dimensions along which the block may leave the tensor, and
    ``padding_option`` (``"zero"`` or ``"nan"``) for what is outside."""

def load_tensor_descriptor(desc: _Any, offsets: _Any) -> tensor:
    """The block of ``desc`` that begins at ``offsets``."""

def log(x: _Any) -> tensor:
    """The natural logarithm (fp32 or fp64)."""

def log2(x: _Any) -> tensor:
    """The logarithm to base 2 (fp32 or fp64)."""

def make_block_ptr(
    base: _Any, shape: _Any, strides: _Any, offsets: _Any, block_shape: _Any, order: _Any
) -> block_pointer:
    """A pointer to the block at ``offsets`` in the tensor at ``base`` of ``shape`` and ``strides`` (in elements).

    ``block_shape`` is constexpr; ``order``, the dimensions from the one that varies fastest, changes nothing."""

def make_tensor_descriptor(
    base: _Any, shape: _Any, strides: _Any, block_shape: _Any, padding_option: str = "zero"
) -> tensor_descriptor:
    """A descriptor of the tensor at ``base`` (aligned to 16 bytes), of 1 to 5 dimensions.

    ``shape`` and ``strides`` are in elements, the last stride is 1, the others are multiples of 16 bytes; all may be
    int64, and a size above 2**31 - 1, which no offset (int32) reaches, counts as that.
    ``block_shape`` is constexpr, its last dimension 16 bytes or more.  A block that leaves the tensor reads
    zeros there, or NaN with ``padding_option="nan"``, and writes only what is inside."""

def map_elementwise(scalar_fn: _Any, *args: _Any, pack: int = 1) -> _Any:
    """``scalar_fn``, a jit function of scalars that may branch, applied to the elements of ``args``.

    ``args`` are broadcast to one shape.  With ``pack`` the function takes that many elements of each argument
    after each other (x0, x1, y0, y1), and returns as many of each result.  The result is a tuple of blocks when
    the function returns a tuple, which it does for every pack but 1."""

@_overload
def max(
    input: _Any,
    axis: _Any,
    return_indices: _Literal[True],
    return_indices_tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
) -> _builtins.tuple[tensor, tensor]: ...
@_overload
def max(
    input: _Any,
    axis: _Any = None,
    *,
    return_indices: _Literal[True],
    return_indices_tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
) -> _builtins.tuple[tensor, tensor]: ...
@_overload
def max(
    input: _Any,
    axis: _Any = None,
    return_indices: _Literal[False] = False,
    return_indices_tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
) -> tensor:
    """The maximum along ``axis`` (at least 32 bits wide), with ``return_indices`` also where it stands."""

def max_constancy(input: _Any, values: _Any) -> tensor:
    """``input``, said to hold runs of ``values`` equal elements along each dimension."""

def max_contiguous(input: _Any, values: _Any) -> tensor:
    """``input``, said to hold runs of ``values`` consecutive integers along each dimension."""

def maximum(x: _Any, y: _Any, propagate_nan: PropagateNan = ...) -> tensor:
    """The larger of ``x`` and ``y``, elementwise."""

@_overload
def min(
    input: _Any,
    axis: _Any,
    return_indices: _Literal[True],
    return_indices_tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
) -> _builtins.tuple[tensor, tensor]: ...
@_overload
def min(
    input: _Any,
    axis: _Any = None,
    *,
    return_indices: _Literal[True],
    return_indices_tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
) -> _builtins.tuple[tensor, tensor]: ...
@_overload
def min(
    input: _Any,
    axis: _Any = None,
    return_indices: _Literal[False] = False,
    return_indices_tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
) -> tensor:
    """The minimum along ``axis`` (at least 32 bits wide), with ``return_indices`` also where it stands."""

def minimum(x: _Any, y: _Any, propagate_nan: PropagateNan = ...) -> tensor:
    """The smaller of ``x`` and ``y``, elementwise."""

def mul(x: _Any, y: _Any, sanitize_overflow: bool = True) -> tensor:
    """``x * y``; as :func:`add`."""

def multiple_of(input: _Any, values: _Any) -> tensor:
    """``input``, said to be divisible by ``values`` (one per dimension: of the first in each run)."""

def num_programs(axis: int) -> tensor:
    """The number of programs along ``axis`` (0, 1 or 2) of the grid: an int32."""

def pair_uniform_to_normal(u1: _Any, u2: _Any) -> _builtins.tuple[tensor, tensor]:
    """Two normal floats from two uniform ones (Box and Muller)."""

def permute(input: tensor, *dims: _Any) -> tensor:
    """The dimensions of ``input`` in the order ``dims``."""

def philox(
    seed: _Any, c0: _Any, c1: _Any, c2: _Any, c3: _Any, n_rounds: constexpr = 10
) -> _builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four random integers per counter; ``seed`` gives both words of the key."""

def philox_impl(
    c0: _Any, c1: _Any, c2: _Any, c3: _Any, k0: _Any, k1: _Any, n_rounds: constexpr = 10
) -> _builtins.tuple[tensor, tensor, tensor, tensor]:
    """``n_rounds`` rounds of Philox on the counter (c0, c1, c2, c3) with the key (k0, k1)."""

pi32_t: pointer_type

def program_id(axis: int) -> tensor:
    """The index of this program along ``axis`` (0, 1 or 2) of the grid: an int32."""

def rand(seed: _Any, offset: _Any, n_rounds: constexpr = 10) -> tensor:
    """A float32 in [0, 1) for every ``offset``."""

def rand4x(
    seed: _Any, offsets: _Any, n_rounds: constexpr = 10
) -> _builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four float32 in [0, 1) for every offset."""

def randint(seed: _Any, offset: _Any, n_rounds: constexpr = 10) -> tensor:
    """A random uint32 for every ``offset``."""

def randint4x(
    seed: _Any, offset: _Any, n_rounds: constexpr = 10
) -> _builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four random uint32 for every ``offset`` (an int32 or int64): cheaper than four calls of randint."""

def randn(seed: _Any, offset: _Any, n_rounds: constexpr = 10) -> tensor:
    """A normally distributed float32 for every ``offset``."""

def randn4x(
    seed: _Any, offset: _Any, n_rounds: constexpr = 10
) -> _builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four normally distributed float32 for every ``offset``."""

def ravel(x: _Any, can_reorder: constexpr = False) -> tensor:
    """``x`` with one dimension."""

@_overload
def reduce(input: tensor, axis: int | None, combine_fn: _Any, keep_dims: bool = False) -> tensor: ...
@_overload
def reduce(
    input: _builtins.tuple[_Any, ...], axis: int | None, combine_fn: _Any, keep_dims: bool = False
) -> _builtins.tuple[tensor, ...]:
    """``input`` (a value or a tuple of them) combined along ``axis``, or wholly when it is None.

    ``combine_fn`` is a jit function of (accumulators..., elements...) that must be associative."""

def reduce_or(input: _Any, axis: _Any, keep_dims: constexpr = False) -> tensor:
    """The inclusive or along ``axis`` of integers."""

def reshape(input: tensor, *shape: _Any, can_reorder: bool = False) -> tensor:
    """``input`` in another shape, row-major; with ``can_reorder`` in any order."""

def rsqrt(x: _Any) -> tensor:
    """1 / sqrt(x) (fp32 or fp64)."""

def sigmoid(x: _Any) -> tensor:
    """``1 / (1 + exp(-x))``."""

def sin(x: _Any) -> tensor:
    """The sine of radians (fp32 or fp64)."""

def softmax(
    x: _Any, dim: _Any = None, *, keep_dims: constexpr = None, ieee_rounding: constexpr = False
) -> tensor:
    """The softmax along ``dim`` (the first by default)."""

def sort(x: _Any, dim: constexpr = None, descending: constexpr = 0) -> tensor:
    """``x`` sorted along its last dimension, upwards, or downwards with ``descending``."""

def split(a: tensor) -> _builtins.tuple[tensor, tensor]:
    """The two halves along the last dimension, whose size is 2."""

def sqrt(x: _Any) -> tensor:
    """The square root (fp32 or fp64), with the target's fast rounding."""

def sqrt_rn(x: _Any) -> tensor:
    """The square root of fp32, rounded to nearest even."""

def squeeze(x: _Any, dim: constexpr) -> tensor:
    """``x`` without dimension ``dim``, whose size is 1."""

def static_assert(cond: _Any, msg: _Any = "") -> None:
    """Refuse to compile when the constexpr ``cond`` is false, with ``msg``."""

def static_print(
    *values: _Any, sep: str = " ", end: str = "\n", file: _Any = None, flush: bool = False
) -> None:
    """Print constexprs, types and such while compiling: to ``file``, or to standard output."""

def store(
    pointer: _Any,
    value: _Any,
    mask: _Any = None,
    boundary_check: _Any = (),
    padding_option: str = "",
    *,
    cache_modifier: str | None = "",
    eviction_policy: str | None = "",
) -> None:
    """Write ``value`` to ``pointer`` where ``mask`` is true; it is broadcast and converted to the pointee.

    A block pointer takes ``boundary_check`` instead: the dimensions along which the block may leave the tensor."""

def store_tensor_descriptor(desc: _Any, offsets: _Any, value: _Any) -> None:
    """Write ``value`` to the block of ``desc`` that begins at ``offsets``."""

def sub(x: _Any, y: _Any, sanitize_overflow: bool = True) -> tensor:
    """``x - y``; as :func:`add`."""

def sum(input: _Any, axis: _Any = None, keep_dims: constexpr = False, dtype: constexpr = None) -> tensor:
    """The sum along ``axis`` (of all elements by default); narrow numbers add up in 32 bits, floats are rounded once."""

def swizzle2d(i: _Any, j: _Any, size_i: _Any, size_j: _Any, size_g: _Any) -> _builtins.tuple[tensor, tensor]:
    """Index (i, j) of a row-major size_i x size_j grid, walked in column-major groups of size_g rows."""

def to_tensor(x: _Any) -> tensor:
    """A plain scalar as a run-time value."""

def topk(x: _Any, k: constexpr, dim: constexpr = None, descending: constexpr = True) -> tensor:
    """The ``k`` (a power of two) largest along the last dimension, sorted downwards; else smallest, upwards.

    Where fewer than all are chosen, narrow dtypes widen to 32 bits, as in :func:`max`."""

def trans(input: tensor, *dims: _Any) -> tensor:
    """The last two dimensions exchanged, or the dimensions in the order ``dims``."""

uint8: dtype
uint16: dtype
uint32: dtype
uint64: dtype

def uint_to_uniform_float(x: _Any) -> tensor:
    """A random integer as a float in [0, 1)."""

def umulhi(x: _Any, y: _Any) -> tensor:
    """The high half of the unsigned product of two 32- or 64-bit integers."""

def unsqueeze(x: _Any, dim: constexpr) -> tensor:
    """``x`` with a new dimension of size 1 at ``dim``."""

def view(input: tensor, *shape: _Any) -> tensor:
    """``input`` in another shape, elements in any order."""

void: dtype

def where(condition: _Any, x: _Any, y: _Any) -> tensor:
    """``x`` where ``condition`` is true, else ``y``; both are computed everywhere.  Pointers too."""

def xor_sum(input: _Any, axis: _Any = None, keep_dims: constexpr = False) -> tensor:
    """The exclusive or along ``axis`` of integers."""

def zeros(shape: _Any, dtype: _Any) -> tensor:
    """A block of zeros."""

def zeros_like(input: _Any) -> tensor:
    """Zeros of the shape and dtype of ``input``."""
