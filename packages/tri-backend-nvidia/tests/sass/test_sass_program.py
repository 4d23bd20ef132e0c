"""Machine code as the simulator's CTAs run it: blocks, threads that part, memory, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tri_backend_nvidia.sass.lanes import Layout
from tri_backend_nvidia.sass.program import SassProgram, image_of
from tri_core.errors import SimulationError, Unsupported
from tri_runtime.simulator.allocation import Allocation
from tri_runtime.simulator.launch import Machine
from tri_runtime.simulator.memory import Memory
from tri_runtime.simulator.scene import Scene

THREADS = 64
#: the address of thread t's word, in R2 and R3
PLACE = ["S2R R0, SR_TID.X", "LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE.U32 R2, R0, 0x4, R2"]


def image(code: list[str]) -> str:
    lines, at = [".section .text.k"], 0
    for each in code:
        if each.endswith(":"):
            lines.append(each)
            continue
        lines.append(f"        /*{at:04x}*/  {each} ;")
        at += 16
    return image_of("\n".join(lines), {"k": Layout(("u64", "u32"), 90)})


def run(code: list[str], value: int = 0, words: int = THREADS) -> Any:
    data = np.arange(words, dtype=np.uint32)
    memory = Memory("global", scene=Scene())
    memory.add(Allocation("x", 1 << 20, data.view(np.uint8), True))
    machine = Machine(
        program=SassProgram(image(code), "k"), num_threads=THREADS, threads_per_warp=32, shared_bytes=1024
    )
    machine.run((1, 1, 1), [1 << 20, value], memory)
    return data


def test_threads_load_and_store_their_words() -> None:
    code = [*PLACE, "LDG.E R4, desc[UR4][R2.64]", "IADD3 R4, R4, c[0x0][0x218], RZ", "STG.E desc[UR4][R2.64], R4", "EXIT"]  # fmt: skip
    np.testing.assert_array_equal(run(code, 7), np.arange(THREADS) + 7)


def test_threads_that_part_meet_again() -> None:
    code = [
        *PLACE,
        "MOV R4, 0x1",
        "ISETP.GT.U32.AND P0, PT, R0, 0x4, PT",
        "@P0 BRA `(.L_x_0)",
        "MOV R4, 0x2",
        "BRA `(.L_x_1)",
        ".L_x_0:",
        "IADD3 R4, R4, 0x10, RZ",
        ".L_x_1:",
        "STG.E desc[UR4][R2.64], R4",
        "EXIT",
    ]
    np.testing.assert_array_equal(run(code), np.where(np.arange(THREADS) > 4, 0x11, 2))


def test_a_loop_runs_as_often_as_each_thread_says() -> None:
    code = [
        *PLACE,
        "MOV R4, RZ",
        ".L_x_0:",
        "IADD3 R4, R4, 0x1, RZ",
        "ISETP.LT.AND P0, PT, R4, R0, PT",
        "@P0 BRA `(.L_x_0)",
        "STG.E desc[UR4][R2.64], R4",
        "EXIT",
    ]
    np.testing.assert_array_equal(run(code), np.maximum(np.arange(THREADS), 1))


def test_some_threads_leave_early() -> None:
    code = [*PLACE, "ISETP.NE.AND P0, PT, R0, 0x3, PT", "@P0 EXIT", "STG.E desc[UR4][R2.64], RZ", "EXIT"]
    np.testing.assert_array_equal(np.flatnonzero(run(code) != np.arange(THREADS)), [3])


def test_shared_memory_behind_a_barrier() -> None:
    code = [
        *PLACE,
        "UMOV UR4, 0x400",
        "LEA R5, R0, UR4, 0x2",
        "STS [R5], R0",
        "BAR.SYNC.DEFER_BLOCKING 0x0",
        "LOP3.LUT R6, R0, 0x3f, RZ, 0x3c, !PT",
        "LEA R6, R6, UR4, 0x2",
        "LDS R7, [R6]",
        "STG.E desc[UR4][R2.64], R7",
        "EXIT",
    ]
    np.testing.assert_array_equal(run(code), np.arange(THREADS)[::-1])


@pytest.mark.parametrize(
    ("mode", "by", "expected"),
    [
        ("BFLY", 1, lambda t: t ^ 1),
        ("DOWN", 2, lambda t: np.where(t % 32 < 30, t + 2, t)),
        ("UP", 3, lambda t: np.where(t % 32 > 2, t - 3, t)),
    ],
)
def test_shuffles(mode: str, by: int, expected: Any) -> None:
    clamp = "RZ" if mode == "UP" else "0x1f"
    code = [*PLACE, f"SHFL.{mode} PT, R4, R0, {by:#x}, {clamp}", "STG.E desc[UR4][R2.64], R4", "EXIT"]
    np.testing.assert_array_equal(run(code), expected(np.arange(THREADS)))


def test_votes() -> None:
    code = [
        *PLACE,
        "ISETP.LT.AND P0, PT, R0, 0x3, PT",
        "VOTE.ANY R4, PT, P0",
        "STG.E desc[UR4][R2.64], R4",
        "EXIT",
    ]
    np.testing.assert_array_equal(run(code), np.where(np.arange(THREADS) < 32, 7, 0))


def test_rows_and_halves() -> None:
    code = ["LDC.64 R2, c[0x0][0x210]", "LDG.E.128 R4, desc[UR4][R2.64+0x10]", "STG.E.64 desc[UR4][R2.64], R6", "LDG.E.S16 R8, desc[UR4][R2.64]", "STG.E.U8 desc[UR4][R2.64+0x8], R8", "EXIT"]  # fmt: skip
    found = run(code)
    assert found[:3].tolist() == [6, 7, 6]


def test_an_access_out_of_bounds_names_the_instruction() -> None:
    with pytest.raises(SimulationError, match=r"STG\.E desc\[UR4\]\[R2\.64\], R0 \(SASS 0x0030\)"):
        run([*PLACE, "STG.E desc[UR4][R2.64], R0", "EXIT"], words=THREADS - 1)


@pytest.mark.parametrize(
    "code", ["MUFU.RCP R0, R1", "CALL.REL.NOINC `(k)", "ATOMG.E.ADD R0, desc[UR4][R2.64], R1"]
)
def test_an_unknown_instruction_is_refused_when_it_is_decoded(code: str) -> None:
    with pytest.raises(Unsupported, match="is not known"):
        SassProgram(image([code, "EXIT"]), "k")


@pytest.mark.parametrize(
    "code", ["S2R R0, SR_CLOCKLO", "LDC R0, c[0x0][0x300]", "IMAD.HI R0, R1, R2, R3", "LDG.E R0, desc[UR4][R2.64+R3.S]", "SHFL.IDX PT, R4, R0, RZ"]
)  # fmt: skip
def test_an_unknown_form_is_refused_when_it_is_run(code: str) -> None:
    with pytest.raises(Unsupported, match="is not known"):
        run([*PLACE, code, "EXIT"])


def test_code_that_is_not_there_is_refused() -> None:
    with pytest.raises(Unsupported, match="no code"):
        SassProgram(image_of("", {"k": Layout((), 90)}), "k")


def test_parameters_are_aligned() -> None:
    layout = Layout(("u32", "u64", "f32"), 80)
    shown = [bytes(each) for each in layout.encoded([1, 2, 1.0])]
    assert shown == [b"\1\0\0\0", b"\2" + b"\0" * 7, b"\0\0\x80\x3f"]
