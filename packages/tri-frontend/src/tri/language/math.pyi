# Made by `python -m integration.stubs` from the language's own functions: do not edit.

from tri.language import abs as abs
from tri.language import ceil as ceil
from tri.language import cos as cos
from tri.language import div_rn as div_rn
from tri.language import erf as erf
from tri.language import exp as exp
from tri.language import exp2 as exp2
from tri.language import fdiv as fdiv
from tri.language import floor as floor
from tri.language import fma as fma
from tri.language import log as log
from tri.language import log2 as log2
from tri.language import rsqrt as rsqrt
from tri.language import sin as sin
from tri.language import sqrt as sqrt
from tri.language import sqrt_rn as sqrt_rn
from tri.language import umulhi as umulhi

__all__ = [
    "abs",
    "ceil",
    "cos",
    "div_rn",
    "erf",
    "exp",
    "exp2",
    "fdiv",
    "floor",
    "fma",
    "log",
    "log2",
    "rsqrt",
    "sin",
    "sqrt",
    "sqrt_rn",
    "umulhi",
]
