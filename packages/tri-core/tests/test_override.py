"""Stages taken from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tri_core import knobs
from tri_core.compiler import compile as compile_kernel
from tri_core.errors import OptionError, VerificationError

SEVEN, NINE = "arith.constant 7", "arith.constant 9"


@pytest.fixture
def edited(toy: Any, source: Any, tmp_path: Path) -> Path:
    """The kernel's TTIR, as dumped, with another constant."""
    text = compile_kernel(source(), "toy:one").asm["ttir"]
    assert isinstance(text, str)
    assert SEVEN in text
    file = tmp_path / "kernel.ttir"
    file.write_text(text.replace(SEVEN, NINE))
    return file


def test_an_option_names_the_file(toy: Any, source: Any, edited: Path) -> None:
    kernel = compile_kernel(source(), "toy:one", {"ir_override": str(edited)})
    assert NINE in str(kernel.asm["ttir"])
    assert NINE.encode() in kernel.image.data
    assert SEVEN in str(compile_kernel(source(), "toy:one").asm["ttir"])


def test_a_knob_names_the_folder(toy: Any, source: Any, edited: Path) -> None:
    with knobs.scope(OVERRIDE_DIR=edited.parent):
        assert NINE in str(compile_kernel(source(), "toy:one").asm["ttir"])
        edited.write_text(edited.read_text().replace(NINE, "arith.constant 11"))
        assert "arith.constant 11" in str(compile_kernel(source(), "toy:one").asm["ttir"])


def test_a_later_stage_is_replaced_too(toy: Any, source: Any, tmp_path: Path) -> None:
    file = tmp_path / "mine.text"
    file.write_text("// kernel\nby hand\n")
    kernel = compile_kernel(source(), "toy:one", {"ir_override": str(file)})
    assert kernel.image.data.endswith(b"by hand\n")
    assert SEVEN in str(kernel.asm["ttir"])


def test_what_does_not_fit_is_refused(toy: Any, source: Any, edited: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no file"):
        compile_kernel(source(), "toy:one", {"ir_override": str(tmp_path / "none.ttir")})
    other = tmp_path / "kernel.ptx"
    other.write_text("x")
    with pytest.raises(OptionError, match="no stage 'ptx' to override"):
        compile_kernel(source(), "toy:one", {"ir_override": str(other)})
    text = edited.read_text()
    edited.write_text(text.replace("tt.func public @kernel", "tt.func public @another"))
    with pytest.raises(OptionError, match=r"holds another\(\*fp32, i32\); kernel\(\*fp32, i32\) is compiled"):
        compile_kernel(source(), "toy:one", {"ir_override": str(edited)})
    edited.write_text(text.replace("tt.addptr", "tt.adptr"))
    with pytest.raises(VerificationError, match=r"no op tt\.adptr") as caught:
        compile_kernel(source(), "toy:one", {"ir_override": str(edited)})
    assert caught.value.location is not None
    assert caught.value.location.file == str(edited)
