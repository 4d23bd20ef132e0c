"""``amdg.instruction_sched_hint`` in the loop of a matmul: text, the scheduler's intrinsics, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tri
from tri_backend_amd.lowering.scheduling import GLOBAL_READ, LDS_READ, LDS_WRITE, MATRIX, groups
from tri_core.compiler import IRSource
from tri_core.errors import TriError

SOURCE = Path(__file__).parent / "triton_ttgir" / "matmul_gfx942.ttgir"
COUNTS = {
    "numDsReadsA": 8,
    "numDsReadsB": 8,
    "numDsWritesA": 4,
    "numDsWritesB": 8,
    "numGlobalLoadsA": 4,
    "numGlobalLoadsB": 4,
    "numMMAs": 32,
}


@tri.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm):
    """Stands for the text that is compiled instead."""


def hinted(folder: Path, variant: str, counts: dict[str, int] | None = None) -> str:
    """The file of a matmul with a hint before its loop's dot."""
    counters = "".join(f"{name} = #amdg.InstCounter<{n}, none>, " for name, n in (counts or {}).items())
    hint = f"amdg.instruction_sched_hint {{isBufferLoadsAEnabled = true, {counters}variant = #amdg.SchedHintVariant<{variant}>}}"
    text = SOURCE.read_text()
    place = text.index("scf.yield")
    path = folder / "k.ttgir"
    path.write_text(f"{text[:place]}{hint}\n      {text[place:]}")
    return str(path)


def compiled(path: str, arch: str = "gfx942") -> Any:
    return tri.compile(IRSource.from_file(path), target=f"amd:{arch}")


@given(matrix=st.integers(0, 70), loads=st.integers(0, 9), reads=st.integers(0, 20), writes=st.integers(0, 9))
def test_groups_have_every_instruction_once(matrix: int, loads: int, reads: int, writes: int) -> None:
    made = list(groups(matrix, loads, reads, writes))
    total = {
        kind: sum(n for k, n in made if k == kind) for kind in (MATRIX, GLOBAL_READ, LDS_READ, LDS_WRITE)
    }
    accesses = {GLOBAL_READ: loads, LDS_READ: reads, LDS_WRITE: writes}
    assert {kind: total[kind] for kind in accesses} == accesses
    assert total[MATRIX] == (matrix if sum(accesses.values()) else 0)
    between = [n for kind, n in made if kind == MATRIX]
    assert not between or max(between) - min(between) <= 1
    assert all(n > 0 for _, n in made)


def test_local_prefetch_becomes_groups(tmp_path: Path) -> None:
    text = str(compiled(hinted(tmp_path, "local_prefetch", COUNTS)).asm["llir"])
    calls = re.findall(r"call void @llvm.amdgcn.sched.group.barrier\(i32 (\d+), i32 (\d+), i32 0\)", text)
    assert [(int(mask), int(size)) for mask, size in calls] == list(groups(32, 8, 16, 12))


def test_llvm_s_own_schedules(tmp_path: Path) -> None:
    made = compiled(hinted(tmp_path, "llvm_iglp_0"))
    assert str(made.asm["llir"]).count("call void @llvm.amdgcn.iglp.opt(i32 0)") == 1
    assert str(made.asm["amdgcn"]).count("v_mfma") == 64
    with pytest.raises(TriError, match="of one wavefront, with 4"):
        compiled(hinted(tmp_path, "llvm_iglp_1"))


def test_none_changes_nothing(tmp_path: Path) -> None:
    plain = str(compiled(str(SOURCE)).asm["amdgcn"])
    assert str(compiled(hinted(tmp_path, "none")).asm["amdgcn"]) == plain
    assert str(compiled(hinted(tmp_path, "local_prefetch", COUNTS)).asm["amdgcn"]) != plain


def test_it_is_as_right_as_without(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((128, 128)).astype(np.float16) for _ in range(2))
    c = np.zeros((128, 128), np.float16)
    with tri.target("sim:amd:gfx942"):
        path = hinted(tmp_path, "local_prefetch", COUNTS)
        matmul[(1, 1)](a, b, c, 128, 128, 128, 128, 128, 128, ir_override=path)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=2e-3, atol=2e-2)


def test_the_text_is_read_as_it_is_written(tmp_path: Path) -> None:
    text = str(compiled(hinted(tmp_path, "local_prefetch", COUNTS)).asm["ttgir"])
    assert "numMMAs = #amdg.InstCounter<32, none>" in text
    assert "variant = #amdg.SchedHintVariant<local_prefetch>" in text
    again = tmp_path / "again.ttgir"
    again.write_text(text)
    assert str(compiled(str(again)).asm["ttgir"]) == text


@pytest.mark.parametrize(
    ("variant", "counts", "message"),
    [
        ("fastest", {}, "local_prefetch is expected"),
        ("local_prefetch", {"numMMA": 3}, "numMMA is no counter"),
    ],
)
def test_misspelt_hints_are_refused(
    tmp_path: Path, variant: str, counts: dict[str, int], message: str
) -> None:
    with pytest.raises(TriError, match=message):
        compiled(hinted(tmp_path, variant, counts))


def test_rdna_refuses_schedules_of_mfma(tmp_path: Path) -> None:
    head = 'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {'
    hint = "amdg.instruction_sched_hint {variant = #amdg.SchedHintVariant<llvm_iglp_0>}"
    path = tmp_path / "k.ttgir"
    path.write_text(f"{head}\n  tt.func public @k() {{\n    {hint}\n    tt.return\n  }}\n}}\n")
    with pytest.raises(TriError, match="no MFMA") as caught:
        compiled(str(path), "gfx1100")
    assert caught.value.remedy
