"""Targets without 64-bit floats: ``tl.extra.libdevice`` in fp32 alone, exactly, and the kit's choice of types."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
from integration import narrow_target
from tri.language.extra import libdevice
from tri.launch import dispatcher
from tri_conformance.kernels import functions as k
from tri_conformance.oracles import MODES, ends, exact_of, root, rounded
from tri_core import compiler, knobs, plugins
from tri_core.errors import Unsupported
from tri_core.plugins import PluginManager, candidate_of
from tri_runtime import registry

N = 512
KERNELS = {1: k.of_one, 2: k.of_two, 3: k.of_three}
F4 = np.dtype(np.float32)
Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module", autouse=True)
def _narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    manager = PluginManager([candidate_of(narrow_target.plugin())])
    for part in (compiler, dispatcher, registry):
        part.forget()
    folder = tmp_path_factory.mktemp("cache")
    with plugins.use(manager), knobs.scope(CACHE_DIR=folder), tri.target(narrow_target.NAME):
        yield
    for part in (compiler, dispatcher, registry):
        part.forget()


def computed(name: str, *args: Array, result: np.dtype[Any] = F4) -> Array:
    """Result of libdevice's ``name`` for fp32 and integers; its kernel holds no 64-bit float."""
    out = np.full(N, 77, result)
    made = KERNELS[len(args)][(1,)](out, *args, F=getattr(libdevice, name), N=N)
    assert "f64" not in made.asm["ttir"]
    return out


def patterns(rng: np.random.Generator) -> Array:
    """Finite floats and others by their bits: of any exponent, or near an end, or few bits, or with all of them set."""
    bits = rng.integers(0, 1 << 32, N, np.uint32)
    exponent = rng.choice([0, 1, 2, 24, 25, 126, 127, 128, 150, 253, 254, 255], N).astype(np.uint32) << 23
    some = (bits & np.uint32(0x807FFFFF)) | exponent
    bits = np.where(rng.random(N) < 0.4, some, bits)
    mask = rng.choice(np.array([0xFFFFFFFF, 0xFFFFFFFF, 0xFFF00000, 0xFF800000, 0xFF800003], np.uint32), N)
    bits &= mask
    return np.where(rng.random(N) < 0.1, bits | np.uint32(0x7FFFFF), bits).astype(np.uint32).view(np.float32)


def near(rng: np.random.Generator, x: Array) -> Array:
    """``x`` a few places away, and times a power of two."""
    with np.errstate(all="ignore"):
        moved = (x.view(np.int32) + rng.integers(-3, 4, N).astype(np.int32)).view(np.float32)
        return np.ldexp(moved, rng.choice([0, 0, 0, -1, 1, 23, 24, 25, -24, 48, -48, 70], N)).astype(
            np.float32
        )


def operands(rng: np.random.Generator, count: int) -> list[Array]:
    """Floats by their bits; half of the last are near what cancels the others."""
    args = [patterns(rng) for _ in range(count)]
    if count > 1:
        with np.errstate(all="ignore"):
            others = -args[0] if count == 2 else (-args[0] * args[1])
        args[-1] = np.where(rng.random(N) < 0.5, near(rng, others.astype(np.float32)), args[-1])
    return args


def sum_of(x: Any, y: Any, mode: str) -> Any:
    """The sign of an exact sum that is zero."""
    if np.signbit(x) == np.signbit(y):
        return np.float32(x)
    return np.float32(-0.0 if mode == "rd" else 0.0)


def added(x: Any, y: Any, mode: str) -> Any:
    value = exact_of(x) + exact_of(y)
    return rounded(value, mode, F4) if value else sum_of(x, y, mode)


def multiplied(x: Any, y: Any, mode: str) -> Any:
    return signed(exact_of(x) * exact_of(y), np.signbit(x) != np.signbit(y), mode)


def divided(x: Any, y: Any, mode: str) -> Any:
    return signed(exact_of(x) / exact_of(y), np.signbit(x) != np.signbit(y), mode) if y else x / y


def fused(x: Any, y: Any, z: Any, mode: str) -> Any:
    product = exact_of(x) * exact_of(y)
    value = product + exact_of(z)
    zero = np.float32(-0.0 if np.signbit(x) != np.signbit(y) else 0.0)
    return signed(value, value < 0, mode) if value else sum_of(zero if not product else -z, z, mode)


def rooted(x: Any, mode: str) -> Any:
    if x <= 0:
        return np.sqrt(x)
    return rounded(root(exact_of(x)), mode, F4)


def signed(value: Fraction, negative: bool, mode: str) -> Any:
    return np.copysign(rounded(value, mode, F4), np.float32(-1 if negative else 1))


#: name -> operands, the exact result, what NumPy gives for infinities and NaN
ARITHMETIC: dict[str, tuple[int, Callable[..., Any], Callable[..., Any]]] = {
    "add": (2, added, np.add),
    "sub": (2, lambda x, y, mode: added(x, -y, mode), np.subtract),
    "mul": (2, multiplied, np.multiply),
    "div": (2, divided, np.divide),
    "rcp": (1, lambda x, mode: divided(np.float32(1), x, mode), lambda x: np.float32(1) / x),
    "sqrt": (1, rooted, np.sqrt),
    "fma": (3, fused, lambda x, y, z: (x.astype(np.float64) * y + z).astype(np.float32)),
}


