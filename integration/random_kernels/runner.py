"""A process that runs kernels on our targets: one that crashes or hangs takes only itself along."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from integration.random_kernels.family import Kernel
from integration.random_kernels.values import Array

__all__ = ["Answer", "Runner"]

#: kernels after which the process is replaced: compiled code stays in memory
_SERVED = 400


@dataclass(frozen=True)
class Answer:
    """Result of a kernel on a target: its outputs, or the ``kind`` and text of the error."""

    outputs: Sequence[Array] | None
    kind: str = ""
    text: str = ""
    refused: bool = False


def _serve(connection: Connection) -> None:
    from integration.random_kernels.running import is_refusal

    while True:
        try:
            run, kernel, target, orders = connection.recv()
        except EOFError:
            return
        try:
            connection.send(Answer(run(kernel, target, **orders)))
        except Exception as error:
            text = getattr(error, "message", None) or str(error)
            connection.send(Answer(None, type(error).__name__, text, is_refusal(error)))


@dataclass
class Runner:
    """Asks the process, and starts it anew after it died or was too slow; ``run_by(kernel, target)`` is done there, with ``schedules`` where there are any; ``limit`` is in seconds."""

    run_by: Callable[..., Sequence[Array]]
    limit: float = 120.0
    _process: SpawnProcess | None = None
    _connection: Connection | None = None
    _served: int = 0
    _cache: tempfile.TemporaryDirectory[str] | None = field(default=None)

    def run(self, kernel: Kernel, target: str, schedules: int = 0) -> Answer:
        """Results of ``kernel`` on ``target``, in so many orders if it has several."""
        connection = self._connection or self._start()
        try:
            connection.send((self.run_by, kernel, target, {"schedules": schedules} if schedules else {}))
            if not connection.poll(self.limit):
                self.close()
                return Answer(None, "Hung", f"{target} took longer than {self.limit:.0f} s")
            answer: Answer = connection.recv()
            return answer
        except (EOFError, ConnectionError):
            assert self._process is not None
            self._process.join()
            code = self._process.exitcode
            self.close()
            return Answer(None, "Died", f"{target} ended the process with {code}")

    def end_of_kernel(self) -> None:
        """Replace the process when it has served long."""
        self._served += 1
        if self._served >= _SERVED:
            self.close()

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        self._cache = tempfile.TemporaryDirectory(prefix="random-kernels-cache-")
        before = os.environ.get("TRI_CACHE_DIR")
        os.environ["TRI_CACHE_DIR"] = self._cache.name
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        os.environ.pop("TRI_CACHE_DIR") if before is None else os.environ.update(TRI_CACHE_DIR=before)
        return self._connection

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._connection is not None:
            self._connection.close()
        if self._cache is not None:
            self._cache.cleanup()
        self._process = self._connection = self._cache = None
        self._served = 0
