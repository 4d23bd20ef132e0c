# Made by `python -m integration.stubs` from the language's own functions: do not edit.

from tri.language import pair_uniform_to_normal as pair_uniform_to_normal
from tri.language import philox as philox
from tri.language import philox_impl as philox_impl
from tri.language import rand as rand
from tri.language import rand4x as rand4x
from tri.language import randint as randint
from tri.language import randint4x as randint4x
from tri.language import randn as randn
from tri.language import randn4x as randn4x
from tri.language import uint_to_uniform_float as uint_to_uniform_float

__all__ = [
    "pair_uniform_to_normal",
    "philox",
    "philox_impl",
    "rand",
    "rand4x",
    "randint",
    "randint4x",
    "randn",
    "randn4x",
    "uint_to_uniform_float",
]
