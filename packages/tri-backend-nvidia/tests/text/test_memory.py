"""Loads, stores, atomics, and what the level finds wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from ptx_text import run
from tri_core.errors import SimulationError

_OWN = "mov.u32 %r31, %tid.x; mad.wide.u32 %at8, %r31, 16, %at0; mad.wide.u32 %at9, %r31, 16, %at1;"


@pytest.mark.parametrize("form", ["", ".volatile", ".relaxed.gpu", ".acquire.gpu"])
def test_vectors_are_loaded_and_stored(form: str) -> None:
    given, made = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    vector = ".v4" if form in ("", ".volatile") else ""
    load = f"ld{form}.global{vector}.b32 {{%r1, %r2, %r3, %r4}}, [%at8];" if vector else (
        "\n".join(f"ld{form}.global.b32 %r{i + 1}, [%at8+{4 * i}];" for i in range(4)))  # fmt: skip
    run(f"{_OWN}\n{load}\nst.global.cs.v4.b32 [%at9], {{%r4, %r3, %r2, %r1}};", [given, made])
    assert (made.reshape(-1, 4) == given.reshape(-1, 4)[:, ::-1]).all()


def test_bytes_are_extended_by_their_type() -> None:
    given, made = np.array([0x80, 0x7F] * 32, np.uint8), np.zeros(32, np.uint32)
    code = "mov.u32 %r31, %tid.x; cvt.u64.u32 %q1, %r31; add.s64 %at8, %at0, %q1; ld.global.s8 %r1, [%at8];"
    run(f"{code} mad.wide.u32 %at9, %r31, 4, %at1; st.global.b32 [%at9], %r1;", [given, made])
    assert made.tolist() == [0xFFFFFF80, 0x7F] * 16


def test_atomics_take_turns_and_give_the_old_value() -> None:
    counter, made = np.zeros(1, np.uint32), np.zeros(128, np.uint32)
    run(f"{_OWN} atom.add.acq_rel.gpu.global.u32 %r1, [%at0], 3; st.global.b32 [%at9], %r1;", [counter, made])
    assert counter.tolist() == [96]
    assert sorted(made[::4].tolist()) == list(range(0, 96, 3))


@pytest.mark.parametrize(("name", "expected"), [("min.s32", 0xFFFFFFF0), ("max.u32", 0xFFFFFFF0), ("and.b32", 0), ("or.b32", 0xFFFFFFFF),
                                                ("exch.b32", 31), ("inc.u32", 0)])  # fmt: skip
def test_reductions(name: str, expected: int) -> None:
    word = np.array([0xFFFFFFF0], np.uint32)
    run(
        f"{_OWN} atom.global.{name} %r1, [%at0], %r31;"
        if name[0] in "ei"
        else f"{_OWN} red.global.{name} [%at0], %r31;",
        [word, np.zeros(128, np.uint32)],
    )
    if name == "inc.u32":  # each thread wraps at its own number, in turn
        value = 0xFFFFFFF0
        for most in range(32):
            value = 0 if value >= most else value + 1
        expected = value
    if name == "exch.b32":
        expected = 31
    if name == "and.b32":
        expected = 0
    assert word.tolist() == [expected]


def test_compare_and_swap() -> None:
    word = np.array([5], np.uint32)
    run(f"{_OWN} atom.global.cas.b32 %r1, [%at0], %r31, 99;", [word, np.zeros(128, np.uint32)])
    assert word.tolist() == [99]


def test_vectors_of_halves_are_added() -> None:
    halves = np.array([1, 2, 3, 4], np.float16)
    code = "mov.b32 %r1, 0x3C003C00; red.global.add.noftz.v2.f16x2 [%at0], {{%r1, %r1}};".replace(
        "{{", "{"
    ).replace("}}", "}")
    run(code, [halves])
    assert halves.tolist() == [33, 34, 35, 36]


def test_shared_memory_and_barriers() -> None:
    made = np.zeros(64, np.uint32)
    code = """
        mov.u32 %r31, %tid.x; mov.b64 %at5, smem; mad.wide.u32 %at6, %r31, 4, %at5;
        st.shared.b32 [%at6], %r31; bar.sync 0; xor.b32 %r1, %r31, 63; mad.wide.u32 %at7, %r1, 4, %at5;
        ld.shared.b32 %r2, [%at7]; mad.wide.u32 %at8, %r31, 4, %at0; st.global.b32 [%at8], %r2;
    """
    run(code, [made], threads=64)
    assert made.tolist() == list(range(63, -1, -1))
    with pytest.raises(SimulationError, match="PTX line") as found:
        run(code.replace("bar.sync 0;", ""), [made], threads=64)
    assert found.value.check == "race"


def test_copies_arrive_when_they_are_waited_for() -> None:
    given, made = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    code = f"""{_OWN} mov.b64 %at5, smem; mad.wide.u32 %at6, %r31, 16, %at5;
        cp.async.cg.shared.global [%at6], [%at8], 16; cp.async.commit_group; cp.async.wait_group 0;
        ld.shared.v4.b32 {{%r1, %r2, %r3, %r4}}, [%at6]; st.global.v4.b32 [%at9], {{%r1, %r2, %r3, %r4}};"""
    run(code, [given, made])
    assert (made == given).all()


@pytest.mark.parametrize(
    ("code", "check"),
    [("ld.global.b32 %r1, [%at0+4096];", "out-of-bounds"), ("ld.global.b32 %r1, [%at0+1];", "misaligned"),
     ("bra $L; mov.b32 %r2, 1; $L: add.s32 %r1, %r2, 1;", "uninitialised"), ("setp.eq.s32 %p1, %r31, 3; @%p1 mov.b32 %r1, 1; bra $L; $L: add.s32 %r2, %r1, 1;", ""),
     ("trap;", "trap"), ("ld.shared.b32 %r1, [smem];", "uninitialised")],
)  # fmt: skip
def test_what_is_wrong_is_a_typed_error_with_the_line_of_the_text(code: str, check: str) -> None:
    arrays = [np.zeros(128, np.uint32), np.zeros(128, np.uint32)]
    if not check:  # a guard leaves anything
        run(f"{_OWN} {code}", arrays)
        return
    with pytest.raises(SimulationError, match=r"PTX line \d+") as found:
        run(f"{_OWN} {code}", arrays)
    assert found.value.check == check


def test_a_register_that_only_some_threads_have_written_is_found() -> None:
    code = f"{_OWN} setp.ne.s32 %p1, %r31, 3; @%p1 bra $L; mov.b32 %r1, 1; $L: add.s32 %r2, %r1, 1;"
    with pytest.raises(SimulationError, match="thread 0 reads register %r1"):
        run(code, [np.zeros(128, np.uint32)] * 2)


def test_a_wait_by_weak_loads_is_found_and_one_by_volatile_loads_is_not() -> None:
    code = """$AGAIN: ld.FORM.b32 %r1, [%at0]; setp.eq.s32 %p1, %r1, 0; @%p1 bra $AGAIN;"""
    with pytest.raises(SimulationError) as found:
        run(code.replace("FORM", "global"), [np.zeros(1, np.uint32)])
    assert found.value.check == "weak-wait"
    run(code.replace("FORM", "global"), [np.ones(1, np.uint32)])
    with pytest.raises(SimulationError) as found:
        run(code.replace("FORM", "volatile.global"), [np.zeros(1, np.uint32)])
    assert found.value.check == "deadlock"


def test_a_loop_that_walks_along_memory_is_no_wait() -> None:
    words = np.array([0, 0, 0, 7], np.uint32)
    code = "mov.b64 %at5, %at0; $AGAIN: ld.global.b32 %r1, [%at5]; add.s64 %at5, %at5, 4; setp.eq.s32 %p1, %r1, 0; @%p1 bra $AGAIN; st.global.b32 [%at0], %r1;"
    run(code, [words])
    assert words.tolist() == [7, 0, 0, 7]


def test_a_thread_has_local_memory_of_its_own() -> None:
    made = np.zeros(32, np.uint32)
    code = """
        .local .align 4 .b8 depot[8]; mov.b64 %at5, depot; mov.u32 %r31, %tid.x; st.local.b32 [%at5+4], %r31;
        ld.local.b32 %r1, [depot+4]; mad.wide.u32 %at6, %r31, 4, %at0; st.global.b32 [%at6], %r1;
    """
    run(code, [made])
    assert made.tolist() == list(range(32))
