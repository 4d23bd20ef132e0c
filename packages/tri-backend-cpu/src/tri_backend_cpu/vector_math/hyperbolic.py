"""tanh and erf in f32."""

from __future__ import annotations

from tri_backend_cpu.vector_math.exponential import exp
from tri_backend_cpu.vector_math.number import Float, polynomial

__all__ = ["erf_f32", "tanh_f32"]

#: tanh(x) = x + x z P(z) with z = x**2, for abs(x) <= 0.63
_TANH = (
    -0.3333333134651184,
    0.13333196938037872,
    -0.05394551903009415,
    0.021693682298064232,
    -0.008159556426107883,
    0.0021262282971292734,
)
#: erf(x) = x + x P(z), for abs(x) <= 1
_ERF_SMALL = (
    0.128379225730896,
    -0.37612637877464294,
    0.11283782124519348,
    -0.0268654003739357,
    0.005220945458859205,
    -0.0008482828852720559,
    0.0001125694761867635,
    -9.64151604421204e-06,
)
#: erf(x) = 1 - exp(-x P(x)), for 1 <= x <= 4
_ERF_LARGE = (
    1.128590703010559,
    0.6354496479034424,
    0.10559543967247009,
    -0.02301695942878723,
    0.0031375072430819273,
    -0.00012317347864154726,
    -3.139802720397711e-05,
    3.7932036320853513e-06,
)


def tanh_f32(x: Float) -> Float:
    """The hyperbolic tangent: a polynomial near 0, ``1 - 2 / (exp(2 x) + 1)`` elsewhere."""
    z = x * x
    small = (x * z).fma(polynomial(z, _TANH), x)
    magnitude = x.abs().at_most(10.0)
    large = x.lift(1.0) - x.lift(2.0) / (exp(magnitude + magnitude) + 1.0)
    return (magnitude < 0.625).choose(small, large).copysign(x)


def erf_f32(x: Float) -> Float:
    """The error function."""
    z = x * x
    small = x.fma(polynomial(z, _ERF_SMALL), x)
    magnitude = x.abs().at_most(4.0)
    large = x.lift(1.0) - exp(-(magnitude * polynomial(magnitude, _ERF_LARGE)))
    return (magnitude < 1.0).choose(small, large).copysign(x)
