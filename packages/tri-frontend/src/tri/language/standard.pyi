# Made by `python -m integration.stubs` from the language's own functions: do not edit.

from tri.language import argmax as argmax
from tri.language import argmin as argmin
from tri.language import cdiv as cdiv
from tri.language import cumprod as cumprod
from tri.language import cumsum as cumsum
from tri.language import flip as flip
from tri.language import interleave as interleave
from tri.language import max as max
from tri.language import min as min
from tri.language import ravel as ravel
from tri.language import reduce_or as reduce_or
from tri.language import sigmoid as sigmoid
from tri.language import softmax as softmax
from tri.language import squeeze as squeeze
from tri.language import sum as sum
from tri.language import swizzle2d as swizzle2d
from tri.language import unsqueeze as unsqueeze
from tri.language import xor_sum as xor_sum
from tri.language import zeros as zeros
from tri.language import zeros_like as zeros_like

__all__ = [
    "argmax",
    "argmin",
    "cdiv",
    "cumprod",
    "cumsum",
    "flip",
    "interleave",
    "max",
    "min",
    "ravel",
    "reduce_or",
    "sigmoid",
    "softmax",
    "squeeze",
    "sum",
    "swizzle2d",
    "unsqueeze",
    "xor_sum",
    "zeros",
    "zeros_like",
]
