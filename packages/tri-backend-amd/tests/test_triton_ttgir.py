"""TTGIR that Triton 3.9 writes for gfx942 of kernels of ours, as files beside: it is read, written, and compiled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tri
from tri_core.compiler import IRSource
from tri_core.mlir import registry, session
from tri_core.plugins import manager
from tri_core.text import parse_module, print_module

FILES = sorted((Path(__file__).parent / "triton_ttgir").glob("*.ttgir"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_read_and_written(path: Path) -> None:
    manager().register_ir(registry)
    text = path.read_text()
    with session():
        printed = print_module(parse_module(text, str(path)), locations=False)
        assert print_module(parse_module(printed), locations=False) == printed
    assert printed.count("amdg.") == text.count("amdg.") > 0


def test_atomics_become_those_of_buffers() -> None:
    (path,) = [p for p in FILES if p.stem == "atomics"]
    made = tri.compile(IRSource.from_file(str(path)), target="amd:gfx942")
    text = str(made.asm["amdgcn"])
    assert text.count("\tbuffer_atomic_add_f32") == 1
    assert "\tglobal_atomic" not in text
    # what orders other memory stands between a release and an acquire: written back before, invalidated when it is done
    words = (
        "buffer_wbl2 sc1",
        "s_waitcnt vmcnt(0)",
        "buffer_atomic_smax",
        "s_waitcnt vmcnt(0)",
        "buffer_inv sc1",
    )
    assert re.search(r"[\s\S]*?".join(rf"\t{re.escape(word)}" for word in words), text)
    assert (
        text.count("\tbuffer_atomic_smax") == text.count("\tbuffer_wbl2") == text.count("\tbuffer_inv") == 1
    )
