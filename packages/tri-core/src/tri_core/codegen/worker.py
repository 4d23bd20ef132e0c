"""The worker: a process that reads jobs from its input, runs LLVM, and writes replies.

Started by :mod:`tri_core.codegen.process`, never by hand.  Whatever happens to it happens to it alone.
"""

from __future__ import annotations

import functools
import os
import select
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tri_core.codegen import frames

__all__ = ["main"]

_INPUT = 0


def main(llvm_options: Sequence[str]) -> None:
    """Serve jobs until the input closes, with LLVM's global options set to ``llvm_options``."""
    output = _private_output()
    _forbid_core_dumps()
    from tri_core.codegen.bindings import import_bindings

    import_bindings()
    from tri_core.codegen import llvm

    greeting = llvm.start(llvm_options)
    _write(output, greeting)
    if "error" in greeting:
        return
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    while (job := _read()) is not None:
        if job["isolated"]:
            _in_a_child(functools.partial(_serve, output, job))
        else:
            _serve(output, job)


def _serve(output: int, job: dict[str, Any]) -> None:
    from tri_core.codegen import llvm

    _write(output, llvm.run(job))


def _in_a_child(serve: Callable[[], None]) -> None:
    """Call ``serve`` in a fork of this process, whose LLVM has served no such job yet; die as the fork dies."""
    with warnings.catch_warnings():
        # the thread that the warning is about only waits for the parent's end
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        threading.Thread(target=_exit_with_parent, daemon=True).start()
        serve()
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    if code:
        os._exit(code)


def _private_output() -> int:
    """A descriptor for replies alone: what LLVM prints to standard output goes to standard error instead."""
    output = os.dup(1)
    os.dup2(2, 1)
    return output


def _forbid_core_dumps() -> None:
    """An abort of LLVM is reported by the parent; a core file would only take time and disk."""
    import resource

    # 1, not 0: the kernel hands a core to a piped handler for any limit but 1
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0 if hard == 0 else 1, hard))


def _exit_with_parent() -> None:
    """Leave at once when the parent is gone, also in the middle of a job.

    Polling for nothing reports a hang-up only, so this thread never competes for the input.  (A death signal
    from the kernel would come with the end of the parent's *thread*.)
    """
    poll = select.poll()
    poll.register(_INPUT, 0)
    poll.poll()
    os._exit(0)


def _read() -> dict[str, Any] | None:
    header = _read_exactly(frames.HEADER_SIZE)
    body = None if header is None else _read_exactly(frames.body_size(header))
    if body is None:
        return None
    job: dict[str, Any] = frames.decode(body)
    return job


def _read_exactly(size: int) -> bytes | None:
    """``size`` bytes of input, or None when it ends."""
    chunks: list[bytes] = []
    while size:
        chunk = os.read(_INPUT, size)
        if not chunk:
            return None
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def _write(output: int, value: object) -> None:
    data = memoryview(frames.encode(value))
    while data:
        data = data[os.write(output, data) :]


if __name__ == "__main__":
    main(sys.argv[1:])
