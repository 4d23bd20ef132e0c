# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton.language import math as math

from tri.language.random import pair_uniform_to_normal as pair_uniform_to_normal
from tri.language.random import philox as philox
from tri.language.random import philox_impl as philox_impl
from tri.language.random import rand as rand
from tri.language.random import rand4x as rand4x
from tri.language.random import randint as randint
from tri.language.random import randint4x as randint4x
from tri.language.random import randn as randn
from tri.language.random import randn4x as randn4x
from tri.language.random import uint_to_uniform_float as uint_to_uniform_float

N_ROUNDS_DEFAULT: int

def __getattr__(name: str) -> _Any: ...
