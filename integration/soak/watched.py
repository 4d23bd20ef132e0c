"""A process that is watched: the lines that it says, its errors, and its silence."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

__all__ = ["SILENCE", "Watched"]

_TOP = Path(__file__).resolve().parents[2]
#: seconds without a line after which a process counts as hanging
SILENCE = 300.0
#: characters of a process's errors that are reported
_REPORTED = 6000


class Watched:
    """A child process, with each line of its output and the time of the last one."""

    process: subprocess.Popen[str]
    reader: threading.Thread
    said: list[str]

    def start(self, command: list[str], environment: dict[str, str], stdin: int | None = None) -> None:
        """Start ``command`` in the repository's root, and listen to it."""
        self.said = []
        self.at = time.monotonic()
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the process
        self.process = subprocess.Popen(
            command,
            cwd=_TOP,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self.reader = threading.Thread(target=self._listen, daemon=True)
        self.reader.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.hear(line)

    def hear(self, line: str) -> None:
        """Take one line down."""
        self.said.append(line.strip())
        self.at = time.monotonic()

    def end_if_silent(self) -> bool:
        """End a process that was silent for ``SILENCE`` seconds; True where this call ended it."""
        if self.process.poll() is not None or time.monotonic() - self.at <= SILENCE:
            return False
        self.process.send_signal(signal.SIGUSR1)  # tells where its threads are
        time.sleep(1)
        self.process.kill()
        self.process.wait()
        return True

    def errors(self) -> str:
        """The end of what the process wrote to its errors."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-_REPORTED:]
