"""Bodies of kernels that use Python's constructs, to be compiled by Triton and by tri.

Parameters: ``p`` (*fp32), ``q`` (*i32), ``n`` (i32), ``f`` (fp32), ``B`` (constexpr 16), ``S`` (constexpr "add"),
``T`` (a tuple of i32, fp32 and None), ``V`` (the named tuple View of *fp32 and i32), ``F`` (constexpr: the jit
function twice).  In the texts ``tri`` stands for Triton too.
"""

from __future__ import annotations

__all__ = ["BODIES", "HEADER"]

HEADER = """
import collections
import enum
import math
import typing

LIMIT = tl.constexpr(8)
PLAIN = 8
TABLE = tl.constexpr((1, 2, 3))
NAMES = ("a", "b")
View = collections.namedtuple("View", "ptr n")


class Point(typing.NamedTuple):
    x: typing.Any
    y: typing.Any


class Mode(enum.Enum):
    FAST = 1


def plain(x):
    return x


@tri.constexpr_function
def square(x):
    return x * x


@tri.constexpr_function
def pair(x):
    return (x, x + 1)


@tri.jit
def twice(x):
    return x * 2


@tri.jit
def add_all(x, *rest):
    for i in tl.static_range(len(rest)):
        x += rest[i]
    return x


@tri.jit
def with_default(x, k: tl.constexpr = 3, *, m=4):
    return x * k + m


@tri.jit
def two(x):
    return x, x + 1


@tri.jit
def point(x):
    return Point(x, x * 2)


@tri.jit
def early(x):
    if x > 3:
        return x
    return x + 1


@tri.jit
def two_types(x):
    if x > 3:
        return x
    return 1.5


@tri.jit
def nothing(x):
    tl.store(x, 1)


@tri.jit
def countdown(k: tl.constexpr):
    if k == 0:
        return 0
    else:
        return 1 + countdown(k - 1)


@tri.jit
def call(fn: tl.constexpr, x):
    return fn(x)


@tri.jit(noinline=True)
def apart(x):
    return x + 1


@tri.aggregate
class Counter:
    count: tl.tensor
    step: tl.constexpr

    def __init__(self, count, step):
        self.count = count
        self.step = tl.constexpr(step)

    @tri.jit
    def next(self):
        return Counter(self.count + self.step, self.step)

    @tri.jit
    def __add__(self, other):
        return Counter(self.count + other.count, self.step)

    @tri.constexpr_function
    def doubled(self):
        return self.step * 2


@tri.aggregate
class Box:
    a: tl.tensor
    k: tl.constexpr = 3


@tri.aggregate
class More(Counter):
    extra: tl.tensor

    def __init__(self, count, step, extra):
        self.count = count
        self.step = tl.constexpr(step)
        self.extra = extra
"""

