from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_core import progress
from tri_core.errors import DeviceError, LaunchError, Unsupported
from tri_core.mlir import ir, session
from tri_runtime.simulator import CTA, External, simulate
from tri_runtime.simulator.ops import _divide, _fma, _remainder

Array = npt.NDArray[Any]
THREADS = 64


@pytest.fixture(autouse=True)
def _context() -> Iterator[None]:
    with session():
        yield


def thread(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    return [np.arange(cta.num_threads, dtype=np.int32)]


def program(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    return [np.full(cta.num_threads, cta.program_id[0], np.int32)]


def barrier(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    cta.barrier()
    return []


EXTERNALS: dict[str, External] = {"thread": thread, "program": program, "barrier": barrier}
DECLARATIONS = """llvm.func @thread() -> i32
  llvm.func @program() -> i32
  llvm.func @barrier()
  llvm.mlir.global internal @shared() {addr_space = 3 : i32} : !llvm.array<1024 x i8>"""


def run(body: str, *arguments: Array | float, parameters: str = "%p: !llvm.ptr<1>", **options: Any) -> None:
    module = ir.Module.parse(f"{DECLARATIONS}\nllvm.func @k({parameters}) {{\n{body}\n}}")
    given = {
        "num_threads": THREADS,
        "threads_per_warp": 32,
        "shared_bytes": 1024,
        "externals": EXTERNALS,
        **options,
    }
    simulate(module, "k", given.pop("grid", (1, 1, 1)), arguments, **given)


OWN = """%t = llvm.call @thread() : () -> i32
  %a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32"""


def test_a_long_launch_shows_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys, "gettrace", lambda: None)
    monkeypatch.setenv("FORCE_COLOR", "1")
    run("llvm.return", np.zeros(1, np.int32), grid=(2, 2, 1))
    assert "simulating k" in capsys.readouterr().err
    run("llvm.return", np.zeros(1, np.int32))
    assert capsys.readouterr().err == "", "one program is no sequence of steps"


def test_every_thread_of_every_program_runs() -> None:
    body = f"""{OWN}
      %g = llvm.call @program() : () -> i32
      %old = llvm.load %a : !llvm.ptr<1> -> i32
      %new = llvm.add %old, %g : i32
      llvm.store %new, %a : i32, !llvm.ptr<1>
      llvm.return"""
    x = np.arange(THREADS, dtype=np.int32)
    run(body, x, grid=(4, 1, 1))
    np.testing.assert_array_equal(x, np.arange(THREADS) + 0 + 1 + 2 + 3)


@pytest.mark.parametrize(("kind", "wanted"), [("f16", 1.5), ("i16", 7), ("bf16", 1.5)])
def test_constant_vectors_of_16_bits(kind: str, wanted: float) -> None:
    number = wanted if kind != "i16" else int(wanted)
    bits = {"f16": np.float16(wanted).view(np.uint16), "i16": 7, "bf16": 0x3FC0}[kind]
    body = f"""%v = llvm.mlir.constant(dense<{number}> : vector<4x{kind}>) : vector<4x{kind}>
      %z = llvm.mlir.constant(3 : i32) : i32
      %e = llvm.extractelement %v[%z : i32] : vector<4x{kind}>
      llvm.store %e, %p : {kind}, !llvm.ptr<1>
      llvm.return"""
    x = np.zeros(1, np.uint16)
    run(body, x, num_threads=32)
    assert x[0] == bits


def test_threads_part_and_meet_again() -> None:
    body = f"""{OWN}
      %limit = llvm.mlir.constant(20 : i32) : i32
      %hundred = llvm.mlir.constant(100 : i32) : i32
      %low = llvm.icmp "slt" %t, %limit : i32
      llvm.cond_br %low, ^small, ^large
    ^small:
      %s = llvm.add %t, %hundred : i32
      llvm.br ^join(%s : i32)
    ^large:
      %l = llvm.sub %t, %hundred : i32
      llvm.br ^join(%l : i32)
    ^join(%v: i32):
      llvm.call @barrier() : () -> ()
      llvm.store %v, %a : i32, !llvm.ptr<1>
      llvm.return"""
    x = np.zeros(THREADS, np.int32)
    run(body, x)
    t = np.arange(THREADS)
    np.testing.assert_array_equal(x, np.where(t < 20, t + 100, t - 100))


def test_threads_leave_a_loop_at_different_times_with_their_own_values() -> None:
    body = f"""{OWN}
      %zero = llvm.mlir.constant(0 : i32) : i32
      %one = llvm.mlir.constant(1 : i32) : i32
      llvm.br ^head(%zero, %zero : i32, i32)
    ^head(%i: i32, %sum: i32):
      %more = llvm.icmp "slt" %i, %t : i32
      %square = llvm.mul %i, %i : i32
      llvm.cond_br %more, ^body, ^exit
    ^body:
      %next = llvm.add %i, %one : i32
      %total = llvm.add %sum, %i : i32
      llvm.br ^head(%next, %total : i32, i32)
    ^exit:
      %result = llvm.add %sum, %square : i32
      llvm.store %result, %a : i32, !llvm.ptr<1>
      llvm.return"""
    x = np.zeros(THREADS, np.int32)
    run(body, x)
    t = np.arange(THREADS)
    np.testing.assert_array_equal(x, t * (t - 1) // 2 + t * t)


def test_a_barrier_that_some_threads_miss_is_an_error() -> None:
    body = f"""{OWN}
      %limit = llvm.mlir.constant(20 : i32) : i32
      %low = llvm.icmp "slt" %t, %limit : i32
      llvm.cond_br %low, ^small, ^end
    ^small:
      llvm.call @barrier() : () -> ()
      llvm.br ^end
    ^end:
      llvm.return"""
    with pytest.raises(DeviceError, match="a barrier that 20 of 64 threads reach"):
        run(body, np.zeros(THREADS, np.int32))


EXCHANGE = """%base = llvm.mlir.addressof @shared : !llvm.ptr<3>
  %one = llvm.mlir.constant(1 : i32) : i32
  %mine = llvm.getelementptr %base[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %partner = llvm.xor %t, %one : i32
  %its = llvm.getelementptr %base[%partner] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %t, %mine : i32, !llvm.ptr<3>
  BARRIER
  %v = llvm.load %its : !llvm.ptr<3> -> i32
  llvm.store %v, %a : i32, !llvm.ptr<1>"""


def test_threads_exchange_values_through_shared_memory() -> None:
    x = np.zeros(THREADS, np.int32)
    body = f"{OWN}\n{EXCHANGE.replace('BARRIER', 'llvm.call @barrier() : () -> ()')}\nllvm.return"
    run(body, x)
    np.testing.assert_array_equal(x, np.arange(THREADS) ^ 1)


def test_a_missing_barrier_before_a_read_is_found() -> None:
    body = f"{OWN}\n{EXCHANGE.replace('BARRIER', '')}\nllvm.return"
    with pytest.raises(DeviceError, match="thread 0 reads what thread 1 wrote"):
        run(body, np.zeros(THREADS, np.int32))
    run(body, np.zeros(THREADS, np.int32), check_races=False)


def test_a_missing_barrier_before_a_write_is_found() -> None:
    again = """%c = llvm.mlir.constant(7 : i32) : i32
      llvm.store %c, %mine : i32, !llvm.ptr<3>
      llvm.return"""
    body = f"{OWN}\n{EXCHANGE.replace('BARRIER', 'llvm.call @barrier() : () -> ()')}\n{again}"
    with pytest.raises(DeviceError, match="overwrites what thread 1 reads"):
        run(body, np.zeros(THREADS, np.int32))


def test_two_threads_that_write_different_values_to_one_place_race() -> None:
    body = f"""{OWN}
      %base = llvm.mlir.addressof @shared : !llvm.ptr<3>
      llvm.store %t, %base : i32, !llvm.ptr<3>
      %c = llvm.mlir.constant(7 : i32) : i32
      llvm.store %c, %base : i32, !llvm.ptr<3>
      llvm.return"""
    with pytest.raises(DeviceError, match="race in shared memory"):
        run(body, np.zeros(THREADS, np.int32))


@pytest.mark.parametrize(("index", "kind"), [(64, "load"), (-1, "load")])
def test_an_access_out_of_bounds_names_thread_and_address(index: int, kind: str) -> None:
    body = f"""%i = llvm.mlir.constant({index} : i32) : i32
      %a = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %v = llvm.load %a : !llvm.ptr<1> -> i32
      llvm.store %v, %a : i32, !llvm.ptr<1>
      llvm.return"""
    with pytest.raises(
        DeviceError, match=f"thread 0: {kind} of 4 bytes .* outside of any buffer of global memory"
    ):
        run(body, np.zeros(THREADS, np.int32))


def test_atomics_take_turns() -> None:
    body = f"""{OWN}
      %c = llvm.mlir.constant(0 : i32) : i32
      %old = llvm.atomicrmw add %q, %t monotonic : !llvm.ptr<1>, i32
      %pair = llvm.cmpxchg %r, %c, %t monotonic monotonic : !llvm.ptr<1>, i32
      %seen = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
      llvm.store %old, %a : i32, !llvm.ptr<1>
      llvm.return"""
    x, q, r = np.zeros(THREADS, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    run(body, x, q, r, parameters="%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %r: !llvm.ptr<1>")
    t = np.arange(THREADS)
    assert q[0] == t.sum()
    np.testing.assert_array_equal(x, np.cumsum(t) - t)
    assert r[0] == 1  # thread 0 stored 0, thread 1 found it


def test_vectors_are_loaded_and_stored_whole() -> None:
    body = """%t = llvm.call @thread() : () -> i32
      %a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
      %v = llvm.load %a : !llvm.ptr<1> -> vector<4xf32>
      %i = llvm.mlir.constant(2 : i32) : i32
      %e = llvm.extractelement %v[%i : i32] : vector<4xf32>
      %s = llvm.fadd %v, %v : vector<4xf32>
      %w = llvm.insertelement %e, %s[%i : i32] : vector<4xf32>
      llvm.store %w, %a : vector<4xf32>, !llvm.ptr<1>
      llvm.return"""
    x = np.arange(4 * THREADS, dtype=np.float32)
    run(body, x)
    expected = 2 * np.arange(4 * THREADS, dtype=np.float32).reshape(-1, 4)
    expected[:, 2] /= 2
    np.testing.assert_array_equal(x, expected.ravel())


def test_bf16_is_computed_in_f32() -> None:
    body = """%t = llvm.call @thread() : () -> i32
      %a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, bf16
      %v = llvm.load %a : !llvm.ptr<1> -> bf16
      %c = llvm.mlir.constant(1.5 : bf16) : bf16
      %w = llvm.fmul %v, %c : bf16
      llvm.store %w, %a : bf16, !llvm.ptr<1>
      llvm.return"""
    values = np.random.default_rng(0).standard_normal(THREADS).astype(np.float32)
    bits = (values.view(np.uint32) >> 16).astype(np.uint16)
    wide = (bits.astype(np.uint32) << 16).view(np.float32)
    run(body, bits)
    exact = (wide * np.float32(1.5)).view(np.uint32)
    np.testing.assert_array_equal(bits, ((exact + 0x7FFF + ((exact >> 16) & 1)) >> 16).astype(np.uint16))


def test_the_fused_multiply_add_rounds_once() -> None:
    body = """%t = llvm.call @thread() : () -> i32
      %a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %v = llvm.load %a : !llvm.ptr<1> -> f32
      %m = llvm.fneg %v : f32
      %c = llvm.mlir.constant(1.0 : f32) : f32
      %w = llvm.intr.fma(%v, %m, %c) : (f32, f32, f32) -> f32
      llvm.store %w, %a : f32, !llvm.ptr<1>
      llvm.return"""
    x = (1 + np.arange(THREADS) * 2.0**-23).astype(np.float32)
    exact = 1 - x.astype(np.float64) ** 2  # of at most 48 bits
    run(body, x)
    np.testing.assert_array_equal(x, exact.astype(np.float32))


def test_integer_division_is_that_of_c() -> None:
    body = """%t = llvm.call @thread() : () -> i32
      %a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %v = llvm.load %a : !llvm.ptr<1> -> i32
      %c = llvm.mlir.constant(-7 : i32) : i32
      %q = llvm.sdiv %v, %c : i32
      %r = llvm.srem %v, %c : i32
      %u = llvm.udiv %v, %c : i32
      %x = llvm.xor %q, %r : i32
      %y = llvm.xor %x, %u : i32
      llvm.store %y, %a : i32, !llvm.ptr<1>
      llvm.return"""
    x = np.arange(-32, 32, dtype=np.int32) * 1000003
    q = np.trunc(x / -7).astype(np.int64)
    r = x - q * -7
    u = x.view(np.uint32) // np.int32(-7).view(np.uint32)
    expected = (q ^ r ^ u).astype(np.int32)
    run(body, x)
    np.testing.assert_array_equal(x, expected)


def test_a_wrong_number_of_arguments_is_refused() -> None:
    with pytest.raises(LaunchError, match="k takes 1 arguments; 2 given"):
        run("llvm.return", np.zeros(4, np.int32), 3)


def test_an_unknown_function_is_refused_by_name() -> None:
    module = ir.Module.parse("llvm.func @f()\nllvm.func @k() { llvm.call @f() : () -> ()\nllvm.return }")
    with pytest.raises(Unsupported, match="does not know the function f"):
        simulate(module, "k", (1, 1, 1), [], num_threads=1, threads_per_warp=1)


def test_read_only_arrays_stay_as_they_are() -> None:
    body = f"""{OWN}
      llvm.store %t, %a : i32, !llvm.ptr<1>
      llvm.return"""
    x = np.full(THREADS, 5, np.int32)
    x.flags.writeable = False
    run(body, x)
    assert (x == 5).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_fused_multiply_add_is_exact_at_ties_and_below_normal(dtype: Any) -> None:
    """Against rational arithmetic, rounded to nearest even by hand."""
    random = np.random.default_rng(3)
    info = np.finfo(dtype)
    narrow = dtype == np.float16
    bits = random.integers(0, 1 << (8 * info.dtype.itemsize), (3, 4000)).astype(f"u{info.dtype.itemsize}")
    x, y, z = bits.view(dtype)
    # products of numbers just above 1 and small addends: ties, broken by the addend
    one = (1 + random.integers(0, 9, 4000) * float(info.eps)).astype(dtype)
    half = (random.choice([-0.5, 0.5], 4000) * float(info.eps)).astype(dtype)
    x, y = np.concatenate([x, one]), np.concatenate([y, one[::-1]])
    z = np.concatenate([z, (half * (1 + (0 if narrow else 1) * one)).astype(dtype)])
    finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    x, y, z = x[finite], y[finite], z[finite]
    with np.errstate(all="ignore"):
        found = _fma(x, y, z)
    for a, b, c, got in zip(x[::7], y[::7], z[::7], found[::7], strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        assert got == _nearest(exact, dtype) or not np.isfinite(got)


def _nearest(exact: Fraction, dtype: Any) -> Any:
    """The number of ``dtype`` next to ``exact``, the even one of two."""
    with np.errstate(all="ignore"):
        near = dtype(float(exact))
        candidates = [near, np.nextafter(near, dtype(-np.inf)), np.nextafter(near, dtype(np.inf))]
    candidates = [c for c in candidates if np.isfinite(c)]
    kind = f"u{np.dtype(dtype).itemsize}"
    return min(
        candidates, key=lambda c: (abs(Fraction(float(c)) - exact), int(c.view(kind)) & 1), default=near
    )


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_division_of_the_least_number(dtype: type) -> None:
    """By -1 it wraps, as on hardware; everything else is toward zero."""
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    numbers = [least, least + 1, -7, -1, 0, 1, 5, most]
    pairs = [(x, y) for x in numbers for y in numbers if y]
    x, y = (np.array(side, dtype) for side in zip(*pairs, strict=True))
    quotients = [(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in pairs]
    wrapped = [least if q == most + 1 else q for q in quotients]
    np.testing.assert_array_equal(_divide(x, y), np.array(wrapped, dtype))
    rest = [a - q * b for (a, b), q in zip(pairs, quotients, strict=True)]
    np.testing.assert_array_equal(_remainder(x, y), np.array(rest, dtype))
