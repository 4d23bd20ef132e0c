"""Checks that the builtins of ``gl.nvidia`` share: the architecture, buffers and barriers among the arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.experimental.gluon.builder import of_gluon
from tri.experimental.gluon.shared_memory import shared_memory_descriptor
from tri.language import types as t
from tri.language.casts import convert, value_of
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from tri.compiler.builder import Builder
    from tri.experimental.gluon.builder import GluonBuilder
    from tri.language.tensor import tensor

__all__ = ["barrier_of", "buffer_of", "constant", "for_target", "truth_value", "where"]

#: feature of a target -> since which architecture, in words
_SINCE = {
    "cp-async": "Ampere (sm_80) and later",
    "tma": "Hopper (sm_90) and later",
    "wgmma": "Hopper (sm_90a) alone",
    "tcgen05": "Blackwell with tensor memory (sm_100a, sm_103a, sm_110a and their families)",
}


def for_target(b: Builder, name: str, feature: str) -> GluonBuilder:
    """``b`` for builtin ``name``, which needs ``feature``; Unsupported on a target without it."""
    own = of_gluon(b, name)
    if own.target.key.backend != "nvidia" or not own.target.has(feature):
        raise Unsupported(
            f"gl.nvidia.{name} on {own.target}: it is an instruction of {_SINCE[feature]}",
            remedy="use the namespace of the target's own architecture, or gl's common functions",
        )
    return own


def where(b: GluonBuilder, pred: Any, emit: Callable[[], None]) -> None:
    """Have ``emit`` make operations that run where ``pred``, which all threads agree on, is true."""
    if isinstance(pred, bool):
        if pred:
            emit()
        return
    op = b.create("scf.if", operands=[truth_value(b, pred)], regions=2)
    block, _ = b.block(op.regions[0])
    with b.at(block):
        emit()
        b.create("scf.yield")


def constant(value: Any, name: str, *, least: int = 0) -> int:
    """``value`` as a constexpr int of at least ``least``; CompilationError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise CompilationError(f"{name} is {value!r}; a constexpr int of at least {least} is expected")
    return value


def truth_value(b: Builder, value: Any) -> tensor:
    """``value`` as a scalar i1."""
    return convert(b, value_of(b, value), t.int1)


def buffer_of(value: Any, what: str) -> shared_memory_descriptor:
    """``value`` as a descriptor of shared memory; CompilationError otherwise."""
    if not isinstance(value, shared_memory_descriptor):
        raise CompilationError(
            f"{what} is {value!r}; a descriptor of shared memory is expected",
            remedy="allocate one with gl.allocate_shared_memory",
        )
    return value


def barrier_of(value: Any, what: str = "mbarrier") -> shared_memory_descriptor:
    """``value`` as an mbarrier: one int64 in shared memory; CompilationError otherwise."""
    found = buffer_of(value, what)
    if found.type.shape != (1,) or found.dtype is not t.int64:
        raise CompilationError(
            f"{what} is {found!r}; one mbarrier is expected",
            remedy="allocate it with mbarrier.allocate_mbarrier(), and index it if it is a batch of several",
        )
    return found