_TEXT = r'''
x = n + 1
x = (n, f)
x, y = n, f
(x, (y, z)) = (n, (f, B))
x, y = T[0], T[1]
x, y, z = T
x, y = T
x, *y = T
[x, y] = [n, f]
x = y = n
x = None
x = S
x = tl.float32
x = F
x = twice
x = (1, 2) + (n,)
x = (n, f) * 2
x = T[0:2]
x = T[-1]
x = T[n]
tl.static_assert(len(T) == 3)
tl.static_assert(T[2] is None)
tl.static_assert((1, 2) == (1, 2))
tl.static_assert((1, 2) != (1, 3))
tl.static_assert((1, 2) < (1, 3))
tl.static_assert(1 in (1, 2))
x = (n, f) == (n, f)
x = (n, f) == (f, n)
x = V.n + 1\ny = tl.load(V.ptr)
x = V[1]
x = V.zz
x = V._replace(n=3)
x = Point(n, f).x
x = Point(x=n, y=f).y
x = Point(n)
x = point(n).y
x, y = two(n)
x = two(n)[0]
x = [n, f][0]
x = [v * 2 for v in (n, f)]
x = [v * 2 for v in (1, 2) if v > 1]
x = [v + w for v in (n, f) for w in (n, f)]
x = [v for v in (n, f) if n > 1]
x = [i for i in range(3)]
x = [a + b for a, b in ((n, f), (f, n))]
x = {n: f}
x = {n}
x = tuple(v for v in (n, f))
x = {v: v for v in (1, 2)}
for v in (n, f):\n    tl.store(p, v)
for i in range(3):\n    tl.store(p, i)
for i in range(n):\n    tl.store(p, i)
for i in range(0, n, 2):\n    tl.store(p, i)
for i in range(n, 0, -1):\n    tl.store(p, i)
for i in range(f):\n    tl.store(p, i)
for i in tl.range(0, n, num_stages=2, loop_unroll_factor=4, flatten=True):\n    tl.store(p, i)
for i in tl.range(n, disallow_acc_multi_buffer=True, warp_specialize=True, disable_licm=True):\n    tl.store(p, i)
for i in tl.static_range(3):\n    tl.store(p + i, i)
for i in tl.static_range(n):\n    tl.store(p + i, i)
for i in tl.static_range(0, B, 4):\n    tl.store(p + i, i)
for i in range(n):\n    break
for i in range(n):\n    continue
for i in tl.static_range(3):\n    break
for i in range(n):\n    return
for i in tl.static_range(3):\n    if n > i:\n        return
for i in range(n):\n    pass\nelse:\n    tl.store(p, 1)
for i in range(n):\n    pass\ntl.store(p, i)
for i in tl.static_range(3):\n    pass\ntl.store(p, i)
x = 0\nfor i in range(n):\n    x += i\ntl.store(q, x)
x = 0\nfor i in range(n):\n    x += f\ntl.store(p, x)
x = (n, f)\nfor i in range(n):\n    x = (x[0] + 1, x[1])\ntl.store(p, x[1])
x = Point(n, f)\nfor i in range(n):\n    x = Point(x.x + 1, x.y)\ntl.store(p, x.y)
x = (n, f)\nfor i in range(n):\n    x = (x[1], x[0])
for i in range(n):\n    y = i\ntl.store(q, y)
x: tl.constexpr = 3\nfor i in range(n):\n    x = 4
while n > 0:\n    n -= 1
while True:\n    n -= 1
x = n\nwhile tl.condition(x > 0, disable_licm=True):\n    x -= 1
x = n\nwhile x > 0:\n    x -= 1\nelse:\n    x = 3
while n > 0:\n    n -= 1\n    break
if n > 0:\n    x = 1\nelse:\n    x = 2\ntl.store(q, x)
if n > 0:\n    x = 1\ntl.store(q, x)
if n > 0:\n    x = 1\nelse:\n    x = 2.0\ntl.store(q, x)
x = 0\nif n > 0:\n    x = 1.0\ntl.store(q, x)
x = (n, f)\nif n > 0:\n    x = (n + 1, f)\ntl.store(q, x[0])
x = None\nif n > 0:\n    x = n
if B > 3:\n    x = 1\ntl.store(q, x)
if None:\n    x = 1
if S == "add":\n    tl.store(p, f)
if S:\n    tl.store(p, f)
if (1, 2):\n    tl.store(p, f)
if 1.5:\n    tl.store(p, f)
if f:\n    tl.store(p, f)
if tl.arange(0, 16) > 3:\n    tl.store(p, f)
if n > 0:\n    return\ntl.store(p, f)
if n > 0:\n    return 3
return
return n
if n:\n    pass\nelif n > 3:\n    pass
x = n if n > 3 else 4
x = n if n > 3 else 4.0
x = n if B > 3 else 4.0
x = (n, f) if n > 3 else (f, n)
x = (n, n) if n > 3 else (n + 1, n)
x = (n, f) if B > 3 else n
x = 0 < n < 5
x = 0 < B < 5 < n
x = 0 < n < tl.arange(0, 16)
x = n and f
x = n > 1 and f > 2 or B > 3
x = n > 1 and True
x = n or 5
x = not n
x = not tl.arange(0, 16)
x = -n + +n
x = ~n
x = ~f
x = n ** 2
x: tl.constexpr = B ** 2
x = B // 3 % 2 << 1 >> 1 | 1 & 3 ^ 2
x = n @ n
x = (y := n) + 1\ntl.store(q, y)
x = n\nx += 1\nx -= 1\nx *= 2\nx //= 3\nx %= 2\nx &= 1\nx |= 2\nx ^= 1\nx <<= 1\nx >>= 1
x = f\nx /= 2
x @= n
x: tl.constexpr = 3\ny = tl.arange(0, 2 * B)
x: tl.constexpr\nx = 16\ny = tl.arange(0, x)
x: tl.constexpr = n
x: tl.int32 = n
x = 3\nx: tl.constexpr = 4
x: tl.constexpr = 3\nx: tl.constexpr = 4
x: tl.constexpr = (1, n)
x: tl.constexpr = (1, 2)\ny = tl.arange(0, x[1])
x = tl.arange(0, LIMIT)
x = tl.arange(0, LIMIT.value)
x = tl.arange(0, PLAIN)
x = TABLE[1] + n
x = NAMES[0]
x = math.log2(B)
x = math.pi
x = square(B) + n
x = pair(B)[1] + n
x = square(n)
x = plain(B)
x = plain(n)
x = tri.cdiv(n, B)
x = tri.cdiv(B, 3)
x = tri.next_power_of_2(B)
x = tl.cdiv(n, B)
x = twice(n)
x = twice(x=n)
x = twice(n, 3)
x = twice()
x = twice(y=n)
x = with_default(n)
x = with_default(n, 4, m=n)
x = with_default(n, k=n)
x = with_default(n, 4, 5)
x = add_all(n)
x = add_all(n, 1, f)
x = add_all(*T[0:2])
x = add_all(*(n, n))
x = twice(**{"x": n})
x = early(n)
x = two_types(n)
nothing(p)
x = nothing(p)
x = countdown(5)
x = countdown(n)
x = call(twice, n)
x = call(F, n)
x = F(n)
x = call(tl.exp, f)
x = call(plain, n)
x = apart(n)
x = apart(tl.arange(0, 16))
x = tl.reduce(tl.arange(0, 16), 0, twice)
x = lambda y: y
def inner(y):\n    return y
class Inner:\n    pass
import os
from os import path
global PLAIN
del n
try:\n    pass\nexcept Exception:\n    pass
raise ValueError("x")
with open("x"):\n    pass
with tl.nothing():\n    pass
match n:\n    case 1:\n        pass
yield n
assert n > 3
assert n > 3, "message"
assert B > 300, "constexpr"
if n > 3:\n    assert False, "never"
tl.static_assert(B == 16)
tl.static_assert(B == 17)
tl.static_assert(B == 17, "message")
tl.static_assert(n == 17)
tl.static_print("x", B, n)
tl.static_print(f"B is {B} {S!r}", sep="")
print("x", n)
print("x")
tl.device_print("x", n)
x = f"{n}"
tl.static_print(f"{B:04d}")
x = len((1, 2, n)) + n
x = int(3.5) + n
x = float(3) + n
x = float("inf") + f
x = bool(3)
x = int(n)
x = float(n)
x = min(n, 3)
x = max(n, f)
x = min(B, 3)
x = max(B, 3, 4)
x = min(n, 3, f)
x = abs(n)
x = abs(B)
x = sum((1, 2))
x = isinstance(n, tl.tensor)
x = isinstance(B, int)
x = type(n)
x = str(B)
x = repr(B)
x = round(2.5)
x = list((1, 2))
x = tuple((1, 2))
x = zip((1, 2), (3, 4))
x = getattr(n, "dtype")
x = getattr(V, "n") + 1
x = hasattr(n, "dtype")
x = hasattr(V, "zz")
x = n.dtype
x = n.to(tl.float32)
x = tl.arange(0, 16).shape[0]
x = tl.arange(0, 16).numel
x = tl.zeros([B, B], tl.float32).T
x = tl.arange(0, 16)[:, None]
x = tl.arange(0, 16)[None, :]
x = tl.arange(0, 16)[3]
x = tl.arange(0, 16)[0:4]
x = tl.arange(0, 16)[...]
x = tl.zeros([1], tl.float32).item()
x = n.item()
x = tl.arange(0, 16).item()
x = n.nope
x = tl.nope(n)
x = nope
x = n(3)
n[0] = 3
T[0] = 3
V.n = 3
n.x = 3
V.n += 3
x = Counter(n, 3).count
x = Counter(n, 3).next().count
x = (Counter(n, 3) + Counter(n, 4)).count
x = Counter(n, 3) - Counter(n, 4)
x = Counter(n, 3) + 1
x = Counter(n, 3).doubled() + n
x = Counter(3, 3)
x = Counter(n)
x = Counter(n, n)
x = Counter(n, 3)\nx.count = n
x = Counter(n, 3).zz
x = Box(n)
x = Box(n, 4).k + n
x = Box(a=n, k=5)
x = Box()
x = Box(n, 4, 5)
x = Box(n, zz=4)
x = tl.aggregate_replace(Box(n), k=7).k + n
x = tl.aggregate_replace(Box(n), zz=7)
x = tl.aggregate_replace(n, zz=7)
x = More(n, 3, f).next().count
x = isinstance(More(n, 3, f), Counter)
x = Counter(n, 3)\nfor i in range(n):\n    x = x.next()\ntl.store(q, x.count)
x = Counter(n, 3)\nif n > 3:\n    x = x.next()\ntl.store(q, x.count)
x = Counter(n, 3)\nfor i in range(n):\n    x = Counter(x.count, 4)\ntl.store(q, x.count)
x = Box(n)\nfor i in range(n):\n    x = Counter(n, 3)
x = n.__add__(3)
x = tl.constexpr(3)\ny = tl.arange(0, 16 * x)
x = n is None
x = n is not None
x = B is None
x = S == "add"
x = S + "x"
x = tl.float32 == tl.float32
tl.static_assert(n.dtype == tl.int32)
x = n.dtype.primitive_bitwidth + n
x = p.dtype.element_ty
"""a docstring"""
...
n
n + 1
x = not B
x = tl.slice(0, 1, None)
x = n.value
x = B.value + n
x = tl.tuple((n, f))
if p:\n    pass
for i in range(0, n, 0):\n    pass
x = tl.constexpr(n)
x = V.ptr + n\ny = tl.load(x)
x = [View(p, n), View(p, n)][1].n
x = Point(Point(n, f), 3).x.y
x, *y = add_all, n
t = ()\nfor i in tl.static_range(3):\n    t = t + (n + i,)\nx = t[2]
t = ()\nfor i in tl.static_range(3):\n    t += (n,)
x = (n,) + V
x = V + (n,)
x = (V, T)[0].n
x = tl.where(n > 3, *T[0:2])
x = with_default(*(n,), k=4)
x = (lambda y: y)(n)
x = twice(twice(n)) + early(early(n))
if B == 16 and n > 3:\n    tl.store(p, f)
if B == 17 and undefined_name:\n    tl.store(p, f)
if B == 16 or undefined_name:\n    tl.store(p, f)
x = undefined_name if B == 17 else n
if B == 17:\n    undefined_name()
x = n if B == 16 else undefined_name
while n > 0 and f > 0:\n    n -= 1
for i in range(B):\n    for j in range(i):\n        n += j
for i in tl.static_range(2):\n    for j in tl.static_range(i):\n        n += j
for i in range(tl.cdiv(n, B)):\n    n = n
for i in range(n, step=2):\n    pass
for i in tl.range(n, step=2):\n    pass
for i in tl.static_range(0, 4, step=2):\n    n += i
for i in range(0, 10, n):\n    pass
for i in range(tl.arange(0, 16)):\n    pass
def k2():\n    pass
return None
return (n, f)
if n > 0:\n    return\nelse:\n    tl.store(p, f)\ntl.store(p, n)
if n > 0:\n    if f > 0:\n        return\n    tl.store(p, n)\ntl.store(p, f)
while n > 0:\n    if f > 0:\n        return
'''

#: the bodies; ``\\n`` in the text above starts a line
BODIES: list[str] = [line.replace("\\n", "\n") for line in _TEXT.strip().splitlines()]
