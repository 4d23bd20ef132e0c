"""The checker checked: what must pass passes, what must fail fails."""

from __future__ import annotations

import pytest

from tri_core.testing import FileCheckError, filecheck

TEXT = """\
func @a
  %0 = load %p
  %1 = add %0, %0
  store %1
func @b
  %0 = load   %q
  ret
"""


@pytest.mark.parametrize(
    "checks",
    [
        "CHECK: load\nCHECK: add\nCHECK: ret",
        "CHECK: load\nCHECK-NEXT: add",
        "CHECK: %0\nCHECK-SAME: load\nCHECK-SAME: %p",
        "CHECK: %[[X:[0-9]+]] = load\nCHECK: add %[[X]], %[[X]]",
        "CHECK: add %[[X:.]], %[[X]]",
        "CHECK-DAG: add\nCHECK-DAG: load",
        "CHECK-DAG: load\nCHECK-DAG: load",
        "CHECK-COUNT-2: load\nCHECK-NOT: load",
        "CHECK: add\nCHECK-NOT: add\nCHECK: store",
        "CHECK-LABEL: @a\nCHECK: store\nCHECK-LABEL: @b\nCHECK-NOT: store\nCHECK: ret",
        "CHECK: load %q",
        "CHECK: {{add|mul}} %{{[0-9]}}",
        "// CHECK: load",
        "CHECK: func @b\na comment\nCHECK: ret",
    ],
)
def test_holds(checks: str) -> None:
    filecheck(TEXT, checks)


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ("CHECK: mul", "CHECK: mul: no match"),
        ("CHECK: add\nCHECK: load %p", "no match"),
        ("CHECK: load\nCHECK-NEXT: store", "no match"),
        ("CHECK: ret\nCHECK-NEXT: x", "no match"),
        ("CHECK: load\nCHECK-SAME: add", "no match"),
        ("CHECK: %[[X:[0-9]+]] = load\nCHECK: store %[[X]]", "with X = '0'"),
        ("CHECK: store %[[X]]", "X is not defined"),
        ("CHECK-DAG: add\nCHECK-DAG: add", "no match"),
        ("CHECK-COUNT-3: load", "no match"),
        ("CHECK-NOT: ret", "found 'ret'"),
        ("CHECK-NOT: load\nCHECK: add", "found 'load'"),
        ("CHECK-LABEL: @a\nCHECK: ret\nCHECK-LABEL: @b", "no match"),
        ("CHECK-LABEL: @b\nCHECK-LABEL: @a", "no match"),
        ("CHECK-LABEL: @a\nCHECK-NOT: store\nCHECK-LABEL: @b", "found 'store'"),
        ("CHECK-NXT: load", "unknown directive"),
        ("nothing here", "nothing would be checked"),
    ],
)
def test_fails(checks: str, message: str) -> None:
    with pytest.raises(FileCheckError, match=message):
        filecheck(TEXT, checks)