def expected(name: str, args: list[Array], mode: str) -> Array:
    """Exactly rounded, infinities and NaN as NumPy has them."""
    _, exact, special = ARITHMETIC[name]
    with np.errstate(all="ignore"):
        out = np.asarray(special(*args))
        for i, row in enumerate(zip(*args, strict=True)):
            if all(map(np.isfinite, row)):
                out[i] = exact(*row, mode)
    return out


def same_bits(got: Array, wanted: Array, *args: Array) -> None:
    """Equal bits, but for those of NaN."""
    equal = (got.view(np.int32) == wanted.view(np.int32)) | (np.isnan(got) & np.isnan(wanted))
    wrong = np.flatnonzero(~equal)
    assert not len(wrong), [(*(float(a[wrong[0]]).hex() for a in args), got[wrong[0]], wanted[wrong[0]])]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ARITHMETIC)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_arithmetic_with_a_rounding_mode(name: str, mode: str, seed: int) -> None:
    args = operands(np.random.default_rng(seed), ARITHMETIC[name][0])
    same_bits(computed(f"{name}_{mode}", *args), expected(name, args, mode), *args)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_each_pair_of_the_ends_of_the_type(name: str, mode: str) -> None:
    values = ends(F4)
    x, y = np.repeat(values, len(values)), np.tile(values, len(values))
    for start in range(0, len(x), N):
        pair = [np.resize(each[start : start + N], N) for each in (x, y)]
        same_bits(computed(f"{name}_{mode}", *pair), expected(name, pair, mode), *pair)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["int", "uint", "ll", "ull"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_integers_with_a_rounding_mode(kind: str, mode: str, seed: int) -> None:
    dtype: Any = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}[kind]
    rng, info = np.random.default_rng(seed), np.iinfo(dtype)
    x = rng.integers(info.min, info.max, N, dtype, endpoint=True) >> rng.integers(0, info.bits - 1, N).astype(
        dtype
    )
    x[:6] = [0, 1, info.max, info.min, info.max - 1, info.min + 1]
    wanted = np.array([rounded(Fraction(int(v)), mode, F4) for v in x])
    same_bits(computed(f"{kind}2float_{mode}", x), wanted, x.astype(np.float64))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_exponents_and_powers_of_two(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = patterns(rng)
    near_ends = rng.choice([-(2**31), 2**31 - 1, -300, -278, -277, -150, -149, 127, 128, 254, 277, 278], N)
    n = np.where(rng.random(N) < 0.3, near_ends, rng.integers(-300, 300, N)).astype(np.int32)
    finite = np.isfinite(x)
    with np.errstate(all="ignore"):
        # as fp64 exact, and rounded once: its exponents reach far beyond
        scaled = np.ldexp(x.astype(np.float64), np.clip(n, -700, 700)).astype(np.float32)
        exponent = np.frexp(x.astype(np.float64))[1] - 1
        logb = np.where(finite & (x != 0), exponent, np.where(x == 0, -np.inf, x.astype(np.float64) ** 2))
    ilogb = np.where(np.isinf(x), 2**31 - 1, np.where((x == 0) | np.isnan(x), -(2**31), exponent))
    for name in ("ldexp", "scalbn"):
        same_bits(computed(name, x, n), scaled, x, n.astype(np.float64))
    same_bits(computed("logb", x), logb.astype(np.float32), x)
    np.testing.assert_array_equal(computed("ilogb", x, result=np.dtype(np.int32)), ilogb.astype(np.int32))


def inverse_root(x: Any) -> Any:
    """By integers: the place below, and whether the result lies beyond the middle to the next."""
    value = exact_of(x)
    return rounded(root(1 / value), "rn", F4)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_reciprocal_square_roots(seed: int) -> None:
    x = patterns(np.random.default_rng(seed))
    with np.errstate(all="ignore"):
        wanted = (1 / np.sqrt(x)).astype(np.float32)
    for i in np.flatnonzero(np.isfinite(x) & (x > 0)):
        wanted[i] = inverse_root(x[i])
    same_bits(computed("rsqrt_rn", x), wanted, x)


def test_what_is_computed_in_fp64_says_so() -> None:
    with pytest.raises(Unsupported, match="is computed in fp64, which narrow"):
        computed("cospi", np.ones(N, np.float32))


@pytest.mark.parametrize("arch", ["dg2"])
def test_the_kit_chooses_types_that_the_target_has(arch: str, tmp_path: Path) -> None:
    """Levels that compile kernels of their own choice, on a simulated device without fp64."""
    command = [sys.executable, "-m", "tri_conformance", "--target", f"sim:intel:{arch}", "--level", "layouts"]
    command += ["--json", str(tmp_path / "found.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout
    assert "dot-f64" not in done.stdout
