"""What SPIR-V carries for the stand-in driver: nothing that a driver sees, and all of it back."""

from __future__ import annotations

import random
import shutil
import string
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import standin_support as support
from tri_backend_intel.spirv.carried import carried_by, with_carried
from tri_backend_intel.spirv.reader import instructions_of, read_module
from tri_core.api import ToolchainError
from tri_gpu_dialect.lowering.carried import Carried

OP_MODULE_PROCESSED = 330


def _plain() -> bytes:
    return bytes(support.compiled("add", carry=False).asm["spv"])


def _carrying() -> bytes:
    return bytes(support.compiled("add").asm["spv"])


def test_the_kernel_is_the_same_code() -> None:
    rest = [i for i in instructions_of(_carrying()) if i[0] != OP_MODULE_PROCESSED]
    assert rest == list(instructions_of(_plain()))
    assert read_module(_carrying()) == read_module(_plain())


def test_it_is_carried_only_when_asked_for() -> None:
    assert carried_by(_plain()) is None
    found = carried_by(_carrying())
    assert found is not None
    assert (found.entry, found.arch, found.threads, found.threads_per_warp) == ("add", "pvc", 64, 16)
    assert "llvm.func" in found.text


def test_texts_of_any_length_come_back() -> None:
    """Also one that compresses to more than an instruction holds, which has 65535 words."""
    rng = random.Random(1)
    found = carried_by(_carrying())
    assert found is not None
    for length in (0, 1, 2, 3, 4, 5, 1_000_000):
        given = replace(found, text="".join(rng.choices(string.printable + "é☃", k=length)))
        made = with_carried(_plain(), given)
        assert carried_by(made) == given
    assert sum(opcode == OP_MODULE_PROCESSED for opcode, _ in instructions_of(made)) > 1


def test_a_word_that_is_none_is_an_error() -> None:
    for word in ("", "!", "aGVsbG8=", Carried("", "k", "pvc", 1, 1, 0).packed()[:-8]):
        with pytest.raises(ToolchainError, match="carries"):
            Carried.unpacked(word)


def test_a_module_that_is_none_is_an_error() -> None:
    with pytest.raises(ToolchainError):
        with_carried(struct.pack("<5I", 1, 2, 3, 4, 5), Carried("", "k", "pvc", 1, 1, 0))


@pytest.mark.skipif(shutil.which("spirv-val") is None, reason="spirv-val is not installed")
def test_the_validator_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "kernel.spv"
    path.write_bytes(_carrying())
    done = subprocess.run(["spirv-val", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
