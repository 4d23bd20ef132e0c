"""Compiles beside the requests: a worker makes what launches were refused.

The worker is a program of its own (:mod:`tri.serving.worker`), not a child of ``multiprocessing``: that would import the
serving program's main module once more.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from tri_core import forks, knobs
from tri_core.errors import BackendError, TriError

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.launch.jobs import CompileJob
    from tri_core.compiler import Attempt, CompiledKernel
    from tri_core.target import Target

__all__ = ["compile_meanwhile"]

logger = logging.getLogger("tri.serving")

#: seconds that a worker may take
_PATIENCE = 600.0

#: taken by the thread whose worker runs: one at a time, beside the requests
_turn = threading.Lock()
_lock = forks.Lock()
_under_way: set[tuple[str, str, str]] = set()


def _forget() -> None:
    global _turn
    _under_way.clear()
    _turn = threading.Lock()


# a forked child has not the threads that wait for workers
forks.in_child(_forget)


def compile_meanwhile(attempt: Attempt) -> bool:
    """Begin to compile in the background, once for equal attempts; False for sources that cannot be sent."""
    from tri.compiler.source import ASTSource

    source, options = attempt.source, attempt.options.to_json()
    if not isinstance(source, ASTSource):
        return False
    name = (source.fingerprint(), str(attempt.target), repr(options))
    with _lock:
        if name in _under_way:
            return True
        _under_way.add(name)
    arguments = (source, attempt.target, options, name)
    threading.Thread(target=_compile, args=arguments, name="tri-background", daemon=True).start()
    return True


def _compile(
    source: ASTSource, target: Target, options: dict[str, object], name: tuple[str, str, str]
) -> None:
    from tri.launch.jobs import make_job
    from tri_core.compiler import adopt

    try:
        # without the bundle nothing is refused
        with _turn, knobs.scope(BUNDLE=None):
            adopt(_made(make_job(source, target, options)), source, target, options)
        logger.info("%s is compiled for %s: launches find it now", source.name, target)
    except TriError as error:
        logger.warning("%s cannot be compiled for %s: %s", source.name, target, error)
    finally:
        with _lock:
            _under_way.discard(name)


def _made(job: CompileJob) -> CompiledKernel:
    """The kernel that a worker makes of ``job``; the TriError that it met."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TRI_BUNDLE")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tri.serving.worker"],
            input=pickle.dumps(job),
            capture_output=True,
            env=environment,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendError(f"the worker that was to compile {job.source.name} failed: {error}") from error
    if done.returncode:
        log = done.stderr.decode(errors="replace").strip()[-2000:]
        raise BackendError(
            f"the worker that was to compile {job.source.name} ended with {done.returncode}\n{log}"
        )
    made: CompiledKernel | TriError = pickle.loads(done.stdout)
    if isinstance(made, TriError):
        raise made
    return made
