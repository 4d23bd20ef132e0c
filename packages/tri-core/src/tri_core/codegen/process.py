"""One worker process seen from the parent: start, exchange of messages with a deadline, end."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import select
import subprocess
import sys
import time
from typing import Any

from tri_core.codegen import frames
from tri_core.errors import ToolchainError
from tri_core.scratch_files import scratch_file

__all__ = ["Worker", "WorkerDied", "WorkerLate"]

#: the program of the child: the search path comes first on its command line, LLVM's options after it
_BOOT = (
    "import sys; n = int(sys.argv[1]); sys.path[:0] = sys.argv[2:2 + n]; "
    "from tri_core.codegen.worker import main; main(sys.argv[2 + n:])"
)
_LOG_LIMIT = 64 << 10


class WorkerDied(Exception):
    """The worker ended: ``returncode`` as :mod:`subprocess` counts, ``log`` what it wrote on its way."""

    def __init__(self, returncode: int | None, log: str) -> None:
        super().__init__(returncode, log)
        self.returncode = returncode
        self.log = log


class WorkerLate(Exception):
    """The worker was not done in time."""


class Worker:
    """A process that runs LLVM with one set of global options.  One thread at a time may use it."""

    def __init__(self, llvm_options: tuple[str, ...] = ()) -> None:
        self.llvm_options = llvm_options
        self.ready = False
        self._log = scratch_file("tri-codegen-")  # lives as long as the worker
        try:
            self._process = subprocess.Popen(
                _command(llvm_options),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                bufsize=0,
                process_group=0,  # an interrupt at the terminal is for the user's process alone
            )
        except OSError as error:
            self._log.close()
            raise ToolchainError(
                f"the codegen worker cannot be started: {error}",
                remedy=f"check that {sys.executable!r} is a Python interpreter that can be run",
                tool="llvm",
                returncode=None,
                log="",
            ) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        _widen(self._input)
        _widen(self._output)
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True if the process still runs."""
        return self._process.poll() is None

    def exchange(self, message: dict[str, Any], deadline: float) -> dict[str, Any]:
        """The reply to ``message``; ``deadline`` is a time of :func:`time.monotonic`.

        Raises :class:`WorkerDied` or :class:`WorkerLate`; the worker is of no use after either.
        """
        self._log_start = os.fstat(self._log.fileno()).st_size if self.ready else 0
        self._send(frames.encode(message), deadline)
        if not self.ready:
            greeting: dict[str, Any] = self._receive(deadline)
            if "error" in greeting:  # LLVM knows an option not; the worker has left
                return greeting
            self.ready = True
        reply: dict[str, Any] = self._receive(deadline)
        return reply

    def log(self) -> str:
        """Output of LLVM to standard error since the last message was sent (its end, if long)."""
        descriptor = self._log.fileno()
        end = os.fstat(descriptor).st_size
        start = max(self._log_start, end - _LOG_LIMIT)
        return os.pread(descriptor, end - start, start).decode(errors="replace").strip()

    def close(self) -> None:
        """End the process, whatever it does, and give everything back."""
        self._process.kill()
        self._process.wait()
        self._close_files()

    def abandon(self) -> None:
        """Forget the process without touching it: in a forked child, it is the parent's."""
        self._process.returncode = 0  # keeps subprocess from waiting for, and warning of, another's child
        self._close_files()

    def _close_files(self) -> None:
        for file in (self._process.stdin, self._process.stdout, self._log):
            if file is not None:
                file.close()

    def _send(self, data: bytes, deadline: float) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._input, rest) :]
            except BlockingIOError:
                _await(self._input, select.POLLOUT, deadline)
            except BrokenPipeError:
                raise self._death() from None

    def _receive(self, deadline: float) -> Any:
        header = self._read(frames.HEADER_SIZE, deadline)
        return frames.decode(self._read(frames.body_size(header), deadline))

    def _read(self, size: int, deadline: float) -> bytes:
        chunks: list[bytes] = []
        while size:
            try:
                chunk = os.read(self._output, size)
            except BlockingIOError:
                _await(self._output, select.POLLIN, deadline)
                continue
            if not chunk:
                raise self._death()
            chunks.append(chunk)
            size -= len(chunk)
        return b"".join(chunks)

    def _death(self) -> WorkerDied:
        """Its pipes are closed: it ends, or has ended."""
        try:
            returncode = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            returncode = None
        return WorkerDied(returncode, self.log())


def _await(descriptor: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise WorkerLate


def _widen(pipe: int) -> None:
    """Room for a large module at once, where the system lets us ask for it."""
    with contextlib.suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)


def _command(llvm_options: tuple[str, ...]) -> list[str]:
    """Isolated and without ``site``: the start is on the user's way, and needs these folders only."""
    folders = [_folder_of("tri_core"), _folder_of("llvmlite")]
    return [sys.executable, "-I", "-S", "-c", _BOOT, str(len(folders)), *folders, *llvm_options]


def _folder_of(package: str) -> str:
    """The folder on the search path that holds ``package``."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ToolchainError(
            f"package {package!r} is missing, and code generation needs it",
            remedy=f"python -m pip install {package}",
            tool="llvm",
            returncode=None,
            log="",
        )
    return os.path.dirname(os.path.dirname(os.path.abspath(spec.origin)))
