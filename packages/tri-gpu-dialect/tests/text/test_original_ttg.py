"""What the original compiler printed (``integration/make_original_text.py`` writes it) means the same to us.

Read and printed, its text is the same but for names: a loop's text gives no locations to its arguments, so their
names are lost; and an op's two results are called ``%r:2`` where it has a name for each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import mlir, text
from tri_core.testing import renamed
from tri_gpu_dialect.passes import RemoveLayoutConversions, StageDotOperands

FILES = sorted((Path(__file__).parent / "original").glob("*.ttgir"))
#: kernels without loops and ops of two results: not a byte differs
EXACT = {"scale", "rows"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_read_and_printed(path: Path) -> None:
    original = path.read_text().strip()
    with mlir.session():
        module = text.parse_module(original, path.name)
        mlir.verify(module)
        printed = text.print_module(module).strip()
    assert renamed(printed) == renamed(original)
    assert (printed == original) == (path.stem in EXACT)


def test_there_are_files() -> None:
    assert {p.stem for p in FILES} == {"scale", "rows", "matmul", "search", "shapes"}


def test_a_dot_of_buffers_is_printed_and_read(run, kernel) -> None:  # type: ignore[no-untyped-def]
    module = run(kernel("matmul"), StageDotOperands(unrolled=0), RemoveLayoutConversions())
    printed = text.print_module(module)
    assert "ttg.local_dot %" in printed
    again = text.parse_module(printed, "printed")
    assert text.print_module(again) == printed
