"""``tl.range`` and ``tl.static_range``: what a kernel's ``for`` iterates over."""

from __future__ import annotations

from typing import Any

from tri_core.errors import OutsideKernel

__all__ = ["condition", "range", "static_range"]


class range:
    """A loop at run time, as Python's range, with hints to the compiler.

    ``arg1``, ``arg2`` and ``step`` are Python's (end, or start, end and step): integer scalars of one dtype after promotion.
    ``num_stages``: depth of the software pipeline of this loop; ``loop_unroll_factor``: copies of the body;
    ``disallow_acc_multi_buffer``, ``flatten``, ``disable_licm``: see the language page.  ``warp_specialize``: whether
    warps of their own copy the blocks of the kernel; None: the option of that name decides.
    """

    def __init__(
        self,
        arg1: Any,
        arg2: Any = None,
        step: Any = None,
        num_stages: int | None = None,
        loop_unroll_factor: int | None = None,
        disallow_acc_multi_buffer: bool = False,
        flatten: bool = False,
        warp_specialize: bool | None = None,
        disable_licm: bool = False,
    ) -> None:
        self.step = 1 if step is None else step
        self.start: Any = 0 if arg2 is None else arg1
        self.end: Any = arg1 if arg2 is None else arg2
        self.num_stages = num_stages
        self.loop_unroll_factor = loop_unroll_factor
        self.disallow_acc_multi_buffer = disallow_acc_multi_buffer
        self.flatten = flatten
        self.warp_specialize = warp_specialize
        self.disable_licm = disable_licm

    def __iter__(self) -> Any:
        """OutsideKernel: a kernel's loop goes over it, Python's does not."""
        raise _outside("range")


def _outside(name: str) -> OutsideKernel:
    return OutsideKernel(
        f"tl.{name} can only be used in @triton.jit'd functions", remedy="use Python's range on the host"
    )


class static_range:
    """A loop that is unrolled while compiling: its bounds are constexpr, and so is its variable.

    ``arg1``, ``arg2`` and ``step`` are as those of Python's range: end, or start, end and step.
    """

    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None) -> None:
        self.step = 1 if step is None else step
        self.start: Any = 0 if arg2 is None else arg1
        self.end: Any = arg1 if arg2 is None else arg2

    def __iter__(self) -> Any:
        """OutsideKernel: a kernel's loop goes over it, Python's does not."""
        raise _outside("static_range")


class condition:
    """The condition ``arg1`` of a ``while``, a scalar, with hints: ``while tl.condition(x > 0, disable_licm=True)``."""

    __tri_raw__ = True

    def __init__(self, arg1: Any, disable_licm: bool = False) -> None:
        self.condition = arg1
        self.disable_licm = disable_licm

    def __bool__(self) -> bool:
        """True if the condition holds, while a kernel is interpreted."""
        return bool(self.condition)
