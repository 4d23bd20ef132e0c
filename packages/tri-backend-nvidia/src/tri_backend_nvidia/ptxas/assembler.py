"""One run of ptxas.

The process is most of the cost, so as little as possible is added to it: files live in memory where the
system has a place for that, and the output is a file too, so that nothing waits on a pipe.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import select
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path

from tri_backend_nvidia.ptxas.location import Installed, unknown_architecture
from tri_backend_nvidia.ptxas.report import Usage, parse_usage, shared_overflow
from tri_backend_nvidia.ptxas.version import architectures_of_ptxas, version_of_ptxas
from tri_core.api import ToolchainError, TriError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Assembled", "assemble"]

logger = logging.getLogger(__name__)

_UNKNOWN = re.compile(r"Value '(\w+)' is not defined for option 'gpu-name'")
#: lines of PTX shown around the line that an error names
_CONTEXT = 2
#: milliseconds that a poll can take: an int of C
_LONGEST_POLL = (1 << 31) - 1


@dataclass(frozen=True)
class Assembled:
    """A cubin, what ptxas reported of it, and the report as text."""

    cubin: bytes
    usage: Usage
    log: str


def assemble(
    ptx: str,
    architecture: str,
    *,
    program: Path,
    kernel: str = "",
    options: tuple[str, ...] = (),
    timeout: float = 300.0,
) -> Assembled:
    """Assemble ``ptx`` for ``architecture`` (``"sm_90a"``).

    Raises ToolchainError with ptxas's words and the PTX lines they speak of, OutOfResources when the kernel
    asks for too much shared memory.
    """
    with tempfile.TemporaryDirectory(prefix="tri-ptxas-", dir=_fast_folder()) as folder:
        source, output, log = (Path(folder, name) for name in ("kernel.ptx", "kernel.cubin", "log"))
        source.write_text(ptx, encoding="utf-8")
        command = [str(program), "-v", f"-arch={architecture}", *options, str(source), "-o", str(output)]
        code = _run(command, log, timeout)
        text = log.read_text(encoding="utf-8", errors="replace")
        if code != 0 or not output.is_file():
            raise _failure(command, code, text, ptx, kernel)
        return Assembled(output.read_bytes(), parse_usage(text), text)


def _fast_folder() -> str | None:
    """A folder in memory, or None for the system's own choice."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None


def _run(command: list[str], log: Path, timeout: float) -> int:
    """The exit status (negative: killed by that signal); ToolchainError when it cannot start or end."""
    logger.debug("running %s", shlex.join(command))
    with log.open("wb") as sink:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
        except OSError as error:
            raise ToolchainError(
                f"ptxas at {command[0]} cannot be started: {error.strerror}",
                remedy="set TRI_NVIDIA_PTXAS to one that this machine can run",
                tool="ptxas",
                returncode=None,
                log="",
            ) from error
        with process:
            try:
                return _status_at_end(process, timeout)
            except subprocess.TimeoutExpired as error:
                process.kill()
                raise ToolchainError(
                    f"ptxas did not finish within {timeout:g} seconds",
                    remedy="smaller block sizes make smaller programs; TRI_NVIDIA_PTXAS_TIMEOUT sets the limit",
                    tool="ptxas",
                    returncode=None,
                    log="",
                ) from error


def _status_at_end(process: subprocess.Popen[bytes], timeout: float) -> int:
    """The exit status of ``process`` as soon as it has ended; TimeoutExpired after ``timeout`` seconds.

    ``Popen.wait`` with a limit sleeps twice as long each time, up to 50 ms: half of what ptxas takes for a small kernel is waited for in
    vain.  A descriptor of the process is ready when it has ended.
    """
    with contextlib.suppress(AttributeError, OSError):  # only Linux since 5.3 has them
        descriptor = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            if not poll.poll(min(timeout * 1000, _LONGEST_POLL)):
                raise subprocess.TimeoutExpired(process.args, timeout)
        finally:
            os.close(descriptor)
    return process.wait(timeout)


def _failure(command: list[str], code: int, log: str, ptx: str, kernel: str) -> TriError:
    overflow = shared_overflow(log, kernel or "?")
    if overflow is not None:
        return overflow
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"failed with status {code}"
    remedy = "this is a bug of the compiler unless the kernel has inline assembly: report it with the PTX"
    report = f"$ {shlex.join(command)}\n{log}"
    if unknown := _UNKNOWN.search(log):
        program = Path(command[0])
        installed = Installed(program, version_of_ptxas(program), architectures_of_ptxas(program))
        return unknown_architecture(unknown[1], [installed], report)
    if "Unsupported .version" in log:
        remedy = "pip install -U nvidia-cuda-nvcc, whose ptxas is newer, or pass a smaller ptx_version"
    return ToolchainError(
        f"ptxas {how} on kernel {kernel or '?'}:\n{_explained(log, ptx)}",
        remedy=remedy,
        tool="ptxas",
        returncode=code,
        log=report,
    )


def _explained(log: str, ptx: str) -> str:
    """The first errors of ``log``, each with the PTX line that it names."""
    lines = ptx.splitlines()
    shown: list[str] = []
    errors = [text for text in log.splitlines() if "error" in text or "fatal" in text]
    for text in errors[:3]:
        shown.append(text.strip())
        _, _, rest = text.partition(", line ")
        number = rest.partition(";")[0]
        if number.isdigit() and 0 < int(number) <= len(lines):
            first = max(int(number) - 1 - _CONTEXT, 0)
            shown += [
                f"    {i + 1}: {lines[i]}" for i in range(first, min(int(number) + _CONTEXT, len(lines)))
            ]
    return "\n".join(shown) or log.strip() or "it said nothing"
