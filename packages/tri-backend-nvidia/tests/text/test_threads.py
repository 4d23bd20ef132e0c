"""Shuffles, votes, matches, reductions, barriers and divergence."""

from __future__ import annotations

import numpy as np
import pytest

from ptx_text import evaluate, run
from tri_core.errors import SimulationError

_LANES = np.arange(32, dtype=np.uint32)


@pytest.mark.parametrize(
    ("mode", "by", "clamp", "source"),
    [("bfly", 5, 31, lambda i: i ^ 5), ("idx", 7, 31, lambda i: 7), ("up", 3, 0, lambda i: i - 3 if i >= 3 else i),
     ("down", 4, 31, lambda i: i + 4 if i + 4 < 32 else i), ("idx", 1, 0x181F, lambda i: i // 8 * 8 + 1),
     ("down", 1, 0x1C1F, lambda i: i + 1 if i % 4 < 3 else i)],
)  # fmt: skip
def test_shuffles(mode: str, by: int, clamp: int, source: object) -> None:
    code = f"shfl.sync.{mode}.b32 %r15|%p1, {{0}}, {by}, {clamp}, -1; @!%p1 add.s32 %r15, %r15, 100;"
    found = evaluate(code, [_LANES * 3], "%r15", 32)
    taken = [source(i) for i in range(32)]  # type: ignore[operator]
    outside = [mode in ("up", "down") and t == i for i, t in enumerate(taken)]
    assert found.tolist() == [3 * t + 100 * o for t, o in zip(taken, outside, strict=True)]


def test_votes() -> None:
    setup = "setp.lt.u32 %p1, {0}, 5;"
    assert set(evaluate(f"{setup} vote.sync.ballot.b32 %r15, %p1, -1;", [_LANES], "%r15", 32).tolist()) == {
        31
    }
    for mode, expected in {"all": 0, "any": 1, "uni": 0}.items():
        code = f"{setup} vote.sync.{mode}.pred %p2, %p1, -1; selp.b32 %r15, 1, 0, %p2;"
        assert set(evaluate(code, [_LANES], "%r15", 32).tolist()) == {expected}


def test_matches_and_reductions() -> None:
    values = _LANES % 3
    found = evaluate("match.any.sync.b32 %r15, {0}, -1;", [values], "%r15", 32)
    assert found.tolist() == [sum(1 << j for j in range(32) if j % 3 == i % 3) for i in range(32)]
    for name, expected in {"add.u32": 496, "max.s32": 31, "min.u32": 0, "xor.b32": 0, "or.b32": 31}.items():
        assert set(evaluate(f"redux.sync.{name} %r15, {{0}}, -1;", [_LANES], "%r15", 32).tolist()) == {
            expected
        }


def test_a_shuffle_of_lanes_that_are_elsewhere_is_an_error() -> None:
    code = "setp.lt.u32 %p1, {0}, 16; @%p1 shfl.sync.idx.b32 %r15, {0}, 3, 31, -1; @!%p1 mov.b32 %r15, 0;"
    with pytest.raises(SimulationError, match="names lanes 0xffffffff") as found:
        evaluate(code, [_LANES], "%r15", 32)
    assert found.value.check == "convergence"
    halves = code.replace("31, -1", "31, 0xFFFF")
    assert evaluate(halves, [_LANES], "%r15", 32).tolist() == [3] * 16 + [0] * 16


def test_threads_part_and_meet() -> None:
    code = (
        """
        mov.b32 %r15, 0; mov.b32 %r14, {0};
$AGAIN: setp.eq.s32 %p1, %r14, 0; @%p1 bra $OUT; add.s32 %r15, %r15, %r14; add.s32 %r14, %r14, -1; bra $AGAIN;
$OUT:   redux.sync.add.s32 %r13, %r15, -1; sub.s32 %r15, %r13, %r15;
    """.replace("{0}", "{{0}}")
        .replace("{{", "{")
        .replace("}}", "}")
    )
    own = [i * (i + 1) // 2 for i in range(32)]
    assert evaluate(code, [_LANES], "%r15", 32).tolist() == [sum(own) - o for o in own]


def test_a_barrier_that_some_threads_do_not_reach_is_a_deadlock() -> None:
    code = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 0;"
    with pytest.raises(SimulationError) as found:
        run(code, [], threads=64)
    assert found.value.check == "deadlock"
    run(code.replace("bar.sync 0", "bar.sync 1, 32"), [], threads=64)


def test_arrivals_do_not_wait() -> None:
    made = np.zeros(1, np.uint32)
    code = """
        mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra $FIRST;
        mov.b32 %r2, 7; setp.eq.u32 %p2, %r1, 32; @%p2 st.shared.b32 [smem], %r2; bar.arrive 1, 64; bra $END;
$FIRST: bar.sync 1, 64; ld.shared.b32 %r3, [smem]; setp.eq.u32 %p3, %r1, 0; @%p3 st.global.b32 [%at0], %r3;
$END:
    """
    run(code, [made], threads=64)
    assert made.tolist() == [7]


def test_a_thread_may_leave_under_a_guard() -> None:
    made = np.zeros(32, np.uint32)
    code = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 10; @%p1 ret; mad.wide.u32 %at5, %r1, 4, %at0; st.global.b32 [%at5], %r1;"
    run(code, [made])
    assert made.tolist() == [0] * 10 + list(range(10, 32))
