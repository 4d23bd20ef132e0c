"""The workers of a process, and what their failures mean to the user."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
from typing import Any, ClassVar

from tri_core import forks, knobs
from tri_core.codegen.process import Worker, WorkerDied, WorkerLate
from tri_core.errors import CodegenCrash, InternalError, ToolchainError
from tri_core.pipeline import CodegenReply, CodegenRequest

__all__ = ["WorkerService"]

#: idle workers with other options that are kept beside those in demand
_SPARE = 3


class WorkerService:
    """Hands out worker processes, each serving one set of LLVM's global options; safe among threads.

    At most ``TRI_CODEGEN_WORKERS`` workers serve one option set; a compile that finds them busy waits for
    one.  The least recently used idle worker goes when there are too many option sets.
    """

    _instance: ClassVar[WorkerService | None] = None
    _instance_lock: ClassVar[forks.Lock] = forks.Lock()

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._idle: list[Worker] = []  # the least recently used first
        self._busy: list[Worker] = []

    @classmethod
    def of_this_process(cls) -> WorkerService:
        """The one service of this process."""
        with cls._instance_lock:
            if cls._instance is None:
                cls._instance = cls()
                atexit.register(cls._instance.close)
            return cls._instance

    def warm_up(self, llvm_options: tuple[str, ...] = ()) -> None:
        """Start a worker for ``llvm_options`` unless there is one; does not wait for it."""
        with self._changed:
            if not any(w.llvm_options == llvm_options for w in (*self._idle, *self._busy)):
                self._idle.append(Worker(llvm_options))
                self._evict()

    def compile(self, request: CodegenRequest) -> CodegenReply:
        """Optimise and emit ``request``.

        Raises ToolchainError when LLVM refuses the input, CodegenCrash when it took its process down, both
        with ``llvm_ir``; the next compile is served by a new worker.
        """
        timeout = knobs.get("CODEGEN_TIMEOUT") if request.timeout is None else request.timeout
        worker = self._acquire(request.llvm_options)
        try:
            reply = worker.exchange(_job(request), time.monotonic() + timeout)
        except WorkerDied as death:
            self._discard(worker)
            raise _crash(death, request, started=worker.ready) from None
        except WorkerLate:
            log = worker.log()
            self._discard(worker)
            raise _failure(
                request,
                f"LLVM was not done after {timeout:g} s",
                "raise TRI_CODEGEN_TIMEOUT, or make the kernel smaller",
                log,
            ) from None
        except BaseException:  # an interrupt, say: the worker would answer to nobody
            self._discard(worker)
            raise
        if worker.ready:
            self._release(worker)
        else:
            self._discard(worker)
        return _reply(reply, request)

    def workers(self) -> list[Worker]:
        """The workers that live now."""
        with self._changed:
            return [*self._idle, *self._busy]

    def close(self) -> None:
        """End all workers; a later compile starts new ones."""
        with self._changed:
            workers = [*self._idle, *self._busy]
            self._idle.clear()
            self._busy.clear()
        for worker in workers:
            worker.close()

    def _acquire(self, llvm_options: tuple[str, ...]) -> Worker:
        limit = max(1, knobs.get("CODEGEN_WORKERS"))
        with self._changed:
            while True:
                worker = self._take_idle(llvm_options)
                if worker is None and sum(w.llvm_options == llvm_options for w in self._busy) < limit:
                    worker = Worker(llvm_options)
                if worker is not None:
                    self._busy.append(worker)
                    return worker
                self._changed.wait()

    def _take_idle(self, llvm_options: tuple[str, ...]) -> Worker | None:
        """An idle worker that lives; those that were killed meanwhile are dropped."""
        for worker in reversed(self._idle.copy()):
            if worker.llvm_options != llvm_options:
                continue
            self._idle.remove(worker)
            if worker.alive:
                return worker
            worker.close()
        return None

    def _release(self, worker: Worker) -> None:
        with self._changed:
            if worker in self._busy:  # not closed meanwhile
                self._busy.remove(worker)
                self._idle.append(worker)
                self._evict()
            self._changed.notify()

    def _evict(self) -> None:
        limit = max(1, knobs.get("CODEGEN_WORKERS"))
        while len(self._idle) > limit + _SPARE:
            self._idle.pop(0).close()

    def _discard(self, worker: Worker) -> None:
        worker.close()
        with self._changed:
            if worker in self._busy:
                self._busy.remove(worker)
            self._changed.notify()

    @classmethod
    def _after_fork(cls) -> None:
        """In a forked child: the parent's workers are the parent's, and the service's lock may be held forever."""
        inherited, cls._instance = cls._instance, None
        if inherited is not None:
            atexit.unregister(inherited.close)
            for worker in (*inherited._idle, *inherited._busy):
                worker.abandon()


