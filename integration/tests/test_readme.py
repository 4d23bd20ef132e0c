"""Examples of the README work as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


def test_python_blocks_run_one_after_the_other(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (TOP / "README.md").read_text(), flags=re.DOTALL)
    check = "np.testing.assert_array_equal(out, x + y)\n"
    script = tmp_path / "readme.py"
    script.write_text("\n".join([blocks[0], check, *blocks[1:]]))
    environment = {**os.environ, "TRI_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ".target sm_90a" in done.stdout
    assert done.stderr == ""


def test_ci_runs_the_first_commands_word_for_word_and_first_of_all() -> None:
    shown = re.search(r"```\n(.*?)```", (TOP / "README.md").read_text(), flags=re.DOTALL)
    assert shown is not None
    commands = shown[1].splitlines()
    assert len(commands) == 2
    runs = re.findall(r"^.*\bnox -s .*$", (TOP / ".ci" / "run").read_text(), flags=re.MULTILINE)
    assert runs[:2] == [f"env -u CI bash -c '{command}'" for command in commands]


def test_no_session_behaves_otherwise_in_continuous_integration() -> None:
    assert not re.search(r"\benviron\b|\bgetenv\b", (TOP / "noxfile.py").read_text())
