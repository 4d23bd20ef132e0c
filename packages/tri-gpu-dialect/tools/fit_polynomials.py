"""Writes ``lowering/functions/coefficients.py``: near-minimax polynomials and constants, fitted in 60 digits.

Needs mpmath.  Run as ``python tools/fit_polynomials.py`` in the package's folder; each polynomial's error is on its
line.  Reductions and forms are of public literature, named in the modules that use them.
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import mpmath
from mpmath import mp, mpf

__all__ = ["TABLES", "Fit", "coefficients", "text"]

TARGET = Path(__file__).parents[1] / "src/tri_gpu_dialect/lowering/functions/coefficients.py"
DIGITS = 60
#: smallest argument of the functions that have a removable singularity at 0: there their values are good to 20 digits
NEAR_ZERO = mpf(10) ** -18


#: mpmath gives the highest power first; from 1.4 on the constant first when it is asked to
ASCENDING = {"asc": True} if "asc" in inspect.signature(mpmath.chebyfit).parameters else {}


@dataclass(frozen=True)
class Fit:
    """A function on an interval, and how many coefficients it takes in f32 and f64 (0: not needed)."""

    meaning: str
    function: Callable[[mpf], mpf]
    low: Callable[[], mpf]
    high: Callable[[], mpf]
    f32: int
    f64: int


def scaled_erfc(t: mpf, center: int) -> mpf:
    """``(1 + 2 x) exp(x**2) erfc(x)`` for ``t = (x - center) / (x + center)``."""
    x = center * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def root(z: mpf) -> mpf:
    """The square root, away from 0."""
    return mp.sqrt(max(z, NEAR_ZERO))


def away(r: mpf) -> mpf:
    """``r``, away from 0."""
    return r if abs(r) > NEAR_ZERO else NEAR_ZERO


def odd(function: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """``(f(s) - s) / s**3`` in ``z = s**2``."""
    return lambda z: (function(root(z)) - root(z)) / root(z) ** 3


def atanh_tail(z: mpf) -> mpf:
    """What follows ``1 + z / 3 + z**2 / 5`` in ``atanh(s) / s``, over ``z**3``."""
    return mp.nsum(lambda j: z**j / (2 * j + 7), [0, mp.inf]) if z else mpf(1) / 7


TABLES: dict[str, Fit] = {
    "EXP": Fit(
        "(exp(r) - 1 - r) / r**2, abs(r) <= ln(2) / 2",
        lambda r: (mp.exp(away(r)) - 1 - away(r)) / away(r) ** 2,
        lambda: -mp.log(2) / 2 - mpf("1e-4"),
        lambda: mp.log(2) / 2 + mpf("1e-4"),
        6,
        11,
    ),
    "EXP2": Fit(
        "(2**r - 1) / r, abs(r) <= 1 / 2",
        lambda r: (mpf(2) ** away(r) - 1) / away(r),
        lambda: mpf("-0.5001"),
        lambda: mpf("0.5001"),
        0,
        13,
    ),
    "LOG": Fit(
        "(log(1 + f) - 2 s) / s**3 in z = s**2, s = f / (2 + f), 1 + f from sqrt(1/2) to sqrt(2)",
        lambda z: 2 * odd(mp.atanh)(z),
        lambda: mpf(0),
        lambda: mpf("0.02945"),
        0,
        8,
    ),
    "LOG_TAIL": Fit(
        "(atanh(s) / s - 1 - z / 3 - z**2 / 5) / z**3 in z = s**2, the same s",
        atanh_tail,
        lambda: mpf(0),
        lambda: mpf("0.02945"),
        0,
        9,
    ),
    "SIN": Fit(
        "(sin(r) - r) / r**3 in z = r**2, r <= pi / 4",
        odd(mp.sin),
        lambda: mpf(0),
        lambda: (mp.pi / 4) ** 2 + mpf("1e-4"),
        0,
        7,
    ),
    "COS": Fit(
        "(cos(r) - 1 + z / 2) / z**2 in z = r**2, r <= pi / 4",
        lambda z: (mp.cos(root(z)) - 1 + root(z) ** 2 / 2) / root(z) ** 4,
        lambda: mpf(0),
        lambda: (mp.pi / 4) ** 2 + mpf("1e-4"),
        0,
        7,
    ),
    "ASIN": Fit(
        "(asin(x) - x) / x**3 in z = x**2, x <= 1 / 2",
        odd(mp.asin),
        lambda: mpf(0),
        lambda: mpf("0.25"),
        6,
        14,
    ),
    "ATAN": Fit(
        "(atan(x) - x) / x**3 in z = x**2, x <= tan(pi / 8)",
        odd(mp.atan),
        lambda: mpf(0),
        lambda: mp.tan(mp.pi / 8) ** 2 + mpf("1e-4"),
        5,
        12,
    ),
    "ERF": Fit(
        "(erf(x) / x - 2 / sqrt(pi)) / z in z = x**2, x <= 1",
        lambda z: (mp.erf(root(z)) / root(z) - 2 / mp.sqrt(mp.pi)) / root(z) ** 2,
        lambda: mpf(0),
        lambda: mpf(1),
        7,
        14,
    ),
    "ERFC": Fit(
        "(1 + 2 x) exp(x**2) erfc(x) in t = (x - 4) / (x + 4), x from 1/2 to 28",
        lambda t: scaled_erfc(t, 4),
        lambda: mpf("-0.778"),
        lambda: mpf("0.75"),
        12,
        25,
    ),
    "CBRT": Fit("cbrt(m), m from 1 to 2", mp.cbrt, lambda: mpf(1), lambda: mpf(2), 4, 4),
}


def rounded(value: mpf, width: int) -> float:
    """``value`` as a float of ``width`` bits."""
    nearest = float(value)
    return nearest if width == 64 else struct.unpack("<f", struct.pack("<f", nearest))[0]


def coefficients(fit: Fit, width: int) -> tuple[list[float], float]:
    """The polynomial, constant first, and how far it is off at most."""
    with mp.workdps(DIGITS):
        count = fit.f32 if width == 32 else fit.f64
        found, error = mpmath.chebyfit(fit.function, [fit.low(), fit.high()], count, error=True, **ASCENDING)
        ascending = found if ASCENDING else reversed(found)
        return [rounded(c, width) for c in ascending], float(error)


def constants() -> Iterator[tuple[str, str, list[mpf]]]:
    """Name, meaning and value of what is needed in several pieces."""
    yield "LN2", "ln(2)", [mp.log(2)]
    yield "LOG2E", "1 / ln(2)", [1 / mp.log(2)]
    yield "LOG10E", "1 / ln(10)", [1 / mp.log(10)]
    yield "LOG10_2", "log10(2)", [mp.log10(2)]
    yield "HALF_PI", "pi / 2", [mp.pi / 2]
    yield "TWO_OVER_SQRT_PI", "2 / sqrt(pi)", [2 / mp.sqrt(mp.pi)]
    yield "THIRD", "1 / 3", [mpf(1) / 3]
    yield "FIFTH", "1 / 5", [mpf(1) / 5]


def pieces(value: mpf, width: int) -> list[float]:
    """``value`` as a sum of three floats of ``width`` bits."""
    made = []
    for _ in range(3):
        made.append(rounded(value, width))
        value -= mpf(made[-1])
    return made


def two_over_pi(words: int) -> list[int]:
    """The bits of 2 / pi after the point, in words of 32."""
    with mp.workprec(words * 32 + 64):
        bits = int(mp.floor(2 / mp.pi * mpf(2) ** (words * 32)))
    return [bits >> 32 * (words - 1 - i) & 0xFFFFFFFF for i in range(words)]


def listing(values: list[float] | list[int], show: Callable[..., str] = repr) -> str:
    """The body of a tuple, four to a line."""
    rows = [values[i : i + 4] for i in range(0, len(values), 4)]
    return "\n".join("        " + " ".join(f"{show(v)}," for v in row) for row in rows)


def text() -> str:
    """The module."""
    lines = [
        '"""Polynomials (the constant first) and constants, by format width.  Made by ``tools/fit_polynomials.py``."""',
        "",
        "from __future__ import annotations",
        "",
        "# fmt: off",
    ]
    for name, fit in TABLES.items():
        lines += ["", f"#: {fit.meaning}", f"{name}: dict[int, tuple[float, ...]] = {{"]
        for width in (32, 64):
            if fit.f32 if width == 32 else fit.f64:
                found, error = coefficients(fit, width)
                lines += [f"    # off by {error:.1e}", f"    {width}: (", listing(found), "    ),"]
        lines += ["}"]
    with mp.workdps(DIGITS):
        for name, meaning, (value,) in constants():
            shown = ", ".join(f"{w}: ({', '.join(map(repr, pieces(value, w)))})" for w in (32, 64))
            lines += [
                "",
                f"#: {meaning}, as the sum of three",
                f"{name}: dict[int, tuple[float, ...]] = {{{shown}}}",
            ]
    table = listing(two_over_pi(40), lambda v: f"0x{v:08X}")
    lines += ["", "#: the bits of 2 / pi after the point, in words of 32", f"TWO_OVER_PI = (\n{table}\n)", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    TARGET.write_text(text())
