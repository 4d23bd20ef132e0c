"""Tests near a change: which they are, in which order."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from integration import fast


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("packages/tri-core/src/tri_core/ir/rewriting.py", "tri_core.ir.rewriting"),
        ("packages/tri-core/src/tri_core/ir/__init__.py", "tri_core.ir"),
        ("integration/lints/rules.py", "integration.lints.rules"),
        ("packages/tri-core/tests/ir/test_rewriting.py", ""),
        ("docs/conf.py", ""),
    ],
)
def test_modules_have_dotted_names(path: str, module: str) -> None:
    assert fast.module_of(Path(path)) == module


def test_the_nearest_come_first_and_once() -> None:
    changed = [Path("packages/tri-core/src/tri_core/ir/rewriting.py"), Path("integration/tests/test_fast.py")]
    own, same, importing = fast.groups(changed)
    assert own == [Path("integration/tests/test_fast.py")]
    assert same == [Path("packages/tri-core/tests/ir/test_rewriting.py")]
    assert importing
    assert not {*own, *same} & set(importing)


def test_what_differs_from_a_branch(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    git("init", "-b", "main")
    for name in ("kept.py", "gone.py", "changed.py"):
        (tmp_path / name).write_text("a = 1\n")
    git("add", ".")
    git("commit", "-m", "first")
    git("checkout", "-b", "branch")
    git("rm", "gone.py")
    (tmp_path / "changed.py").write_text("a = 2\n")
    git("commit", "-am", "second")
    (tmp_path / "new.py").touch()
    (tmp_path / "text.md").touch()
    assert fast.changed("main", tmp_path) == [Path("changed.py"), Path("new.py")]
    with pytest.raises(SystemExit, match="no_such_branch"):
        fast.changed("no_such_branch", tmp_path)


def test_the_tests_of_a_change_are_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        fast, "changed", lambda base: [Path("packages/tri-core/src/tri_core/ir/rewriting.py")]
    )
    assert fast.main(["--list"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "packages/tri-core/tests/ir/test_rewriting.py"


def test_no_tests_begin_when_the_time_is_over(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        fast, "changed", lambda base: [Path("packages/tri-core/src/tri_core/ir/rewriting.py")]
    )
    assert fast.main(["--seconds", "-1"]) == 0
    assert "were left out" in capsys.readouterr().out
