"""Rows of Gluon's core, each for any number of threads per warp and warps, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tri_conformance.contracts import Close, Contract, Exact
from tri_conformance.dtypes import NUMPY, Array, normals
from tri_conformance.features import Trial

__all__ = ["REFUSALS", "ROWS", "Machine", "Refusal", "Row"]

#: elements of a row, and of the sides of a block
ROW, M, N = 1024, 32, 64


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Threads that a kernel has, its element type and random numbers; the layouts that are made for them.

    ``gl`` is the language, which is there only with ``tri-gpu-dialect``.
    """

    gl: Any
    lanes: int
    warps: int
    dtype: str = "int32"
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def row(self, per_thread: int = 1) -> Any:
        """A row in lanes' order, ``per_thread`` elements at once."""
        return self.gl.BlockedLayout([per_thread], [self.lanes], [self.warps], [0])

    def rows(self) -> Any:
        """A block whose lanes lie along rows, warps above each other."""
        return self.gl.BlockedLayout([1, 2], [self.lanes // 8, 8], [self.warps, 1], [1, 0])

    def columns(self) -> Any:
        """A block whose lanes lie along columns, warps beside each other."""
        return self.gl.BlockedLayout([4, 1], [8, self.lanes // 8], [1, self.warps], [0, 1])

    def linear(self) -> Any:
        """A row with warps in the lowest bits and lanes in the highest, reversed; one lane's basis has two bits."""
        bits = [1 << k for k in range(ROW.bit_length() - 1)]
        warps, lanes = self.warps.bit_length() - 1, self.lanes.bit_length() - 1
        registers = bits[warps : len(bits) - lanes]
        high = bits[len(bits) - lanes :][::-1]
        high[0] ^= registers[0]
        bases = ([[b] for b in part] for part in (registers, high, bits[:warps]))
        return self.gl.DistributedLinearLayout(*bases, [], [ROW])

    def plain(self, rank: int = 1) -> Any:
        """Shared memory without swizzling."""
        return self.gl.SwizzledSharedLayout(1, 1, 1, list(reversed(range(rank))))

    def numbers(self, *shape: int) -> Array:
        """Random elements of the type."""
        return normals(self.rng, self.dtype, int(np.prod(shape))).reshape(shape)

    def small(self, *shape: int, high: int = 100) -> Array:
        """Random int32 in ``[0, high)``."""
        return self.rng.integers(0, high, shape).astype(np.int32)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A launch of ``kernel`` (a name in ``kernels.explicit``) for each of ``dtypes``, held to ``contract``."""

    kernel: str
    make: Callable[[Machine], Trial]
    dtypes: tuple[str, ...] = ("int32",)
    contract: Contract = field(default_factory=Exact)


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A kernel that is a located error: what it must say, and the constants that make it one."""

    kernel: str
    constants: Callable[[Machine], Mapping[str, Any]]
    words: str


def _empty(dtype: Any, size: int) -> Array:
    return np.full(size, 77).astype(dtype)


def _convert(
    a: Callable[[Machine], Any], b: Callable[[Machine], Any], n: int = ROW
) -> Callable[[Machine], Trial]:
    def make(m: Machine) -> Trial:
        x, out = m.numbers(ROW), _empty(NUMPY[m.dtype], ROW)
        exact = out.copy()
        exact[:n] = x[:n]
        constants = {"N": ROW, "a": a(m), "b": b(m)}
        return Trial(arguments=[out, x, n], exact={0: exact}, constants=constants)

    return make


def _convert_block(m: Machine) -> Trial:
    x = m.numbers(M, N)
    constants = {"M": M, "N": N, "a": m.rows(), "b": m.columns()}
    return Trial(arguments=[_empty(x.dtype, M * N), x.ravel()], exact={0: x.ravel()}, constants=constants)


def _outer(m: Machine) -> Trial:
    x, y = m.small(M), m.small(N)
    exact = (x[:, None] * 3 + y[None, :]).ravel()
    constants = {"M": M, "N": N, "layout": m.columns()}
    return Trial(arguments=[_empty(np.int32, M * N), x, y], exact={0: exact}, constants=constants)


def _shaped(m: Machine) -> Trial:
    x = m.small(ROW)
    exact = np.concatenate([x.reshape(16, -1).T.ravel(), x + 1])
    constants = {"N": ROW, "layout": m.row(2)}
    return Trial(arguments=[_empty(np.int32, 2 * ROW), x], exact={0: exact}, constants=constants)


def _open(m: Machine) -> Trial:
    x = m.small(ROW)
    constants = {"N": ROW, "layout": m.linear()}
    return Trial(arguments=[_empty(np.int32, ROW), x], exact={0: 3 * x}, constants=constants)


def _shared(layout: Callable[[Machine], Any]) -> Callable[[Machine], Trial]:
    def make(m: Machine) -> Trial:
        x = m.numbers(M, N)
        constants = {"M": M, "N": N, "shared": layout(m), "a": m.rows(), "b": m.columns()}
        exact = np.concatenate([x.ravel(), x.T.ravel()])
        return Trial(arguments=[_empty(x.dtype, 2 * M * N), x.ravel()], exact={0: exact}, constants=constants)

    return make


def _swizzled(m: Machine) -> Any:
    return m.gl.SwizzledSharedLayout(4, 1, 8, [1, 0])


def _padded(m: Machine) -> Any:
    return m.gl.PaddedSharedLayout.with_identity_for([[N, 4], [4 * N, 8]], [M, N], [1, 0])


def _shared_linear(m: Machine) -> Any:
    """Columns first, with a swizzle of its own."""
    rows = [[1 << k, 1 << k] for k in range(5)]
    return m.gl.SharedLinearLayout([*rows, *([0, 1 << k] for k in range(6))])


def _ring(m: Machine) -> Trial:
    x = m.small(4, ROW)
    constants = {"N": ROW, "shared": m.plain(), "layout": m.row(2)}
    return Trial(
        arguments=[_empty(np.int32, 4 * ROW), x.ravel()], exact={0: x[::-1].ravel()}, constants=constants
    )


def _slice(m: Machine) -> Trial:
    x = m.small(M, N)
    quarters = x.reshape(2, M // 2, 2, N // 2).transpose(0, 2, 1, 3)
    constants = {"M": M, "N": N, "shared": m.plain(2), "layout": m.rows()}
    return Trial(
        arguments=[_empty(np.int32, M * N), x.ravel()], exact={0: quarters.ravel()}, constants=constants
    )


def _reshape(m: Machine) -> Trial:
    x = m.small(M, N)
    constants = {"M": M, "N": N, "shared": _swizzled(m), "layout": m.rows(), "row": m.row(4)}
    return Trial(arguments=[_empty(np.int32, M * N), x.ravel()], exact={0: x.ravel()}, constants=constants)


def _reinterpret(m: Machine) -> Trial:
    x = m.rng.standard_normal(ROW).astype(np.float32)
    bits = x.view(np.int32)
    constants = {"N": ROW, "shared": m.plain(), "layout": m.row()}
    exact = np.concatenate([bits, bits[: ROW // 2]])
    return Trial(arguments=[_empty(np.int32, exact.size), x], exact={0: exact}, constants=constants)


def _shared_indexed(m: Machine) -> Trial:
    x, where = m.small(ROW), m.rng.permutation(ROW).astype(np.int32)
    placed = np.empty_like(x)
    placed[where] = 2 * x
    constants = {"N": ROW, "shared": m.plain(), "layout": m.row()}
    return Trial(
        arguments=[_empty(np.int32, 2 * ROW), x, where],
        exact={0: np.concatenate([x[where], placed])},
        constants=constants,
    )


def _reduce(axis: int) -> Callable[[Machine], Trial]:
    def make(m: Machine) -> Trial:
        x = m.small(M, N) - 50
        constants = {"M": M, "N": N, "AXIS": axis, "layout": m.columns()}
        size = x.shape[1 - axis]
        return Trial(
            arguments=[_empty(np.int32, size), _empty(np.int32, size), x.ravel()],
            exact={0: x.sum(axis, dtype=np.int32), 1: x.max(axis)},
            constants=constants,
        )

    return make


def _reduce_whole(m: Machine) -> Trial:
    x = m.small(ROW) - 50
    exact = np.array([x.sum(), x.min()], np.int32)
    return Trial(
        arguments=[_empty(np.int32, 2), x], exact={0: exact}, constants={"N": ROW, "layout": m.linear()}
    )


def _scan(axis: int) -> Callable[[Machine], Trial]:
    def make(m: Machine) -> Trial:
        factor, term = 1 - 2 * m.small(M, N, high=2), m.small(M, N)
        shift, before = np.zeros_like(term), np.zeros_like(term.take(0, axis))
        for k in range(term.shape[axis]):
            at = (slice(None), k) if axis else (k,)
            before = before * factor[at] + term[at]
            shift[at] = before
        exact = np.concatenate([term.cumsum(axis, dtype=np.int32).ravel(), shift.ravel()])
        constants = {"M": M, "N": N, "AXIS": axis, "layout": m.rows()}
        return Trial(
            arguments=[_empty(np.int32, 2 * M * N), factor.astype(np.int32).ravel(), term.ravel()],
            exact={0: exact},
            constants=constants,
        )

    return make


def _gather(axis: int) -> Callable[[Machine], Trial]:
    def make(m: Machine) -> Trial:
        x = m.small(M, N)
        where = m.small(M, N, high=x.shape[axis])
        exact = np.take_along_axis(x, where, axis).ravel()
        constants = {"M": M, "N": N, "AXIS": axis, "layout": m.columns()}
        return Trial(
            arguments=[_empty(np.int32, M * N), x.ravel(), where.ravel()],
            exact={0: exact},
            constants=constants,
        )

    return make


def _atomic_add(m: Machine) -> Trial:
    size = 128  # fewer elements than the largest kernels have threads: copies must not add
    x, old = m.small(size), m.small(2 * size)
    exact = {0: np.bincount(x % 16, minlength=16), 1: np.concatenate([old[:size] + 5, old[:size]])}
    constants = {"N": size, "BINS": 16, "layout": m.row(2)}
    return Trial(arguments=[np.zeros(16, np.int32), old, x], exact=exact, constants=constants)


def _atomic_exchange(m: Machine) -> Trial:
    x, cells = m.small(ROW), m.small(2 * ROW)
    second = cells[ROW:]
    second[::2] = x[::2]  # half of the comparisons hold, at least
    after = np.concatenate([x, np.where(second == x, x + 1, second)])
    return Trial(
        arguments=[np.full(1, -5, np.int32), cells, _empty(np.int32, 2 * ROW), x],
        exact={0: x.max(keepdims=True), 1: after, 2: cells.copy()},
        constants={"N": ROW, "layout": m.row()},
    )


def _dot(m: Machine) -> Trial:
    x, y = (m.rng.standard_normal((M, M)).astype(np.float32) for _ in "xy")
    exact = (x.astype(np.float64) @ y).ravel()
    constants = {"N": M, "layout": m.gl.BlockedLayout([1, 1], [m.lanes // 8, 8], [m.warps, 1], [1, 0])}
    return Trial(
        arguments=[_empty(np.float32, M * M), x.ravel(), y.ravel()], exact={0: exact}, constants=constants
    )


#: types of 8, 16 and 32 bits, whose bits are moved
_MOVED = ("int32", "int8", "fp16")

ROWS: dict[str, Row] = {
    "convert-blocked": Row(kernel="converted", make=_convert(Machine.row, lambda m: m.row(4), 1000), dtypes=_MOVED),
    "convert-linear": Row(kernel="converted", make=_convert(lambda m: m.row(2), Machine.linear, 1000), dtypes=_MOVED),
    "convert-slice": Row(
        kernel="converted", make=_convert(lambda m: m.gl.SliceLayout(0, m.rows()), Machine.linear), dtypes=_MOVED
    ),
    "convert-block": Row(kernel="converted_block", make=_convert_block, dtypes=_MOVED),
    "broadcast": Row(kernel="outer", make=_outer),
    "shapes": Row(kernel="shaped", make=_shaped),
    "auto": Row(kernel="left_open", make=_open),
    "shared-swizzled": Row(kernel="through_shared", make=_shared(_swizzled), dtypes=_MOVED),
    "shared-padded": Row(kernel="through_shared", make=_shared(_padded), dtypes=_MOVED),
    "shared-linear": Row(kernel="through_shared", make=_shared(_shared_linear), dtypes=_MOVED),
    "shared-index": Row(kernel="ring", make=_ring),
    "shared-slice": Row(kernel="sliced", make=_slice),
    "shared-reshape": Row(kernel="reshaped", make=_reshape),
    "shared-reinterpret": Row(kernel="reinterpreted", make=_reinterpret),
    "shared-gather-scatter": Row(kernel="shared_indexed", make=_shared_indexed),
    "reduce-axis0": Row(kernel="reduced", make=_reduce(0)),
    "reduce-axis1": Row(kernel="reduced", make=_reduce(1)),
    "reduce-whole": Row(kernel="reduced_whole", make=_reduce_whole),
    "scan-axis0": Row(kernel="scanned", make=_scan(0)),
    "scan-axis1": Row(kernel="scanned", make=_scan(1)),
    "gather-axis0": Row(kernel="gathered", make=_gather(0)),
    "gather-axis1": Row(kernel="gathered", make=_gather(1)),
    "atomic-add": Row(kernel="added", make=_atomic_add),
    "atomic-exchange": Row(kernel="exchanged", make=_atomic_exchange),
    "dot-fma": Row(kernel="multiplied", make=_dot, dtypes=("fp32",), contract=Close(2e-5, 4e-5)),
}  # fmt: skip


def _other_lanes(m: Machine) -> Any:
    return m.gl.BlockedLayout([1], [2 * m.lanes], [m.warps], [0])


REFUSALS: dict[str, Refusal] = {
    "mismatch": Refusal(
        kernel="mixed", constants=lambda m: {"N": ROW, "a": m.row(), "b": m.row(2)}, words="gl.convert_layout"
    ),
    "warps": Refusal(
        kernel="mixed",
        constants=lambda m: {"N": ROW, "a": m.gl.BlockedLayout([1], [m.lanes], [2 * m.warps], [0]), "b": m.row()},
        words="the kernel has",
    ),
    "threads-per-warp": Refusal(
        kernel="mixed", constants=lambda m: {"N": ROW, "a": _other_lanes(m), "b": m.row()}, words="threads per warp"
    ),
    "rank": Refusal(kernel="mixed", constants=lambda m: {"N": ROW, "a": m.rows(), "b": m.row()}, words="does not fit"),
    "shared-in-registers": Refusal(
        kernel="mixed", constants=lambda m: {"N": ROW, "a": m.plain(), "b": m.row()}, words="in registers"
    ),
    "no-slice": Refusal(kernel="expanded", constants=lambda m: {"N": ROW, "layout": m.row()}, words="SliceLayout"),
    "undetermined": Refusal(kernel="undetermined", constants=lambda m: {"N": ROW}, words="determines the layout"),
    "register-in-shared": Refusal(
        kernel="allocated", constants=lambda m: {"N": M, "shared": m.rows()}, words="shared memory"
    ),
    "no-place": Refusal(
        kernel="allocated",
        constants=lambda m: {"N": M, "shared": m.gl.SharedLinearLayout([[1, 0], [2, 0]])},
        words="does not fit",
    ),
    "slice-unaligned": Refusal(
        kernel="misplaced", constants=lambda m: {"N": ROW, "shared": m.plain(), "start": 8}, words="aligned part"
    ),
    "index-beyond": Refusal(
        kernel="beyond", constants=lambda m: {"N": ROW, "shared": m.plain(), "index": 4}, words="out of range"
    ),
    "reinterpret-larger": Refusal(
        kernel="overflowing", constants=lambda m: {"N": ROW, "shared": m.plain()}, words="bytes"
    ),
}  # fmt: skip
