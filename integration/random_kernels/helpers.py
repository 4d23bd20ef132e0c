"""Functions and types that productions call; a module has those that its kernel needs."""

from __future__ import annotations

__all__ = ["HELPERS"]

HELPERS = {
    "Two": """class Two(typing.NamedTuple):
    first: typing.Any
    second: typing.Any
""",
    "Span": """@tri.aggregate
class Span:
    low: tl.tensor
    high: tl.tensor
    step: tl.constexpr

    def __init__(self, low, high, step):
        self.low = low
        self.high = high
        self.step = tl.constexpr(step)

    @tri.jit
    def grow(self, x):
        return Span(tl.minimum(self.low, x), tl.maximum(self.high, x), self.step)

    @tri.jit
    def __add__(self, other):
        return Span(self.low + other.high, self.high ^ other.low, self.step)

    @tri.constexpr_function
    def twice(self):
        return self.step * 2
""",
    "swap": """@tri.jit
def swap(pair):
    return pair[1], pair[0]
""",
    "mix": """@tri.jit
def mix(two, flag):
    if flag > 0:
        two = Two(two.second, two.first + two.second)
    return two
""",
    "larger": """@tri.jit
def larger(a, b):
    return tl.maximum(a, b)
""",
    "smaller": """@tri.jit
def smaller(a, b):
    return tl.minimum(a, b)
""",
    "times": """@tri.jit
def times(a, b):
    return a * b
""",
    "plus": """@tri.jit
def plus(a, b):
    return a + b
""",
    "united": """@tri.jit
def united(a, b):
    return a | b
""",
    "odd": """@tri.jit
def odd(a, b):
    return a ^ b
""",
    "chain": """@tri.jit
def chain(a, b, c, d):
    return a * c, b * c + d
""",
    "either": """@tri.jit
def either(a, b, which):
    if which > 1:
        return a
    return b
""",
    "twice": """@tri.jit
def twice(a, b):
    c = a ^ b
    return c + a, c - b
""",
    "nest": """@tri.jit
def nest(a, b):
    first, second = twice(b, a)
    return (first, (second, a)), b
""",
    "fold": """@tri.jit
def fold(pair, n):
    (a, (b, c)), d = pair
    for _ in range(n):
        a, b = nest(a, b)[0]
        b = b[0] + c
    return a + d, b
""",
}
