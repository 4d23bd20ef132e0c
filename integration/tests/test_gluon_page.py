"""The snippets of ``docs/gluon.md`` run one after the other, and its last one prints the error that the page describes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from integration.tests.conftest import TOP

PAGE = (TOP / "docs" / "gluon.md").read_text()
#: of prose, code left out: the page is read in one sitting
MOST_WORDS = 1200


def test_snippets_run_one_after_the_other(tmp_path: Path) -> None:
    snippets = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(snippets) == 7
    script = tmp_path / "page.py"
    script.write_text("\n".join(snippets))
    environment = {**os.environ, "TRI_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for words in ("layouts of ", "element [1] is in register", "gl.convert_layout", "page.py:"):
        assert words in done.stdout


def test_the_page_is_short() -> None:
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    assert len(prose.split()) <= MOST_WORDS
