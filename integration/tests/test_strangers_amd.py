"""Packages for AMD's GPUs: questions about the device are answered, kernels are written down whole, figures are judged."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import tri
import tri.language as tl
from integration.published.bare import without_init
from integration.strangers.amd.device import standing_in
from integration.strangers.amd.recording import recorded
from integration.strangers.amd.rows import Row, losing, rows, table
from integration.strangers.compilers import compile_all
from integration.strangers.compiling import result_of
from integration.strangers.record import Kernel, read, write
from integration.strangers.recorder import Recorder
from tri.compat.triton.driver import ACTIVE

_FIGURES = {"instructions": 100, "vgprs": 64, "spills": 0, "lds": 0, "waves": 8}


@pytest.fixture
def modules() -> Iterator[None]:
    before, path, finders = set(sys.modules), list(sys.path), list(sys.meta_path)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]
    sys.path[:], sys.meta_path[:] = path, finders


def test_questions_about_the_device_are_answered() -> None:
    import torch

    with standing_in("gfx950"):
        active = ACTIVE.get_current_target()
        assert (active.backend, active.arch, active.warp_size) == ("hip", "gfx950", 64)
        assert torch.cuda.get_device_properties(0).gcnArchName.split(":")[0] == "gfx950"
        assert torch.version.hip
    assert not torch.version.hip


@pytest.mark.usefixtures("modules")
def test_a_package_is_imported_without_its_init(tmp_path: Path) -> None:
    place = tmp_path / "made_up_for_amd"
    place.mkdir()
    place.joinpath("__init__.py").write_text("raise RuntimeError('compiles C++')\n")
    place.joinpath("ops.py").write_text(
        "import made_up_compiler\nFLAGS = made_up_compiler.flags()\nSIZE = 3\n"
    )
    package = without_init("made_up_for_amd", tmp_path, nothing=("made_up_compiler",))
    from made_up_for_amd import ops  # type: ignore[import-not-found]

    assert (ops.SIZE, package.__path__) == (3, [str(place)])
    with pytest.raises(ImportError, match="made_up_other"):
        without_init("made_up_other", tmp_path)


def test_packages_that_are_not_there_leave_the_kernels_in_git(tmp_path: Path) -> None:
    assert {kernel.package for kernel in recorded(tmp_path, "gfx942")} == {"fla-core"}


def _row(ours: dict[str, int], theirs: dict[str, int], refused: str = "", they_refused: str = "") -> Row:
    kernel = Kernel("p", "1", "", "k", [], {}, {}, {}, {})
    return Row(kernel, "gfx942", ours, theirs, refused, they_refused)


def test_a_row_is_worse_by_a_tenth() -> None:
    fine = _row({**_FIGURES, "instructions": 109}, _FIGURES)
    long = _row({**_FIGURES, "instructions": 111}, _FIGURES)
    few = _row({**_FIGURES, "waves": 4, "spills": 1}, _FIGURES)
    assert [one.worse for one in (fine, long, few)] == [[], ["instructions"], ["spills", "waves"]]
    alone = _row({}, _FIGURES, refused="CompilationError: too much\nat k.py:1")
    both = _row({}, {}, "CompilationError: too much", "OutOfResources")
    assert losing([fine, long, few, alone, both]) == [long, few, alone]
    text = table([long, alone, both])
    assert "**111 / 100**" in text
    assert "refused: CompilationError: too much |" in text
    assert "Triton refuses: OutOfResources |" in text


@tri.jit
def twice(x: Any) -> Any:
    return x * 2


@tri.jit
def mapped(out: Any, n: int, function: tl.constexpr) -> None:
    places = tl.arange(0, 64)
    tl.store(out + places, function(places), mask=places < n)


def test_a_function_as_an_argument_is_written_down(tmp_path: Path) -> None:
    import numpy as np

    heard: list[Kernel] = []
    with Recorder("mine", "1", heard=heard.append).listening():
        mapped[(1,)](np.zeros(64, np.int32), 64, twice)
    (kernel,) = heard
    assert kernel.constants["function"] == {"function": 1}
    (row,) = _compiled(kernel, "gfx1201", tmp_path)
    assert (row.refused, row.worse) == ("", [])
    assert row.ours["waves"] > 0


class Numbers:
    """An object of a package's own, of which kernels read an attribute."""

    def __init__(self) -> None:
        self.most = 7


class Shape:
    """A class of a package's own, which is an annotation."""


NUMBERS = Numbers()


@tri.jit
def limited(out: Any, shape: Shape, most: tl.constexpr = NUMBERS.most) -> None:
    places = tl.arange(0, 64)
    tl.store(out + places, tl.minimum(places, most))


def test_attributes_of_objects_and_annotations_are_written_down(tmp_path: Path) -> None:
    import numpy as np

    heard: list[Kernel] = []
    with Recorder("mine", "1", heard=heard.append).listening():
        limited[(1,)](np.zeros(64, np.int32), 5)
    (kernel,) = heard
    (row,) = _compiled(kernel, "gfx942", tmp_path)
    assert not row.refused


def _compiled(kernel: Kernel, chip: str, folder: Path) -> list[Row]:
    write([kernel], folder / "kernels.xz")
    compile_all([(kernel.key, f"amd:{chip}")], folder / "kernels.xz", folder / "tri")
    assert result_of(folder / "tri", (kernel.key, f"amd:{chip}")).exists()
    return rows(read(folder / "kernels.xz"), chip, folder / "tri", folder / "tri")