forks.in_child(WorkerService._after_fork)


def _job(request: CodegenRequest) -> dict[str, Any]:
    fields = dict(vars(request))
    fields["libraries"] = tuple(os.path.abspath(path) for path in request.libraries)
    return fields


def _reply(reply: dict[str, Any], request: CodegenRequest) -> CodegenReply:
    if "error" not in reply:
        return CodegenReply(**reply)
    phase, text = reply["phase"], reply["error"].strip()
    if phase == "internal":
        raise InternalError(f"the codegen worker failed:\n{text}")
    raise _failure(request, f"LLVM refused the module ({phase}): {text}", None, text)


def _failure(request: CodegenRequest, message: str, remedy: str | None, log: str) -> ToolchainError:
    return ToolchainError(
        message,
        remedy=remedy,
        tool="llvm",
        returncode=None,
        log=log,
        llvm_ir=request.llvm_ir,
        triple=request.triple,
        cpu=request.cpu,
        features=request.features,
    )


def _crash(death: WorkerDied, request: CodegenRequest, *, started: bool) -> CodegenCrash:
    """Error for a dead worker; ``started`` distinguishes a crash of LLVM from one before it was loaded."""
    how = _how(death.returncode)
    doing = "in its worker process" if started else "while its worker process started"
    reason = _reason(death.log)
    return CodegenCrash(
        f"LLVM {how} {doing}" + (f": {reason}" if reason else ""),
        remedy=_reproduction(request) if started else "look at the error's log, and free memory",
        tool="llvm",
        returncode=death.returncode,
        signal=_signal_name(death.returncode),
        log=death.log,
        llvm_ir=request.llvm_ir,
        triple=request.triple,
        cpu=request.cpu,
        features=request.features,
    )


def _how(returncode: int | None) -> str:
    name = _signal_name(returncode)
    if name == "SIGABRT":
        return "aborted"
    if name == "SIGKILL":
        return "was killed (SIGKILL: out of memory, or by somebody)"
    return f"ended with {name}" if name else f"exited with status {returncode}"


def _signal_name(returncode: int | None) -> str | None:
    if returncode is None or returncode >= 0:
        return None
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"


def _reason(log: str) -> str:
    """The line of ``log`` that says most: LLVM's own error, else the last one."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line.lower() or "assertion" in line.lower()]
    return (errors or lines[-1:] or [""])[0]


def _reproduction(request: CodegenRequest) -> str:
    """Instructions to reproduce the crash; the module is on the error, so no path is named."""
    options = [f"--triple {request.triple}", f"--opt-level {request.opt_level}"]
    options += [f"--cpu {request.cpu}"] if request.cpu else []
    options += [f"--features={request.features}"] if request.features else []
    options += [f"--emit {kind}" for kind in request.emit]
    options += [f"--llvm-option={option}" for option in request.llvm_options]
    return (
        "to reproduce, write the error's llvm_ir to a file k.ll and run: "
        f"python -m tri_core.codegen k.ll {' '.join(options)}"
    )
