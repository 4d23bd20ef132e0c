"""The evaluator of SASS, and the installed ptxas judged by it: what the table says is wrong is found, and behind the rewritings nothing is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from integration.assemblers import dots
from integration.assemblers.net import judge, known_programs
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.ptxas import ptxas, rewritings, sound, version_of_ptxas
from tri_backend_nvidia.sass.evaluator import Thread, UnknownCode, parse
from tri_backend_nvidia.tools import find
from tri_core import knobs

#: a program that each rewriting is for
KINDS = {
    "negate-16": "16 neg | s32",
    "negate-32": "32 neg | min three | y",
    "absolute-16": "16 abs | float u",
    "absolute-32": "32 neg of abs | gt minus one | x",
    "absolute-64": "64 abs | lt zero | x",
    "upper-halves": "float counted | E4M3 half 1",
    "upper-halves-of-dots": "float counted | dot E4M3 E5M2 | b",
}


def thread(**registers: int) -> Thread:
    return Thread(1, {}, {}, {name: np.array([value], np.uint64) for name, value in registers.items()})


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("MOV R0, 0x7", 7),
        ("IADD3 R0, R1, -R2, 0x5", 2),
        ("IMAD.MOV R0, RZ, RZ, -R2", 0xFFFFFFF8),
        ("IMAD R0, R1, R2, -0x1", 39),
        ("IMAD.HI R0, R3, R2, RZ", 0xFFFFFFFC),
        ("IMAD.HI.U32 R0, R3, R2, RZ", 4),
        ("IABS R0, R4", 5),
        ("IABS R0, R3", 0x80000000),
        ("PRMT R0, R5, 0x9910, RZ", 0xFFFF8000),
        ("PRMT R0, R5, 0x7710, RZ", 0x00008000),
        ("LOP3.LUT R0, RZ, R1, RZ, 0x33, !PT", 0xFFFFFFFA),
        ("SHF.R.S32.HI R0, RZ, 0x1f, R4", 0xFFFFFFFF),
        ("SHF.R.U32.HI R0, RZ, 0x1f, R4", 1),
        ("SHF.L.U64.HI R0, R4, 0x4, R1", 0x5F),
        ("SGXT R0, R5, 0x10", 0xFFFF8000),
        ("VIMNMX R0, R1, R4, PT", 0xFFFFFFFB),
        ("VIMNMX.U32 R0, R1, R4, PT", 5),
        ("VIMNMX3 R0, R1, -R2, R4, PT", 0xFFFFFFF8),
        ("VIMNMX3 R0, R1, R2, R4, !PT", 8),
        ("VIADDMNMX R0, R1, R4, 0x1, PT", 0),
        ("VIMNMX.S16x2 R0, R5, 0x10001, PT", 0x00008000),
        ("VIADD.16x2 R0, R5, 0x1ffff", 0x00017FFF),
        ("LEA R0, R1, R2, 0x2", 28),
        ("SEL R0, R1, R2, !PT", 8),
        ("POPC R0, R4", 31),
        ("I2FP.F32.S32 R0, R3", 0xCF000000),
        ("I2FP.F32.U32 R0, R3", 0x4F000000),
    ],
)
def test_one_instruction(code: str, result: int) -> None:
    run = thread(R1=5, R2=8, R3=0x80000000, R4=0xFFFFFFFB, R5=0x8000)
    run.run([code, "EXIT"])
    assert int(run.registers["R0"][0]) == result


@pytest.mark.parametrize("value", [0, 1, 2**63, 2**63 - 1, 2**64 - 1, 2**32])
def test_a_negation_of_64_bits(value: int) -> None:
    run = thread(R2=value & 0xFFFFFFFF, R3=value >> 32)
    run.run(["IADD3 R4, P0, RZ, -R2, RZ", "IADD3.X R5, RZ, ~R3, RZ, P0, !PT", "EXIT"])
    assert int(run.registers["R4"][0]) | int(run.registers["R5"][0]) << 32 == -value & (2**64 - 1)


def test_guards_and_comparisons() -> None:
    run = thread(R1=5, R4=0xFFFFFFFB)
    run.run(["ISETP.LT.AND P0, PT, R4, R1, PT", "@P0 MOV R0, 0x1", "@!P0 MOV R0, 0x2", "EXIT"])
    assert int(run.registers["R0"][0]) == 1
    run.run(["ISETP.LT.U32.AND P0, PT, R4, R1, PT", "@P0 MOV R0, 0x1", "@!P0 MOV R0, 0x2", "EXIT"])
    assert int(run.registers["R0"][0]) == 2


@pytest.mark.parametrize(
    "code", ["FMUL R0, R1, R2", "FADD.FTZ R0, R1, R2", "F2FP.BF16.F32.PACK_AB R0, R1, R2", "HMMA.16816.F32.BF16 R4, R4, R8, RZ", "IMAD.HI R0, R1, R2, R3", "MOV R0, UR4.X", "BRA `(.L_x_0)", "LOP3.LUT R0, R1, R2, R3, 0x33, P0"]
)  # fmt: skip
def test_what_is_not_known_is_refused(code: str) -> None:
    with pytest.raises(UnknownCode):
        thread(R1=1, R2=2, R3=3).run([code, "EXIT"])


def test_code_without_an_end_is_refused() -> None:
    with pytest.raises(UnknownCode, match="without an end"):
        thread().run(["MOV R0, 0x7"])


def test_parts_of_an_instruction() -> None:
    found = parse("@!P0 ISETP.GE.U32.AND P1, PT, R2.reuse, R3, PT")
    assert (found.guard, found.name, found.operands) == ("!P0", "ISETP", ("P1", "PT", "R2", "R3", "PT"))
    assert found.flags == {"GE", "U32", "AND"}


def test_names_are_one_each() -> None:
    names = [program.name for program in known_programs("sm_100a", None)]
    assert len(names) == len(set(names)) > 6000
    assert set(KINDS.values()) <= set(names)


@pytest.fixture(scope="module")
def nvdisasm() -> Path:
    found = find(NVDISASM, knobs.get("NVIDIA_NVDISASM"))
    return found if found is not None else pytest.skip("no nvdisasm")


def test_the_faults_in_the_table_are_there(nvdisasm: Path) -> None:
    place = ptxas()
    chosen = [
        program
        for program in known_programs("sm_90a", version_of_ptxas(place))
        if program.name in KINDS.values()
    ]
    found = judge(place, nvdisasm, chosen)
    expected = {KINDS[step.name] for step in rewritings(version_of_ptxas(place), "sm_90a")}
    assert set(found.wrong) == expected
    assert not found.unknown


@pytest.mark.parametrize("architecture", ["sm_89", "sm_90a", "sm_100a", "sm_120a"])
def test_upper_halves_of_constants(architecture: str, nvdisasm: Path) -> None:
    """All that the net has of small floats, as it is and rewritten; what is printed as a NaN is not evaluated."""
    place = ptxas()
    step = sound(place, architecture)
    every = known_programs(architecture, version_of_ptxas(place))
    chosen = [program for program in every if program.name.startswith("float")]
    assert any(
        name.startswith("float counted") for name in judge(place, nvdisasm, chosen, architecture).wrong
    )
    found = judge(place, nvdisasm, chosen, architecture, rewrite=lambda text: step.apply(text)[0])
    assert (found.wrong, found.unknown) == ({}, {})


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("F2FP.F16.E4M3.UNPACK_B R0, R1", 0x3C803C00),
        ("F2FP.F16.E4M3.UNPACK_B R0, R1.H1", 0x3D803D00),
        ("F2FP.F16.E5M2.UNPACK_B R0, 2.0526219905429920455e-41", 0x39003800),
        ("F2FP.F16.E5M2.UNPACK_B R0, RZ", 0),
        ("F2FP.BF16.E8.UNPACK_B R0, R1", 0x1C801C00),
        ("FADD R0, R2, -R3", 0x3F800000),
    ],
)
def test_one_instruction_of_floats(code: str, result: int) -> None:
    run = thread(R1=0x3B3A3938, R2=0x40400000, R3=0x40000000)
    run.run([code, "EXIT"])
    assert hex(int(run.registers["R0"][0])) == hex(result)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_behind_the_rewritings_nothing_is_wrong(architecture: str, nvdisasm: Path) -> None:
    place = ptxas()
    step = sound(place, architecture)
    every = known_programs(architecture, version_of_ptxas(place))
    chosen = [
        program for number, program in enumerate(every) if number % 13 == 0 or program.name in KINDS.values()
    ]
    found = judge(place, nvdisasm, chosen, architecture, rewrite=lambda text: step.apply(text)[0])
    assert found.wrong == {}
    assert len(found.unknown) <= len(chosen) // 50, found.unknown


@pytest.mark.parametrize("dot", list(dots.dots())[5::37], ids=lambda dot: dot.name)
def test_dots_keep_their_matrix_instructions(dot: dots.Dot, nvdisasm: Path) -> None:
    text = dots.text(dot)
    assert "wgmma" in text or "mma.sync" in text
    assert dots.missing(text, ptxas(), nvdisasm) == 0


def test_a_missing_matrix_instruction_is_missed(nvdisasm: Path) -> None:
    dot = next(each for each in dots.dots() if each.shape == (64, 32, 32))
    more = dots.text(dot) + "// wgmma.mma_async"
    assert dots.missing(more, ptxas(), nvdisasm) == 1
