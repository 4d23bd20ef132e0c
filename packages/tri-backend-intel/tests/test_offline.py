"""The register mode by what ``ocloc`` says; a stand-in for it, which spills as its environment tells."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from intel_support import llvm_of, target_of, to_spirv
from tri_backend_intel.architectures import ARCHITECTURES
from tri_backend_intel.offline import NONE, OfflineRefused, find_ocloc, identity, run_ocloc
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.plugin import tri_cache_key
from tri_backend_intel.runtime.modes import modes_of
from tri_backend_intel.spirv.registers import judge, register_modes, registers_of
from tri_backend_intel.spirv.stage import spirv_stage
from tri_core import knobs
from tri_core.api import (
    KernelImage,
    KernelMetadata,
    KernelSignature,
    StageContext,
    StageResult,
    ToolchainError,
)
from tri_core.codegen import service
from tri_core.resources import resources

LARGE = "-cl-intel-256-GRF-per-thread"
MakeOcloc = Callable[..., Path]


@pytest.fixture
def made_up_ocloc(tmp_path: Path) -> MakeOcloc:
    """Makes a program: ``small`` and ``large`` are the spills with 128 and 256 registers, None: it refuses."""

    def make(small: int | None, large: int | None = 0) -> Path:
        program = tmp_path / f"ocloc-{small}-{large}"
        text = f"""\
            #!{sys.executable}
            import pathlib, sys
            words = sys.argv[1:]
            if words == ["--version"]:
                sys.exit(print("stand-in 1.0"))
            place = pathlib.Path({str(tmp_path / "calls")!r})
            with place.open("a") as calls:
                calls.write(" ".join(words) + chr(10))
            assert open("kernel.spv", "rb").read(4) == bytes.fromhex("03022307")
            large = "{LARGE}" in words
            spills = {large!r} if large else {small!r}
            if spills is None:
                sys.exit("error: the module is not taken")
            said = f"kernels: grf_count: {{256 if large else 128}} spill_size: {{spills}} private_size: 64"
            open("kernel", "wb").write(b"archive" + b"\\x7fELF" + said.encode())
            """
        program.write_text(textwrap.dedent(text))
        program.chmod(0o755)
        return program

    return make


def stage(ocloc: Path | str | None, arch: str = "pvc", **given: object) -> StageResult:
    """What stage ``spv`` makes of an empty kernel."""
    options = IntelOptions(**given)  # type: ignore[arg-type]
    text = llvm_of(lambda b, hw, args: None, 1, options, arch=arch)
    context = StageContext(
        target=target_of(arch), options=options, kernel_name="k", codegen=service(),
        knobs={} if ocloc is None else {"INTEL_OCLOC": str(ocloc)},
    )  # fmt: skip
    return spirv_stage().run(text, context)


def image(made: StageResult, arch: str = "pvc", warps: int = 4) -> KernelImage:
    metadata = KernelMetadata(
        name="k", target=target_of(arch).key, signature=KernelSignature(name="k", parameters=()), options={},
        num_warps=warps, threads_per_warp=16, attrs=dict(made.attrs), resources=dict(made.resources),
    )  # fmt: skip
    return KernelImage(kind="spv", data=made.artifact, metadata=metadata)


@pytest.mark.parametrize(
    ("small", "large", "options", "registers", "spills"),
    [
        (0, 0, "", 128, 0),
        (704, 0, LARGE, 256, 0),
        (5632, 704, LARGE, 256, 704),
        (64, 64, "", 128, 64),
        (64, None, "", 128, 64),
    ],
)
def test_the_mode_that_spills_least_is_the_images(
    made_up_ocloc: MakeOcloc, small: int, large: int | None, options: str, registers: int, spills: int
) -> None:
    made = stage(made_up_ocloc(small, large))
    assert made.attrs["build_options"] == options
    assert made.resources == {"registers": registers, "spills": spills}
    assert modes_of(image(made)) == (options,)
    found = resources(image(made).metadata, target_of("pvc").spec)
    assert (found.registers, found.spills) == (registers, spills)
    assert found.occupancy is not None
    assert found.occupancy.rooms["registers"] == (8 if registers == 256 else 16)
    assert [f"{spills} bytes" in remark for remark in found.remarks] == [True] * (spills > 0)


def test_without_ocloc_the_driver_is_asked_and_resources_say_so() -> None:
    made = stage(NONE)
    assert modes_of(image(made)) == ("", LARGE)
    assert made.attrs["build_options"] == ""
    found = resources(image(made).metadata, target_of("pvc").spec)
    assert (found.registers, found.spills) == (None, None)
    assert "no ocloc" in found.remarks[0]
    assert "256 registers" in found.remarks[0]


def test_a_module_that_ocloc_refuses_is_left_to_the_driver(made_up_ocloc: MakeOcloc) -> None:
    made = stage(made_up_ocloc(None))
    assert modes_of(image(made)) == ("", LARGE)
    remarks = made.attrs["remarks"]
    assert isinstance(remarks, tuple)
    assert "the module is not taken" in remarks[0]


def test_a_mode_that_is_asked_for_is_not_changed(made_up_ocloc: MakeOcloc, tmp_path: Path) -> None:
    made = stage(made_up_ocloc(704, 0), grf_mode="small")
    assert made.attrs["build_options"] == "-cl-intel-128-GRF-per-thread"
    assert made.resources == {"registers": 128, "spills": 704}
    assert any("704 bytes" in remark and "more warps" in remark for remark in made.attrs["remarks"])
    made = stage(made_up_ocloc(704, 0), grf_mode="large")
    assert made.resources == {"registers": 256, "spills": 0}
    assert "remarks" not in made.attrs
    assert len((tmp_path / "calls").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arch", "warps", "modes"),
    [
        ("pvc", 32, ("", LARGE)),
        ("pvc", 64, ("",)),  # a core has 32 hardware threads with 256 registers
        ("dg2", 64, ("", LARGE)),
        ("xe-lp", 4, ("",)),  # which has 128 registers only
        ("opencl-cpu", 4, ("",)),
    ],
)
def test_modes_that_a_core_has(arch: str, warps: int, modes: tuple[str, ...]) -> None:
    assert register_modes(IntelOptions(num_warps=warps), target_of(arch)) == modes


def test_a_cpu_has_no_register_modes(made_up_ocloc: MakeOcloc) -> None:
    made = stage(made_up_ocloc(704, 0), arch="opencl-cpu")
    assert made.attrs["build_options"] == ""
    assert not made.resources
    assert "remarks" not in made.attrs


def test_every_gpu_has_a_name_for_ocloc(made_up_ocloc: MakeOcloc, tmp_path: Path) -> None:
    program = made_up_ocloc(0)
    for name, row in ARCHITECTURES.items():
        if name != "opencl-cpu":
            judge(bytes.fromhex("03022307"), target_of(name), ("",), row.ocloc, str(program))
    calls = (tmp_path / "calls").read_text()
    assert [
        n
        for n in ("pvc", "bmg", "lnl-m", "ptl-h", "dg2", "arl-h", "mtl-h", "tgllp")
        if f"-device {n}" not in calls
    ] == []


def test_registers_of_options() -> None:
    assert registers_of(f"{LARGE} -x") == {"registers": 256}
    assert registers_of("-x") == {"registers": 128}
    assert registers_of("-cl-intel-enable-auto-large-GRF-mode") == {}


def test_which_ocloc_is_part_of_the_cache_key(
    made_up_ocloc: MakeOcloc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert find_ocloc(None) is None
    assert identity() == NONE
    with knobs.scope(INTEL_OCLOC=str(made_up_ocloc(0))):
        assert "stand-in 1.0" in identity()
        assert tri_cache_key(target_of("pvc")) == {"ocloc": identity()}
        assert tri_cache_key(target_of("opencl-cpu")) == {}
    with knobs.scope(INTEL_OCLOC="/nonexistent/ocloc"), pytest.raises(ToolchainError, match="is no program"):
        identity()


def test_what_is_no_ocloc_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "ocloc"
    program.write_text("#!/bin/sh\necho text > kernel\n")
    program.chmod(0o755)
    with pytest.raises(OfflineRefused, match="nothing of registers"):
        run_ocloc(program, b"", "pvc", "")
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(OfflineRefused, match="exit status 3"):
        run_ocloc(program, b"", "pvc", "")


def test_the_same_modes_in_a_stage_without_a_gpu_build() -> None:
    made = to_spirv(llvm_of(lambda b, hw, args: None, 1, IntelOptions()))
    assert modes_of(image(made, "opencl-cpu")) == ("",)
