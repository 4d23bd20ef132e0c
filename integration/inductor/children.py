"""Processes that answer words from their input by lines of JSON, within a time."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["Child"]

_CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRI_CACHE_DIR")


class Child:
    """``python -m module arguments... DESCRIPTOR`` with empty caches in ``folder``, a session of its own; it answers on the descriptor."""

    def __init__(self, module: str, arguments: Sequence[str], folder: Path) -> None:
        self.log = folder / "log"
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, **{name: str(folder / name) for name in _CACHES}}
        self._answers, theirs = os.pipe()
        self._rest = b""
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments, str(theirs)],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[theirs],
                start_new_session=True,
            )
        os.close(theirs)

    def answer(self, seconds: float) -> dict[str, Any]:
        """The next line that it says within ``seconds``; an error where it ended or said nothing."""
        end = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                return {"error": {"said": f"no answer within {seconds:.0f} s"}}
            more = os.read(self._answers, 1 << 20)
            if not more:
                return {"error": {"said": f"ended with {self._process.wait()}", "at": self._tail()}}
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, words: str, seconds: float) -> dict[str, Any]:
        """The answer to ``words`` within ``seconds``."""
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(f"{words}\n".encode())
            stream.flush()
        except OSError:
            return {"error": {"said": f"ended with {self._process.wait()}", "at": self._tail()}}
        return self.answer(seconds)

    def stop(self) -> None:
        """End it, and its workers."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        os.close(self._answers)

    def _tail(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()[-12:]
