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
        """The absolute value of each element, in the shape and dtype of ``x``: any integer (the least signed one stays) or float.

        CompilationError for pointers."""
    def argmax(self, axis: _Any, tie_break_left: constexpr = True, keep_dims: constexpr = False) -> tensor:
        """The int32 index along ``axis`` (None: in the flattened block) of the maximum, or of a NaN: without that dimension, or of size 1 there.

        Of equal elements the lowest index, with ``tie_break_left=False`` any; ``keep_dims`` keeps the dimension.  CompilationError
        for a scalar and for an axis outside of its rank."""
    def argmin(self, axis: _Any, tie_break_left: constexpr = True, keep_dims: constexpr = False) -> tensor:
        """The int32 index along ``axis`` (None: in the flattened block) of the minimum, or of a NaN: without that dimension, or of size 1 there.

        Of equal elements the lowest index, with ``tie_break_left=False`` any; ``keep_dims`` keeps the dimension.  CompilationError
        for a scalar and for an axis outside of its rank."""
    def associative_scan(self, axis: int, combine_fn: _Any, reverse: bool = False) -> tensor:
        """The inclusive scan of ``input`` (a block, or a tuple of blocks of one shape) along ``axis``, from the end when ``reverse``.

        ``combine_fn``: as for :func:`reduce`.  The result, a tuple for a tuple, has the same shape and dtypes.  CompilationError for
        scalars, different shapes, an axis outside of the rank, and a ``combine_fn`` that gives other types."""
    def atomic_add(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Add ``val`` at ``pointer`` where ``mask``; the old values.  Elements are of 32 or 64 bits, fp16 or bf16.

        ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
        pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
        ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
        CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""
    def atomic_and(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Bitwise and with ``val`` at ``pointer`` where ``mask``; the old values.  Integers of 32 or 64 bits.

        ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
        pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
        ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
        CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""
    def atomic_cas(self, cmp: _Any, val: _Any, sem: str | None = None, scope: str | None = None) -> tensor:
        """Put ``val`` at ``pointer`` where it holds ``cmp``; the old values, of the pointer's shape and its pointee's dtype.

        Elements are numbers of 16, 32 or 64 bits; ``cmp`` and ``val`` are broadcast to the pointer's shape and converted to them.
        ``sem`` and ``scope``: as of :func:`atomic_add`.  CompilationError for other elements, a constant pointer and shapes that do
        not broadcast."""
    def atomic_load(self, mask: _Any = None, sem: str | None = None, scope: str | None = None) -> tensor:
        """The values at ``pointer`` where ``mask`` (int1, broadcast to its shape; elsewhere undefined), in its shape and pointee's dtype.

        ``sem``: ``"acquire"`` (default) or ``"relaxed"``; ``scope``: as of :func:`atomic_add`.  CompilationError for pointers as elements,
        and for another ``sem`` or ``scope``."""
    def atomic_max(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Put the larger of ``val`` and what is there at ``pointer`` where ``mask``; the old values.  Numbers of 32 or 64 bits.

        ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
        pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
        ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
        CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""
    def atomic_min(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Put the smaller of ``val`` and what is there at ``pointer`` where ``mask``; the old values.  Numbers of 32 or 64 bits.

        ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
        pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
        ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
        CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""
    def atomic_or(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Bitwise or with ``val`` at ``pointer`` where ``mask``; the old values.  Integers of 32 or 64 bits.

        ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
        pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
        ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
        CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""
    def atomic_poll(
        self, expected_value: _Any, sem: str | None = None, scope: str | None = None, timeout_ns: _Any = None
    ) -> tensor:
        """Wait until memory at ``pointer`` holds ``expected_value``; int1, false where ``timeout_ns`` passed before.

        Elements are integers of 16, 32 or 64 bits; ``expected_value`` is broadcast to the pointer's shape, which the result has.
        ``timeout_ns``, a scalar in nanoseconds, is for all of them together, and each is read once at least.  ``sem``: acquire
        (default) or relaxed.  CompilationError for other elements, a negative ``timeout_ns``, and another ``sem`` or ``scope``."""
    def atomic_store(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> None:
        """Put ``val`` at ``pointer`` where ``mask`` (int1); both are broadcast to its shape, ``val`` is converted to the pointee.

        ``sem``: ``"release"`` (default) or ``"relaxed"``; ``scope``: as of :func:`atomic_add`.  CompilationError for pointers as elements,
        a constant pointer, and another ``sem`` or ``scope``."""
    def atomic_xchg(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Put ``val`` at ``pointer`` where ``mask``; the old values.  Elements are numbers of 32 or 64 bits.

        ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
        pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
        ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
        CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""
    def atomic_xor(
        self, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
    ) -> tensor:
        """Bitwise exclusive or with ``val`` at ``pointer`` where ``mask``; the old values.  Integers of 32 or 64 bits.

        ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
        pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
        ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
        CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""
    def broadcast_to(self, *shape: _Any) -> tensor:
        """``input`` stretched to ``shape`` (constexpr ints, as one tuple or one by one), of its dtype.

        Dimensions of size 1 are stretched, missing leading ones added; CompilationError where another size differs."""
    def cast(self, dtype: _dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> tensor:
        """``input`` converted to ``dtype``, in its shape; with ``bitcast`` its bits reread, else its value converted.

        ``fp_downcast_rounding`` (``"rtne"`` or ``"rtz"``) rounds a cast to a narrower float.  CompilationError for a rounding of
        another cast, for a bitcast to another width, and between floats and pointers."""
    def cdiv(self, div: _Any) -> tensor:
        """``x / div``, rounded up, elementwise, of non-negative integers promoted to one dtype; CompilationError for floats."""
    def ceil(self) -> tensor:
        """The smallest integer not below each element, as a float of its dtype (fp32 or fp64); CompilationError for other dtypes."""
    def cos(self) -> tensor:
        """The cosine of each element, in radians (fp32 or fp64); CompilationError for other dtypes."""
    def cumprod(self, axis: _Any = 0, reverse: constexpr = False, dtype: constexpr = None) -> tensor:
        """The running product along ``axis``, from the end with ``reverse``: of the shape of ``input``.

        Its dtype is ``dtype``, by default that of ``input``, but 32 bits for narrower integers; narrow floats are multiplied in fp32
        and rounded once.  CompilationError for an axis outside of its rank."""
    def cumsum(self, axis: _Any = 0, reverse: constexpr = False, dtype: constexpr = None) -> tensor:
        """The running sum along ``axis``, from the end with ``reverse``: of the shape of ``input``.

        Its dtype is ``dtype``, by default that of ``input``, but 32 bits for narrower integers; narrow floats add up in fp32 and are
        rounded once.  CompilationError for an axis outside of its rank."""
    @property
    def dtype(self) -> _dtype: ...
    def erf(self) -> tensor:
        """The error function of each element (fp32 or fp64); CompilationError for other dtypes."""
    def exp(self) -> tensor:
        """e to the power of each element of ``x`` (fp32 or fp64), in its shape and dtype; CompilationError for other dtypes."""
    def exp2(self) -> tensor:
        """2 to the power of each element of ``x`` (fp32 or fp64), in its shape and dtype; CompilationError for other dtypes."""
    def expand_dims(self, axis: _Any) -> tensor:
        """New dimensions of size 1 at ``axis`` (a constexpr int or several, counted in the result), of the dtype of ``input``.

        CompilationError for an axis that is outside of the result's rank or given twice."""
    def flip(self, dim: constexpr = None) -> tensor:
        """``x`` with dimension ``dim`` (constexpr; the last by default) reversed: of the same shape and dtype.

        CompileTimeAssertionFailure for a dimension outside of its rank."""
    def floor(self) -> tensor:
        """The largest integer not above each element, as a float of its dtype (fp32 or fp64); CompilationError for other dtypes."""
    def gather(self, index: tensor, axis: int) -> tensor:
        """``src[..., index[..., i, ...], ...]`` along ``axis``: a block of the shape of ``index`` and the dtype of ``src``.

        ``index``: integers, of the rank of ``src`` and equal to it in the other dimensions; CompilationError otherwise.  An index
        outside of the dimension is undefined, an error in the interpreter."""
    def histogram(self, num_bins: int, mask: _Any = None) -> tensor:
        """Counts of the values 0 to ``num_bins - 1`` in ``input`` where ``mask`` is true: int32 of shape (num_bins,).

        ``input``: integers of one dimension, ``mask``: of its shape.  Values outside of the bins are not counted.
        CompilationError for floats, other ranks and a mask of another shape."""
    def item(self) -> tensor:
        """The one element of a block, as a scalar."""
    def log(self) -> tensor:
        """The natural logarithm of each element (fp32 or fp64): NaN below 0, -inf at 0; CompilationError for other dtypes."""
    def log2(self) -> tensor:
        """The logarithm to base 2 of each element (fp32 or fp64): NaN below 0, -inf at 0; CompilationError for other dtypes."""
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
        """The maximum along ``axis`` (of all elements by default): without that dimension, with ``keep_dims`` of size 1 there.

        Narrow dtypes widen to int32 or fp32; a NaN loses to a number.  With ``return_indices`` a pair: the maximum in the dtype of
        ``input``, where a NaN wins, and its int32 index, the lowest of equal ones unless ``return_indices_tie_break_left=False``.
        CompilationError for a scalar and for an axis outside of its rank."""
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
        """The minimum along ``axis`` (of all elements by default): without that dimension, with ``keep_dims`` of size 1 there.

        Narrow dtypes widen to int32 or fp32; a NaN loses to a number.  With ``return_indices`` a pair: the minimum in the dtype of
        ``input``, where a NaN wins, and its int32 index, the lowest of equal ones unless ``return_indices_tie_break_left=False``.
        CompilationError for a scalar and for an axis outside of its rank."""
    @property
    def numel(self) -> constexpr: ...
    def permute(self, *dims: _Any) -> tensor:
        """The dimensions of ``input`` in the order ``dims`` (constexpr ints, negative ones from the end), of its dtype.

        CompilationError for dimensions that are no permutation."""
    def ravel(self, can_reorder: constexpr = False) -> tensor:
        """The elements of ``x``, of its dtype, as one dimension: row-major, with ``can_reorder`` in any order.

        CompilationError for a Python number."""
    def reduce(self, axis: int | None, combine_fn: _Any, keep_dims: bool = False) -> tensor:
        """``input`` (a block, or a tuple of blocks of one shape) combined along ``axis``, or wholly when it is None.

        ``combine_fn`` is a jit function of (accumulators..., elements...), scalars of the blocks' dtypes, that must be associative.
        The result, a tuple for a tuple, has the same dtypes, without the dimension or, with ``keep_dims``, of size 1 there.
        CompilationError for scalars, different shapes, an axis outside of the rank, and a ``combine_fn`` that gives other types."""
    def reduce_or(self, axis: _Any, keep_dims: constexpr = False) -> tensor:
        """The inclusive or along ``axis`` (None: of all elements) of integers, of their dtype: without that dimension, or of size 1 there.

        ``keep_dims`` keeps the dimension.  CompilationError for floats, a scalar and an axis outside of its rank."""
    def reshape(self, *shape: _Any, can_reorder: bool = False) -> tensor:
        """``input`` in another ``shape`` (constexpr ints), row-major, of its dtype; with ``can_reorder`` its elements in any order.

        CompilationError for another number of elements."""
    def rsqrt(self) -> tensor:
        """1 / sqrt(x) of each element (fp32 or fp64); CompilationError for other dtypes."""
    @property
    def shape(self) -> _builtins.tuple[constexpr, ...]: ...
    def sigmoid(self) -> tensor:
        """``1 / (1 + exp(-x))``, elementwise, in the shape and dtype of ``x`` (fp32 or fp64); CompilationError for other dtypes."""
    def sin(self) -> tensor:
        """The sine of each element, in radians (fp32 or fp64); CompilationError for other dtypes."""
    def softmax(
        self, dim: _Any = None, *, keep_dims: constexpr = None, ieee_rounding: constexpr = False
    ) -> tensor:
        """The softmax along ``dim`` (the first by default) of floats, in the shape of ``x``: fp32, of fp64 fp64.

        ``ieee_rounding`` rounds its division to nearest even; ``keep_dims`` changes nothing.  CompilationError for integers and for a
        ``dim`` outside of the rank."""
    def sort(self, dim: constexpr = None, descending: constexpr = 0) -> tensor:
        """``x`` sorted along its last dimension, upwards, or downwards with ``descending``: of the same shape and dtype.

        CompileTimeAssertionFailure for another ``dim``."""
    def split(self) -> _builtins.tuple[tensor, tensor]:
        """The two halves along the last dimension, whose size is 2: blocks without it (scalars, of rank 1), of the dtype of ``a``.

        CompilationError for another size."""
    def sqrt(self) -> tensor:
        """The square root of each element (fp32 or fp64), with the target's fast rounding; CompilationError for other dtypes."""
    def sqrt_rn(self) -> tensor:
        """The square root of each element (fp32), rounded to nearest even; CompilationError for other dtypes."""
    def store(
        self,
        value: _Any,
        mask: _Any = None,
        boundary_check: _Any = (),
        padding_option: str = "",
        *,
        cache_modifier: str | None = "",
        eviction_policy: str | None = "",
        modifiers: _Any = (),
    ) -> None:
        """Write ``value`` to ``pointer`` where ``mask`` (int1) is true; both are broadcast to its shape, the value is converted to the pointee.

        A block pointer takes ``boundary_check`` instead: the dimensions along which the block may leave the tensor.
        ``modifiers``: one that a plugin declares, or a tuple of them.  CompilationError for no pointer, a constant one, a mask that is not int1, and shapes that do not broadcast."""
    def sum(self, axis: _Any = None, keep_dims: constexpr = False, dtype: constexpr = None) -> tensor:
        """The sum along ``axis`` (of all elements by default): without that dimension, with ``keep_dims`` of size 1 there.

        Its dtype is ``dtype``, by default that of ``input``, but 32 bits for narrower integers; narrow floats add up in fp32 and are
        rounded once.  CompilationError for a scalar and for an axis outside of its rank."""
    def to(self, dtype: _dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> tensor:
        """As :func:`cast`; the method ``x.to(dtype)``."""
    def trans(self, *dims: _Any) -> tensor:
        """The last two dimensions of ``input`` exchanged, or its dimensions in the order ``dims`` (constexpr ints), of its dtype.

        CompilationError for fewer than two dimensions, and for ``dims`` that are no permutation."""
    def view(self, *shape: _Any) -> tensor:
        """``input`` in another ``shape`` (constexpr ints), of its dtype, elements in any order; CompilationError for another number of elements."""
    def xor_sum(self, axis: _Any = None, keep_dims: constexpr = False) -> tensor:
        """The exclusive or along ``axis`` (of all elements by default) of integers, of their dtype: without that dimension, or of size 1 there.

        ``keep_dims`` keeps the dimension.  CompilationError for floats, a scalar and an axis outside of its rank."""
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
        self,
        offsets: _Any,
        cache_modifier: str | None = "",
        eviction_policy: str | None = "",
        *,
        modifiers: _Any = (),
    ) -> tensor:
        """The block that begins at ``offsets`` (int32, in elements); out of bounds is padded."""
    def scatter(self, value: _Any, x_offsets: _Any, y_offset: _Any) -> None:
        """Write the rows of ``value`` to rows ``x_offsets`` from column ``y_offset`` on."""
    def store(
        self,
        offsets: _Any,
        value: _Any,
        cache_modifier: str | None = "",
        eviction_policy: str | None = "",
        *,
        modifiers: _Any = (),
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
        modifiers: _Any = (),
    ) -> None:
        """Write ``value`` to ``pointer`` where ``mask`` (int1) is true; both are broadcast to its shape, the value is converted to the pointee.

        A block pointer takes ``boundary_check`` instead: the dimensions along which the block may leave the tensor.
        ``modifiers``: one that a plugin declares, or a tuple of them.  CompilationError for no pointer, a constant one, a mask that is not int1, and shapes that do not broadcast."""
    @property
    def type(self) -> _pointer_type: ...

class range:
    """A loop at run time, as Python's range, with hints to the compiler.

    ``arg1``, ``arg2`` and ``step`` are Python's (end, or start, end and step): integer scalars of one dtype after promotion.
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
    """A loop that is unrolled while compiling: its bounds are constexpr, and so is its variable.

    ``arg1``, ``arg2`` and ``step`` are as those of Python's range: end, or start, end and step."""
    def __init__(self, arg1: _Any, arg2: _Any = None, step: _Any = None) -> None: ...
    def __iter__(self) -> _Iterator[constexpr]: ...

class condition:
    """The condition ``arg1`` of a ``while``, a scalar, with hints: ``while tl.condition(x > 0, disable_licm=True)``."""
    def __init__(self, arg1: _Any, disable_licm: bool = False) -> None: ...
    def __bool__(self) -> bool: ...

TRITON_MAX_TENSOR_NUMEL: int

def abs(x: _Any) -> tensor:
    """The absolute value of each element, in the shape and dtype of ``x``: any integer (the least signed one stays) or float.

    CompilationError for pointers."""

def add(x: _Any, y: _Any, sanitize_overflow: bool = True) -> tensor:
    """``x + y``, elementwise: numbers promoted to one dtype, or a pointer and an integer offset in elements; broadcast to one shape.

    ``sanitize_overflow=False`` leaves out the check that the options ``debug`` and ``sanitize_overflow`` ask for: KernelFault
    where integers of fewer than 64 bits overflow.  Unchecked integers wrap.  CompilationError for dtypes without a common
    one and for shapes that do not broadcast."""

def advance(base: _Any, offsets: _Any) -> block_pointer:
    """The block pointer ``base`` moved by ``offsets`` (integers, in elements), one per dimension.

    CompilationError for another pointer or another number of offsets."""

def arange(start: int, end: int) -> tensor:
    """The values ``start`` to ``end - 1``: an int32 block of shape (end - start,), which is a power of two where the target asks so.

    Both are constexpr ints; CompilationError for run-time values, an empty range and one that int32 does not hold."""

def argmax(input: _Any, axis: _Any, tie_break_left: constexpr = True, keep_dims: constexpr = False) -> tensor:
    """The int32 index along ``axis`` (None: in the flattened block) of the maximum, or of a NaN: without that dimension, or of size 1 there.

    Of equal elements the lowest index, with ``tie_break_left=False`` any; ``keep_dims`` keeps the dimension.  CompilationError
    for a scalar and for an axis outside of its rank."""

def argmin(input: _Any, axis: _Any, tie_break_left: constexpr = True, keep_dims: constexpr = False) -> tensor:
    """The int32 index along ``axis`` (None: in the flattened block) of the minimum, or of a NaN: without that dimension, or of size 1 there.

    Of equal elements the lowest index, with ``tie_break_left=False`` any; ``keep_dims`` keeps the dimension.  CompilationError
    for a scalar and for an axis outside of its rank."""

@_overload
def associative_scan(input: tensor, axis: int, combine_fn: _Any, reverse: bool = False) -> tensor: ...
@_overload
def associative_scan(
    input: _builtins.tuple[_Any, ...], axis: int, combine_fn: _Any, reverse: bool = False
) -> _builtins.tuple[tensor, ...]:
    """The inclusive scan of ``input`` (a block, or a tuple of blocks of one shape) along ``axis``, from the end when ``reverse``.

    ``combine_fn``: as for :func:`reduce`.  The result, a tuple for a tuple, has the same shape and dtypes.  CompilationError for
    scalars, different shapes, an axis outside of the rank, and a ``combine_fn`` that gives other types."""

def assume(cond: _Any) -> None:
    """Let the compiler rely on the scalar ``cond`` (int1, or a number that is compared with 0); undefined behaviour when it is false.

    CompilationError for a block."""

def atomic_add(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Add ``val`` at ``pointer`` where ``mask``; the old values.  Elements are of 32 or 64 bits, fp16 or bf16.

    ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
    pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
    ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
    CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""

def atomic_and(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Bitwise and with ``val`` at ``pointer`` where ``mask``; the old values.  Integers of 32 or 64 bits.

    ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
    pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
    ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
    CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""

def atomic_cas(
    pointer: _Any, cmp: _Any, val: _Any, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Put ``val`` at ``pointer`` where it holds ``cmp``; the old values, of the pointer's shape and its pointee's dtype.

    Elements are numbers of 16, 32 or 64 bits; ``cmp`` and ``val`` are broadcast to the pointer's shape and converted to them.
    ``sem`` and ``scope``: as of :func:`atomic_add`.  CompilationError for other elements, a constant pointer and shapes that do
    not broadcast."""

def atomic_load(pointer: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None) -> tensor:
    """The values at ``pointer`` where ``mask`` (int1, broadcast to its shape; elsewhere undefined), in its shape and pointee's dtype.

    ``sem``: ``"acquire"`` (default) or ``"relaxed"``; ``scope``: as of :func:`atomic_add`.  CompilationError for pointers as elements,
    and for another ``sem`` or ``scope``."""

def atomic_max(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Put the larger of ``val`` and what is there at ``pointer`` where ``mask``; the old values.  Numbers of 32 or 64 bits.

    ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
    pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
    ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
    CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""

def atomic_min(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Put the smaller of ``val`` and what is there at ``pointer`` where ``mask``; the old values.  Numbers of 32 or 64 bits.

    ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
    pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
    ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
    CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""

def atomic_or(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Bitwise or with ``val`` at ``pointer`` where ``mask``; the old values.  Integers of 32 or 64 bits.

    ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
    pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
    ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
    CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""

def atomic_poll(
    pointer: _Any,
    expected_value: _Any,
    sem: str | None = None,
    scope: str | None = None,
    timeout_ns: _Any = None,
) -> tensor:
    """Wait until memory at ``pointer`` holds ``expected_value``; int1, false where ``timeout_ns`` passed before.

    Elements are integers of 16, 32 or 64 bits; ``expected_value`` is broadcast to the pointer's shape, which the result has.
    ``timeout_ns``, a scalar in nanoseconds, is for all of them together, and each is read once at least.  ``sem``: acquire
    (default) or relaxed.  CompilationError for other elements, a negative ``timeout_ns``, and another ``sem`` or ``scope``."""

def atomic_store(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> None:
    """Put ``val`` at ``pointer`` where ``mask`` (int1); both are broadcast to its shape, ``val`` is converted to the pointee.

    ``sem``: ``"release"`` (default) or ``"relaxed"``; ``scope``: as of :func:`atomic_add`.  CompilationError for pointers as elements,
    a constant pointer, and another ``sem`` or ``scope``."""

def atomic_xchg(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Put ``val`` at ``pointer`` where ``mask``; the old values.  Elements are numbers of 32 or 64 bits.

    ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
    pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
    ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
    CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""

def atomic_xor(
    pointer: _Any, val: _Any, mask: _Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Bitwise exclusive or with ``val`` at ``pointer`` where ``mask``; the old values.  Integers of 32 or 64 bits.

    ``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
    pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
    ``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
    CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``."""

bfloat16: dtype

def bitonic_merge(x: _Any, dim: constexpr = None, descending: constexpr = 0) -> tensor:
    """``x``, whose last dimension rises and then falls (or the reverse), sorted along it: of the same shape and dtype.

    ``descending`` sorts downwards.  Of other sequences the order is undefined; CompileTimeAssertionFailure for another ``dim``."""

def broadcast(input: tensor, other: tensor) -> _builtins.tuple[tensor, tensor]:
    """Both values in their common shape, each of its own dtype; CompilationError for shapes that do not broadcast."""

def broadcast_to(input: _Any, *shape: _Any) -> tensor:
    """``input`` stretched to ``shape`` (constexpr ints, as one tuple or one by one), of its dtype.

    Dimensions of size 1 are stretched, missing leading ones added; CompilationError where another size differs."""

def cast(
    input: _Any, dtype: _dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False
) -> tensor:
    """``input`` converted to ``dtype``, in its shape; with ``bitcast`` its bits reread, else its value converted.

    ``fp_downcast_rounding`` (``"rtne"`` or ``"rtz"``) rounds a cast to a narrower float.  CompilationError for a rounding of
    another cast, for a bitcast to another width, and between floats and pointers."""

def cat(input: tensor, other: tensor, can_reorder: bool = False, dim: int = 0) -> tensor:
    """Two blocks of one type one after the other along ``dim``, whose size doubles; with ``can_reorder`` (rank 1) in any order.

    CompilationError for different shapes or dtypes."""

def cdiv(x: _Any, div: _Any) -> tensor:
    """``x / div``, rounded up, elementwise, of non-negative integers promoted to one dtype; CompilationError for floats."""

def ceil(x: _Any) -> tensor:
    """The smallest integer not below each element, as a float of its dtype (fp32 or fp64); CompilationError for other dtypes."""

def clamp(x: _Any, min: _Any, max: _Any, propagate_nan: PropagateNan = ...) -> tensor:
    """``x`` held between ``min`` and ``max``, elementwise: promoted to one dtype, broadcast to one shape; undefined when ``min > max``.

    ``propagate_nan``: as for :func:`maximum`.  CompilationError for pointers and for shapes that do not broadcast."""

def cos(x: _Any) -> tensor:
    """The cosine of each element, in radians (fp32 or fp64); CompilationError for other dtypes."""

def cumprod(input: _Any, axis: _Any = 0, reverse: constexpr = False, dtype: constexpr = None) -> tensor:
    """The running product along ``axis``, from the end with ``reverse``: of the shape of ``input``.

    Its dtype is ``dtype``, by default that of ``input``, but 32 bits for narrower integers; narrow floats are multiplied in fp32
    and rounded once.  CompilationError for an axis outside of its rank."""

def cumsum(input: _Any, axis: _Any = 0, reverse: constexpr = False, dtype: constexpr = None) -> tensor:
    """The running sum along ``axis``, from the end with ``reverse``: of the shape of ``input``.

    Its dtype is ``dtype``, by default that of ``input``, but 32 bits for narrower integers; narrow floats add up in fp32 and are
    rounded once.  CompilationError for an axis outside of its rank."""

def debug_barrier() -> None:
    """Barrier: all threads of a program wait for each other, and see each other's memory; undefined where only some reach it."""

def device_assert(cond: _Any, msg: str = "", mask: _Any = None) -> None:
    """Fail the kernel with ``msg`` where ``cond`` is false and ``mask``, broadcast to one shape with it, true; only with debug=True.

    Both are int1, or numbers that are compared with 0.  Where it fails a later wait for the device raises KernelFault."""

def device_print(prefix: str, *args: _Any, hex: bool = False) -> None:
    """Print ``prefix`` (a constexpr string) and the elements of ``args``, of any shape and dtype, from the kernel, a line for each.

    ``hex``: integers and pointers with all their hexadecimal digits, floats as C's ``%a`` (those of 8 bits as integers).
    CompilationError for a prefix that is not printable ASCII."""

def div_rn(x: _Any, y: _Any) -> tensor:
    """``x / y``, elementwise and rounded to nearest even: fp32 after promotion, broadcast to one shape; CompilationError for other dtypes."""

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
    of the short sums, 0 asks for the shortest that the target has, None for no limit.

    CompilationError for operands of different dtypes (8-bit floats may differ), batches or K, for dimensions below the target's
    least and for an ``acc`` of another type; Unsupported for an ``input_precision`` that the target lacks."""

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
    """``(lhs * lhs_scale) @ (rhs * rhs_scale) + acc`` in fp32, blocks of M x K and K x N (with a batch before them).

    Formats: ``e2m1`` (two in a uint8, the first in the low bits, along K unless ``k_pack`` is false), ``e4m3``,
    ``e5m2`` (fp8 or uint8), ``bf16``, ``fp16``.  Scales are e8m0 in uint8 of M x K/32 and N x K/32, or None.
    Where the target has no such instruction, operands are converted to bf16 (to fp16 when one of them is).
    With ``fast_math`` the scale 0xFF need not give NaN.  CompilationError for other formats, dtypes and shapes."""

def erf(x: _Any) -> tensor:
    """The error function of each element (fp32 or fp64); CompilationError for other dtypes."""

def exp(x: _Any) -> tensor:
    """e to the power of each element of ``x`` (fp32 or fp64), in its shape and dtype; CompilationError for other dtypes."""

def exp2(x: _Any) -> tensor:
    """2 to the power of each element of ``x`` (fp32 or fp64), in its shape and dtype; CompilationError for other dtypes."""

def expand_dims(input: _Any, axis: _Any) -> tensor:
    """New dimensions of size 1 at ``axis`` (a constexpr int or several, counted in the result), of the dtype of ``input``.

    CompilationError for an axis that is outside of the result's rank or given twice."""

def expect_zero(x: _Any, mask: _Any) -> _Any:
    """``x`` (any shape and dtype), said to be zero where ``mask`` (int1, broadcast to it) is true.

    With ``debug=True`` that is asserted: KernelFault where it does not hold."""

def fdiv(x: _Any, y: _Any, ieee_rounding: bool = False, approx: bool = False) -> tensor:
    """``x / y`` of floats, elementwise: promoted to one dtype (fp32 or fp64), broadcast to one shape.

    ``ieee_rounding``: rounded to nearest even in fp32; ``approx``: the target's fast division, of fp32 only.
    CompilationError for integers, for ``approx`` of another dtype, and for both at once."""

def flip(x: _Any, dim: constexpr = None) -> tensor:
    """``x`` with dimension ``dim`` (constexpr; the last by default) reversed: of the same shape and dtype.

    CompileTimeAssertionFailure for a dimension outside of its rank."""

float8e4b8: dtype
float8e4b15: dtype
float8e4nv: dtype
float8e5: dtype
float8e5b16: dtype
float16: dtype
float32: dtype
float64: dtype

def floor(x: _Any) -> tensor:
    """The largest integer not above each element, as a float of its dtype (fp32 or fp64); CompilationError for other dtypes."""

def fma(x: _Any, y: _Any, z: _Any) -> tensor:
    """``x * y + z``, elementwise and rounded once: floats of one dtype after promotion, broadcast to one shape.

    CompilationError for integers, and for shapes that do not broadcast."""

def full(shape: _Any, value: _Any, dtype: _dtype) -> tensor:
    """A block of ``shape`` (constexpr ints; empty: a scalar) with the scalar ``value`` everywhere, converted to ``dtype``.

    CompilationError for a block as ``value``, for no dtype, and for a dimension that is no power of two where the target asks so."""

def gather(src: tensor, index: tensor, axis: int) -> tensor:
    """``src[..., index[..., i, ...], ...]`` along ``axis``: a block of the shape of ``index`` and the dtype of ``src``.

    ``index``: integers, of the rank of ``src`` and equal to it in the other dimensions; CompilationError otherwise.  An index
    outside of the dimension is undefined, an error in the interpreter."""

def histogram(input: tensor, num_bins: int, mask: _Any = None) -> tensor:
    """Counts of the values 0 to ``num_bins - 1`` in ``input`` where ``mask`` is true: int32 of shape (num_bins,).

    ``input``: integers of one dimension, ``mask``: of its shape.  Values outside of the bins are not counted.
    CompilationError for floats, other ranks and a mask of another shape."""

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
    32-bit registers, as many as fit and ``pack`` allows.  ``is_pure=False`` keeps code whose results are unused.
    CompilationError for assembly that is no constexpr string, and for a number of elements that ``pack`` does not divide."""

int1: dtype
int8: dtype
int16: dtype
int32: dtype
int64: dtype

def interleave(a: _Any, b: _Any) -> tensor:
    """The elements of ``a`` and ``b`` in turn along the last dimension, whose size doubles; of scalars a block of 2.

    Both are promoted to one dtype and of the shape of ``a``; CompilationError where ``b`` does not broadcast to it."""

def join(a: _Any, b: _Any) -> tensor:
    """``a`` and ``b`` along a new last dimension of size 2: promoted to one dtype, broadcast to one shape; of scalars a block of 2.

    CompilationError for shapes that do not broadcast."""

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
    modifiers: _Any = (),
) -> tensor:
    """The values at ``pointer``, in its shape and the pointee's dtype; where ``mask`` is false memory is not touched and ``other`` is given.

    ``mask`` (int1) and ``other`` are broadcast to the pointers' shape, ``other`` is converted to the pointee; without it the
    values there are undefined.  A block pointer takes instead ``boundary_check``, the dimensions along which the block may leave the
    tensor, and ``padding_option`` (``"zero"`` or ``"nan"``) for what is outside.  ``modifiers``: one that a plugin declares
    (``tl.extra.acme.cache("stream")``), or a tuple of them.  CompilationError for no pointer, a mask that
    is not int1, shapes that do not broadcast, ``other`` without a mask, and hints that are unknown."""

def load_tensor_descriptor(desc: _Any, offsets: _Any) -> tensor:
    """The block of ``desc`` (of its block's shape and dtype) that begins at ``offsets`` (int32, in elements, one per dimension).

    CompilationError for anything but a descriptor, for another number of offsets, and for wider ones."""

def log(x: _Any) -> tensor:
    """The natural logarithm of each element (fp32 or fp64): NaN below 0, -inf at 0; CompilationError for other dtypes."""

def log2(x: _Any) -> tensor:
    """The logarithm to base 2 of each element (fp32 or fp64): NaN below 0, -inf at 0; CompilationError for other dtypes."""

def make_block_ptr(
    base: _Any, shape: _Any, strides: _Any, offsets: _Any, block_shape: _Any, order: _Any
) -> block_pointer:
    """A pointer to the block at ``offsets`` in the tensor at ``base`` of ``shape`` and ``strides`` (in elements).

    These three are lists of integers, one per dimension, taken as int64; ``block_shape`` is constexpr; ``order``, the dimensions
    from the one that varies fastest, changes nothing.  CompilationError for a block of pointers and for lists of other lengths."""

def make_tensor_descriptor(
    base: _Any, shape: _Any, strides: _Any, block_shape: _Any, padding_option: str = "zero"
) -> tensor_descriptor:
    """A descriptor of the tensor at ``base`` (aligned to 16 bytes), of 1 to 5 dimensions.

    ``shape`` and ``strides`` are in elements, the last stride is 1, the others are multiples of 16 bytes; all may be
    int64, and a size above 2**31 - 1, which no offset (int32) reaches, counts as that.
    ``block_shape`` is constexpr, its last dimension 16 bytes or more.  A block that leaves the tensor reads
    zeros there, or NaN with ``padding_option="nan"``, and writes only what is inside.  CompilationError for anything else."""

def map_elementwise(scalar_fn: _Any, *args: _Any, pack: int = 1) -> _Any:
    """``scalar_fn``, a jit function of scalars that may branch, applied to the elements of ``args``.

    ``args`` are broadcast to one shape, each keeps its dtype.  With ``pack`` the function takes that many elements of each
    argument after each other (x0, x1, y0, y1), and returns as many of each result.  The result is a tuple of blocks when
    the function returns a tuple, which it does for every pack but 1.  CompilationError for a function that returns blocks
    or, within a pack, several dtypes, and for a number of elements that ``pack`` does not divide."""

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
    """The maximum along ``axis`` (of all elements by default): without that dimension, with ``keep_dims`` of size 1 there.

    Narrow dtypes widen to int32 or fp32; a NaN loses to a number.  With ``return_indices`` a pair: the maximum in the dtype of
    ``input``, where a NaN wins, and its int32 index, the lowest of equal ones unless ``return_indices_tie_break_left=False``.
    CompilationError for a scalar and for an axis outside of its rank."""

def max_constancy(input: _Any, values: _Any) -> tensor:
    """``input`` (any dtype), said to hold runs of ``values`` equal elements, constexpr ints, one per dimension.

    What follows from a false hint is undefined.  CompilationError for values that are no constexpr ints, or not one per dimension."""

def max_contiguous(input: _Any, values: _Any) -> tensor:
    """``input`` (integers or pointers), said to hold runs of ``values`` consecutive ones, constexpr ints, one per dimension.

    What follows from a false hint is undefined.  CompilationError for values that are no constexpr ints, or not one per dimension."""

def maximum(x: _Any, y: _Any, propagate_nan: PropagateNan = ...) -> tensor:
    """The larger of ``x`` and ``y``, elementwise: promoted to one dtype, broadcast to one shape.

    Of a NaN and a number it gives the number, with ``propagate_nan=PropagateNan.ALL`` NaN.  CompilationError for pointers and
    for shapes that do not broadcast."""

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
    """The minimum along ``axis`` (of all elements by default): without that dimension, with ``keep_dims`` of size 1 there.

    Narrow dtypes widen to int32 or fp32; a NaN loses to a number.  With ``return_indices`` a pair: the minimum in the dtype of
    ``input``, where a NaN wins, and its int32 index, the lowest of equal ones unless ``return_indices_tie_break_left=False``.
    CompilationError for a scalar and for an axis outside of its rank."""

def minimum(x: _Any, y: _Any, propagate_nan: PropagateNan = ...) -> tensor:
    """The smaller of ``x`` and ``y``, elementwise: promoted to one dtype, broadcast to one shape.

    Of a NaN and a number it gives the number, with ``propagate_nan=PropagateNan.ALL`` NaN.  CompilationError for pointers and
    for shapes that do not broadcast."""

def mul(x: _Any, y: _Any, sanitize_overflow: bool = True) -> tensor:
    """``x * y``, elementwise: numbers promoted to one dtype, broadcast to one shape; checks of overflow as in :func:`add`.

    CompilationError for pointers, for dtypes without a common one and for shapes that do not broadcast."""

def multiple_of(input: _Any, values: _Any) -> tensor:
    """``input`` (integers or pointers), said to be divisible by ``values``, constexpr ints, one per dimension: of the first in each run.

    What follows from a false hint is undefined.  CompilationError for values that are no constexpr ints, or not one per dimension."""

def num_programs(axis: int) -> tensor:
    """The number of programs along ``axis`` (0, 1 or 2) of the grid: an int32; CompilationError for another axis."""

def pair_uniform_to_normal(u1: _Any, u2: _Any) -> _builtins.tuple[tensor, tensor]:
    """Two blocks of normal floats from two of uniform ones (Box and Muller), in their shape and dtype, fp32 or fp64.

    CompilationError for other dtypes."""

def permute(input: tensor, *dims: _Any) -> tensor:
    """The dimensions of ``input`` in the order ``dims`` (constexpr ints, negative ones from the end), of its dtype.

    CompilationError for dimensions that are no permutation."""

def philox(
    seed: _Any, c0: _Any, c1: _Any, c2: _Any, c3: _Any, n_rounds: constexpr = 10
) -> _builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four random integers per counter (c0, c1, c2, c3), of its shape: uint32, or uint64 for a counter of 64 bits.

    ``seed``, an integer, gives both words of the key.  CompilationError for counters of other widths,
    CompileTimeAssertionFailure for a seed that is no integer."""

def philox_impl(
    c0: _Any, c1: _Any, c2: _Any, c3: _Any, k0: _Any, k1: _Any, n_rounds: constexpr = 10
) -> _builtins.tuple[tensor, tensor, tensor, tensor]:
    """``n_rounds`` rounds of Philox on the counter (c0, c1, c2, c3) with the key (k0, k1): four words of the shape of the counter's.

    All are words of one dtype, uint32 or uint64; CompilationError for other dtypes."""

pi32_t: pointer_type

def program_id(axis: int) -> tensor:
    """The index of this program along ``axis`` (0, 1 or 2) of the grid: an int32; CompilationError for another axis."""

def rand(seed: _Any, offset: _Any, n_rounds: constexpr = 10) -> tensor:
    """A float32 in [0, 1) for every ``offset`` (an int32 or int64 value), in its shape.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a ``seed`` that is no integer."""

def rand4x(
    seed: _Any, offsets: _Any, n_rounds: constexpr = 10
) -> _builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four float32 in [0, 1) for every offset (an int32 or int64 value), in its shape: cheaper than four calls of rand.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a ``seed`` that is no integer."""

def randint(seed: _Any, offset: _Any, n_rounds: constexpr = 10) -> tensor:
    """A random uint32 for every ``offset`` (an int32 or int64 value), in its shape; ``seed`` is an integer.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a seed that is no integer."""

def randint4x(
    seed: _Any, offset: _Any, n_rounds: constexpr = 10
) -> _builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four random uint32 for every ``offset`` (an int32 or int64 value), in its shape: cheaper than four calls of randint.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a ``seed`` that is no integer."""

def randn(seed: _Any, offset: _Any, n_rounds: constexpr = 10) -> tensor:
    """A normally distributed float32 for every ``offset`` (an int32 or int64 value), in its shape.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a ``seed`` that is no integer."""

def randn4x(
    seed: _Any, offset: _Any, n_rounds: constexpr = 10
) -> _builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four normally distributed float32 for every ``offset`` (an int32 or int64 value), in its shape.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a ``seed`` that is no integer."""

def ravel(x: _Any, can_reorder: constexpr = False) -> tensor:
    """The elements of ``x``, of its dtype, as one dimension: row-major, with ``can_reorder`` in any order.

    CompilationError for a Python number."""

@_overload
def reduce(input: tensor, axis: int | None, combine_fn: _Any, keep_dims: bool = False) -> tensor: ...
@_overload
def reduce(
    input: _builtins.tuple[_Any, ...], axis: int | None, combine_fn: _Any, keep_dims: bool = False
) -> _builtins.tuple[tensor, ...]:
    """``input`` (a block, or a tuple of blocks of one shape) combined along ``axis``, or wholly when it is None.

    ``combine_fn`` is a jit function of (accumulators..., elements...), scalars of the blocks' dtypes, that must be associative.
    The result, a tuple for a tuple, has the same dtypes, without the dimension or, with ``keep_dims``, of size 1 there.
    CompilationError for scalars, different shapes, an axis outside of the rank, and a ``combine_fn`` that gives other types."""

def reduce_or(input: _Any, axis: _Any, keep_dims: constexpr = False) -> tensor:
    """The inclusive or along ``axis`` (None: of all elements) of integers, of their dtype: without that dimension, or of size 1 there.

    ``keep_dims`` keeps the dimension.  CompilationError for floats, a scalar and an axis outside of its rank."""

def reshape(input: tensor, *shape: _Any, can_reorder: bool = False) -> tensor:
    """``input`` in another ``shape`` (constexpr ints), row-major, of its dtype; with ``can_reorder`` its elements in any order.

    CompilationError for another number of elements."""

def rsqrt(x: _Any) -> tensor:
    """1 / sqrt(x) of each element (fp32 or fp64); CompilationError for other dtypes."""

def sigmoid(x: _Any) -> tensor:
    """``1 / (1 + exp(-x))``, elementwise, in the shape and dtype of ``x`` (fp32 or fp64); CompilationError for other dtypes."""

def sin(x: _Any) -> tensor:
    """The sine of each element, in radians (fp32 or fp64); CompilationError for other dtypes."""

def softmax(
    x: _Any, dim: _Any = None, *, keep_dims: constexpr = None, ieee_rounding: constexpr = False
) -> tensor:
    """The softmax along ``dim`` (the first by default) of floats, in the shape of ``x``: fp32, of fp64 fp64.

    ``ieee_rounding`` rounds its division to nearest even; ``keep_dims`` changes nothing.  CompilationError for integers and for a
    ``dim`` outside of the rank."""

def sort(x: _Any, dim: constexpr = None, descending: constexpr = 0) -> tensor:
    """``x`` sorted along its last dimension, upwards, or downwards with ``descending``: of the same shape and dtype.

    CompileTimeAssertionFailure for another ``dim``."""

def split(a: tensor) -> _builtins.tuple[tensor, tensor]:
    """The two halves along the last dimension, whose size is 2: blocks without it (scalars, of rank 1), of the dtype of ``a``.

    CompilationError for another size."""

def sqrt(x: _Any) -> tensor:
    """The square root of each element (fp32 or fp64), with the target's fast rounding; CompilationError for other dtypes."""

def sqrt_rn(x: _Any) -> tensor:
    """The square root of each element (fp32), rounded to nearest even; CompilationError for other dtypes."""

def squeeze(x: _Any, dim: constexpr) -> tensor:
    """``x``, of its dtype, without dimension ``dim`` (constexpr), whose size is 1; CompilationError for another size."""

def static_assert(cond: _Any, msg: _Any = "") -> None:
    """Refuse to compile when the constexpr ``cond`` is false: CompileTimeAssertionFailure with ``msg``.

    CompilationError for a run-time ``cond``."""

def static_print(
    *values: _Any, sep: str = " ", end: str = "\n", file: _Any = None, flush: bool = False
) -> None:
    """Print constexprs, types and such while compiling, as Python's ``print`` and with its errors: to ``file``, or to standard output."""

def store(
    pointer: _Any,
    value: _Any,
    mask: _Any = None,
    boundary_check: _Any = (),
    padding_option: str = "",
    *,
    cache_modifier: str | None = "",
    eviction_policy: str | None = "",
    modifiers: _Any = (),
) -> None:
    """Write ``value`` to ``pointer`` where ``mask`` (int1) is true; both are broadcast to its shape, the value is converted to the pointee.

    A block pointer takes ``boundary_check`` instead: the dimensions along which the block may leave the tensor.
    ``modifiers``: one that a plugin declares, or a tuple of them.  CompilationError for no pointer, a constant one, a mask that is not int1, and shapes that do not broadcast."""

def store_tensor_descriptor(desc: _Any, offsets: _Any, value: _Any) -> None:
    """Write ``value``, a block of the shape of those of ``desc`` and converted to its dtype, to the block that begins at ``offsets``.

    Offsets are int32, in elements, one per dimension.  CompilationError for anything but a descriptor and for another shape."""

def sub(x: _Any, y: _Any, sanitize_overflow: bool = True) -> tensor:
    """``x - y``, elementwise: numbers promoted to one dtype, or a pointer less an integer offset in elements; else as :func:`add`.

    CompilationError for two pointers, for dtypes without a common one and for shapes that do not broadcast."""

def sum(input: _Any, axis: _Any = None, keep_dims: constexpr = False, dtype: constexpr = None) -> tensor:
    """The sum along ``axis`` (of all elements by default): without that dimension, with ``keep_dims`` of size 1 there.

    Its dtype is ``dtype``, by default that of ``input``, but 32 bits for narrower integers; narrow floats add up in fp32 and are
    rounded once.  CompilationError for a scalar and for an axis outside of its rank."""

def swizzle2d(i: _Any, j: _Any, size_i: _Any, size_j: _Any, size_g: _Any) -> _builtins.tuple[tensor, tensor]:
    """Index (i, j) of a row-major size_i x size_j grid, walked in column-major groups of size_g rows.

    All are integers, scalars or blocks of one shape, and so is the pair that it gives; CompilationError for floats."""

def to_tensor(x: _Any) -> tensor:
    """A Python number as a run-time scalar: int1, float32 (float64 out of its range), or the first of int32, uint32, int64, uint64 that holds it.

    CompilationError for anything else that is no run-time value."""

def topk(x: _Any, k: constexpr, dim: constexpr = None, descending: constexpr = True) -> tensor:
    """The ``k`` (a power of two) largest along the last dimension, sorted downwards; else smallest, upwards: that dimension is ``k``.

    Where fewer than all are chosen, narrow dtypes widen to 32 bits, as in :func:`max`.  CompileTimeAssertionFailure for
    another ``dim``, and for a ``k`` that is no power of two up to the dimension's size."""

def trans(input: tensor, *dims: _Any) -> tensor:
    """The last two dimensions of ``input`` exchanged, or its dimensions in the order ``dims`` (constexpr ints), of its dtype.

    CompilationError for fewer than two dimensions, and for ``dims`` that are no permutation."""

uint8: dtype
uint16: dtype
uint32: dtype
uint64: dtype

def uint_to_uniform_float(x: _Any) -> tensor:
    """Random integers of 32 or 64 bits as float32 in [0, 1), in the shape of ``x``; CompileTimeAssertionFailure for other widths."""

def umulhi(x: _Any, y: _Any) -> tensor:
    """The high half of the unsigned product, elementwise: 32- or 64-bit integers after promotion, broadcast to one shape.

    CompilationError for other dtypes."""

def unsqueeze(x: _Any, dim: constexpr) -> tensor:
    """``x``, of its dtype, with a new dimension of size 1 at ``dim`` (constexpr), counted in the result; CompilationError outside of its rank."""

def view(input: tensor, *shape: _Any) -> tensor:
    """``input`` in another ``shape`` (constexpr ints), of its dtype, elements in any order; CompilationError for another number of elements."""

void: dtype

def where(condition: _Any, x: _Any, y: _Any) -> tensor:
    """``x`` where ``condition`` (compared with 0 if it is not int1) is true, else ``y``, elementwise; both are computed everywhere.

    ``x`` and ``y`` are numbers promoted to one dtype, or pointers of one type; all three are broadcast to one shape.
    CompilationError for a pointer beside another type, and for shapes that do not broadcast."""

def xor_sum(input: _Any, axis: _Any = None, keep_dims: constexpr = False) -> tensor:
    """The exclusive or along ``axis`` (of all elements by default) of integers, of their dtype: without that dimension, or of size 1 there.

    ``keep_dims`` keeps the dimension.  CompilationError for floats, a scalar and an axis outside of its rank."""

def zeros(shape: _Any, dtype: _Any) -> tensor:
    """A block of ``shape`` (constexpr ints) and ``dtype`` with 0 everywhere; CompilationError as of :func:`full`."""

def zeros_like(input: _Any) -> tensor:
    """Zeros of the shape and dtype of ``input``; CompilationError for a Python number, which has none."""
