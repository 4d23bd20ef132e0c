"""Comparing arrays within a tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["assert_close"]

Tolerance = float | Callable[[Any], float] | None
_ATOL = 1e-2
_RTOL = 0.0


def assert_close(x: Any, y: Any, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = "") -> None:
    """AssertionError unless ``|x - y| <= atol + rtol * |y|`` everywhere, NaN equal to NaN.

    ``x`` and ``y`` are arrays of NumPy or PyTorch (any device), or numbers, of one shape; tolerances are
    numbers or functions of ``x``'s dtype, by default 0.01 absolute and 0 relative.  Computed in float64.
    """
    import numpy as np

    absolute = _tolerance(atol, x, _ATOL)
    relative = _tolerance(rtol, x, _RTOL)
    left, right = _numbers(x), _numbers(y)
    head = f"{err_msg}\n" if err_msg else ""
    if left.shape != right.shape:
        raise AssertionError(f"{head}the shapes differ: {left.shape} and {right.shape}")
    close = np.isclose(left, right, rtol=relative, atol=absolute, equal_nan=True)
    if close.all():
        return
    wrong = np.argwhere(~close)
    first = tuple(int(i) for i in wrong[0])
    with np.errstate(invalid="ignore"):
        difference = np.abs(left - right)
    worst = float(np.nanmax(difference)) if np.isfinite(difference).any() else float("nan")
    raise AssertionError(
        f"{head}{len(wrong)} of {close.size} elements differ by more than {absolute} + {relative} * |y|; "
        f"the largest difference is {worst:g}; first at {first}: {left[first]:g} and {right[first]:g}"
    )


def _tolerance(given: Tolerance, array: Any, default: float) -> float:
    if given is None:
        return default
    return float(given(getattr(array, "dtype", None)) if callable(given) else given)


def _numbers(array: Any) -> Any:
    """``array`` as float64 (or complex128) in host memory."""
    import numpy as np

    detach = getattr(array, "detach", None)
    if detach is not None:
        host = detach().cpu()
        # bfloat16 and 8-bit floats have no NumPy dtype of PyTorch's making; float64 holds all of them
        return (host.cdouble() if host.is_complex() else host.double()).numpy()
    if not isinstance(array, np.ndarray) and hasattr(array, "get"):
        array = array.get()  # the way to host memory of device arrays that follow NumPy
    plain = np.asarray(array)
    return plain.astype(np.complex128 if plain.dtype.kind == "c" else np.float64)
