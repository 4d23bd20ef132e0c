"""``tri layout`` on the encodings of all plugins here."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tri.cli.app import app
from tri_core.errors import OptionError, VerificationError

_MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"


def _run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["layout", *arguments])
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_a_matrix_instruction_of_a_vendor() -> None:
    """m16n8: lane / 4 is the row, or eight above it; lane % 4 the pair of columns."""
    rows = [
        line.strip("[ ]").split() for line in _run(_MMA, "--shape", "16x8", "--show", "all").splitlines()[1:]
    ]
    for row in range(16):
        for column in range(8):
            lane = row % 8 * 4 + column // 2
            assert rows[row][column] == f"w0l{lane}r{row // 8 * 2 + column % 2}"


def test_an_operand_of_it() -> None:
    """Four registers of two: eight rows or columns apart, per lane."""
    found = _run(f"#ttg.dot_op<{{opIdx = 0, parent = {_MMA}, kWidth = 2}}>", "-s", "16x16")
    assert found.startswith(
        "16x16: 8 registers, 32 lanes, 1 warp\n[ 0  0  1  1  2  2  3  3  0  0  1  1  2  2  3  3  ]"
    )


_CLUSTER = "CTAsPerCGA = [2, 1], CTASplitNum = [2, 1], CTAOrder = [1, 0]"
_BOXES = "sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [1, 2], order = [1, 0]"


def test_ctas_of_a_cluster_in_every_form(tmp_path: Path) -> None:
    attribute = f"#ttg.blocked<{{{_BOXES}, {_CLUSTER}}}>"
    shown = _run(attribute, "--shape", "32x32", "--show", "block").splitlines()
    assert [line for line in shown if line.startswith("CTA")] == ["CTA [0,0]", "CTA [1,0]"]
    rows = [line.strip("[ ]").replace(";", "").split() for line in shown if line.startswith("[ ")]
    assert rows == [["0"] * 32] * 16 + [["1"] * 32] * 16
    for suffix in ("svg", "html"):
        file = tmp_path / f"layout.{suffix}"
        _run(attribute, "-s", "32x32", "-o", str(file))
        assert ">CTA 0</text>" in file.read_text()
        assert ">CTA 1</text>" in file.read_text()


@pytest.mark.parametrize(
    ("attribute", "first"),
    [
        (_MMA.replace("}>", f", {_CLUSTER}}}>"), "32x8: 4 registers, 32 lanes, 1 warp, 2 blocks"),
        (
            f"#ttg.nvmma_shared<{{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16, {_CLUSTER}}}>",
            "32x8: 128 offsets, 2 blocks",
        ),
    ],
)
def test_a_vendors_encodings_over_a_cluster(attribute: str, first: str) -> None:
    assert _run(attribute, "-s", "32x8").splitlines()[0] == first


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", "<svg"), ("html", "<!DOCTYPE html>"), ("txt", "16x8:")]
)
def test_files_by_suffix(tmp_path: Path, suffix: str, start: str) -> None:
    file = tmp_path / f"layout.{suffix}"
    assert _run(_MMA, "-s", "16x8", "-o", str(file)) == ""
    assert file.read_text().startswith(start)


def test_refusals() -> None:
    with pytest.raises(VerificationError, match="version 7"):
        _run(_MMA.replace("versionMajor = 2", "versionMajor = 7"), "-s", "16x8")
    with pytest.raises(OptionError, match="not understood"):
        _run(_MMA, "-s", "16 by 8")
