"""Processes that run units, and what is asked of them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from integration.published.projects import PROJECTS
from integration.strangers.timed.worker import ANSWER

__all__ = ["Process", "Setting"]

#: seconds until a process has imported its packages, and for one request
_START, _REQUEST = 240.0, 80.0


class Setting:
    """Common setting of all processes of a run."""

    def __init__(self, packages: Path, place: Path, device: str, *, wide: bool, other: str = "") -> None:
        self.packages, self.place, self.device, self.wide = packages, place, device, wide
        #: the Python of Triton, where it is another one
        self.other = other

    def command(self, implementation: str) -> list[str]:
        """Command that starts a process."""
        python = self.other if implementation == "triton" and self.other else sys.executable
        kept = self.place / "kept" / implementation
        command = [python, "-W", "ignore", "-m", "integration.strangers.timed.worker", implementation]
        command += [str(self.packages), self.device, str(kept)]
        return command if self.wide else [*command, "--small"]

    def environment(self, gpu: int) -> Mapping[str, str]:
        """Caches of compiled kernels that are this run's own; one GPU; packages' own tuning off."""
        made = dict(os.environ)
        for project in PROJECTS.values():
            made |= project.environment
        caches = {"TRI_CACHE_DIR": str(self.place / "tri"), "TRITON_CACHE_DIR": str(self.place / "triton")}
        made |= caches | {"TORCHDYNAMO_DISABLE": "1", "OMP_NUM_THREADS": "1", "TRI_TRITON_VERSION": "3.6"}
        if self.device != "cpu":
            made["CUDA_VISIBLE_DEVICES"] = str(gpu)
        return made


class Process:
    """One process of an implementation on a GPU; it is started when it is asked something, and again behind its end."""

    def __init__(self, setting: Setting, implementation: str, gpu: int) -> None:
        self.setting, self.implementation, self.gpu = setting, implementation, gpu
        self._process: subprocess.Popen[bytes] | None = None
        self._fresh = True
        self._buffer = b""

    def start(self) -> None:
        """Start it, if it does not run."""
        if self._process is None:
            log = (self.setting.place / f"{self.implementation}-{self.gpu}-{time.monotonic_ns()}.log").open(
                "wb"
            )
            self._process = subprocess.Popen(
                self.setting.command(self.implementation),
                env=self.setting.environment(self.gpu),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
            log.close()
            self._buffer = b""
            self._fresh = True

    def send(self, do: str, **request: Any) -> None:
        """Ask something; :meth:`receive` gives the answer."""
        self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its end is the answer
            self._process.stdin.write(json.dumps({"do": do, **request}).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The answer to what was asked; how the process ended, where it did."""
        assert self._process is not None
        limit = time.monotonic() + _REQUEST + (_START if self._fresh else 0)
        self._fresh = False
        while (line := self._line(limit)) is not None:
            if line.startswith(ANSWER):
                answer: dict[str, Any] = json.loads(line.removeprefix(ANSWER))
                if answer["dead"]:
                    self.end()
                return answer
        status = self.end()
        return {"state": "ends the process", "reason": f"status {status}", "dead": True, "seconds": _REQUEST}

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self.send(do, **request)
        return self.receive()

    def _line(self, limit: float) -> str | None:
        assert self._process is not None
        assert self._process.stdout is not None
        file = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([file], [], [], max(0.0, limit - time.monotonic()))
            more = os.read(file, 1 << 16) if ready else b""
            if not more:
                return None
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()

    def end(self) -> int | None:
        """End it; its exit status, if it had ended itself."""
        process, self._process = self._process, None
        if process is None:
            return None
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        try:
            status = process.wait(5)
        except subprocess.TimeoutExpired:
            status = None
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
        return status
