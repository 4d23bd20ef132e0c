"""Worker processes that compile, kept from one use to the next.

They are programs of their own (:mod:`tri.launch.worker`) and no children of ``multiprocessing``, which would import the
user's main module once more.  What the front end has built goes to them, so that they need none of the user's modules.
"""

from __future__ import annotations

import atexit
import contextvars
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tri.launch.worker import HEADER_SIZE
from tri_core import forks, knobs
from tri_core.errors import BackendError, TriError
from tri_core.scratch_files import scratch_file

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.launch.jobs import CompileJob
    from tri_core.compiler import CompiledKernel
    from tri_core.target import Target

__all__ = ["Beside", "Worker", "begin", "most_workers", "worker"]

#: bytes of memory that a compile may take
_ROOM = 1 << 30
_LOG_LIMIT = 4096
#: what is the affair of the program that launches, not of those who compile for it
_OWN = ("TRI_BUNDLE", "TRI_RECORD", "TRI_COMPILE_WORKERS")

_lock = forks.Lock()
_idle: list[Worker] = []


def most_workers() -> int:
    """Maximum number of compiles beside this process: ``TRI_COMPILE_WORKERS``, else as many as cores and free
    memory have room for.
    """
    wanted = knobs.get("COMPILE_WORKERS")
    if wanted is not None:
        return max(int(wanted), 0)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores - 1, _free_memory() // _ROOM)


def _free_memory() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _ROOM


class Worker:
    """A process that compiles one job at a time."""

    def __init__(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        self._log = scratch_file("tri-compile-")  # lives as long as the worker
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tri.launch.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=environment,
                process_group=0,  # an interrupt at the terminal is for the user's process alone
            )
        except OSError as error:
            self._log.close()
            raise BackendError(
                f"a process that compiles cannot be started: {error}",
                remedy=f"check that {sys.executable!r} is a Python interpreter that can be run, or set TRI_COMPILE_WORKERS=0",
            ) from error

    @property
    def is_alive(self) -> bool:
        """True if it still runs."""
        return self._process.poll() is None

    def kernel(self, source: ASTSource, target: Target, options: Mapping[str, Any]) -> CompiledKernel:
        """The kernel of ``source``, compiled here unless memory or the store has it; the caller's process knows it then."""
        from tri.launch.jobs import make_job
        from tri_core.compiler import adopt, lookup

        found = lookup(source, target, options)
        if found is not None:
            return found
        return adopt(self.compile(make_job(source, target, options)), source, target, options)

    def compile(self, job: CompileJob) -> CompiledKernel:
        """The kernel of ``job``; the TriError that it met, BackendError where the worker ends."""
        assert self._process.stdin is not None
        body = pickle.dumps(job)
        try:
            self._process.stdin.write(len(body).to_bytes(HEADER_SIZE, "little") + body)
            self._process.stdin.flush()
            made: Any = pickle.loads(self._read(int.from_bytes(self._read(HEADER_SIZE), "little")))
        except (OSError, EOFError) as error:
            raise self._ended(job.source.name) from error
        if isinstance(made, TriError):
            raise made
        kernel: CompiledKernel = made
        return kernel

    def _read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        found = self._process.stdout.read(size)
        if len(found) < size:
            raise EOFError
        return found

    def _ended(self, name: str) -> BackendError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        end = os.fstat(self._log.fileno()).st_size
        log = (
            os.pread(self._log.fileno(), _LOG_LIMIT, max(end - _LOG_LIMIT, 0))
            .decode(errors="replace")
            .strip()
        )
        return BackendError(
            f"the process that compiled {name} ended with status {self._process.returncode}"
            + (f"\n{log}" if log else ""),
            remedy="compile it in this process to see why: TRI_COMPILE_WORKERS=0",
        )

    def kill(self) -> None:
        """End the process, whatever it does: who waits for its answer gets an error."""
        self._process.kill()

    def close(self) -> None:
        """End the process and give everything back."""
        self._process.kill()
        self._process.wait()
        self.abandon()

    def abandon(self) -> None:
        """Forget the process without touching it: in a forked child it is the parent's."""
        if self._process.returncode is None:
            self._process.returncode = 0  # keeps subprocess from waiting for another's child
        for file in (self._process.stdin, self._process.stdout, self._log):
            if file is not None:
                with suppress(OSError):
                    file.close()


class Beside(threading.Timer):
    """A call beside this thread, in a copy of its context, after ``delay`` seconds unless it is cancelled before."""

    def __init__(self, call: Callable[[], None], delay: float) -> None:
        super().__init__(delay, contextvars.copy_context().run, (call,))
        self.daemon = True


def begin(call: Callable[[], None], delay: float = 0.0) -> Beside:
    """Begin to ``call`` beside this thread; a forked child knows nothing of it, as nothing there waits for it."""
    made = Beside(call, delay)
    made.start()
    return made


@contextmanager
def worker() -> Iterator[Worker]:
    """A worker for the ``with`` block, kept for the next one; ended where the block is left by other errors than a job's own.

    BackendError where none can be started.
    """
    with _lock:
        found = next((w for w in reversed(_idle) if w.is_alive), None)
        if found is not None:
            _idle.remove(found)
    made = found or Worker()
    try:
        yield made
    except TriError:
        _keep(made)
        raise
    except BaseException:  # an interrupt, say: it would answer to nobody
        made.close()
        raise
    _keep(made)


def _keep(made: Worker) -> None:
    if not made.is_alive:
        made.close()
        return
    with _lock:
        _idle.append(made)


def close() -> None:
    """End the workers that are idle."""
    with _lock:
        workers = list(_idle)
        _idle.clear()
    for made in workers:
        made.close()


def _forget() -> None:
    for made in _idle:
        made.abandon()
    _idle.clear()


forks.in_child(_forget)
atexit.register(close)
