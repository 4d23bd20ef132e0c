"""The original in a process of its own, which may die: its aborts are answers too."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["Original"]


class Original:
    """Triton 3.9 behind the interpreter ``python``; started when first asked, and again after it died."""

    def __init__(self, python: str) -> None:
        self.python = python
        self._process: subprocess.Popen[str] | None = None
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  lives as long as the process
        self._cache = tempfile.TemporaryDirectory(prefix="original-cache-")

    def ask(self, do: str, **job: Any) -> dict[str, Any]:
        """The answer to one job: see :mod:`integration.original.worker`."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"do": do, **job}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._process = None
        self._log.seek(0)
        return {"error": f"the original died with {process.wait()}: {self._log.read()[-1000:]}"}

    def _start(self) -> subprocess.Popen[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        environment |= {"TRITON_CACHE_DIR": self._cache.name, "PYTHONWARNINGS": "ignore"}
        self._process = subprocess.Popen(
            [self.python, str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment,
        )
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
            self._process = None
