"""Builds a kernel in a helper process first, because a driver's compiler may end the process it runs in.

The helper is :mod:`tri_backend_intel.runtime.trial_worker`; what the driver prints there becomes the log.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import field
from typing import IO, cast

from tri_backend_intel.runtime.faults import wrong_on_cpu
from tri_backend_intel.runtime.found import FoundDevice
from tri_backend_intel.runtime.frames import read_frame, write_frames
from tri_backend_intel.spirv import read_module
from tri_core import forks, knobs
from tri_core.api import KernelImage, ToolchainError
from tri_core.cache import default_store
from tri_core.lazy_dataclasses import dataclass

__all__ = ["TrialBuilder", "Trials"]

#: reading the module and generating code for it, at a tenth of the time that optimising takes
_QUICK = "-cl-opt-disable"
_WORKER = "tri_backend_intel.runtime.trial_worker"


@dataclass
class TrialBuilder:
    """Trial builds for the device that ``selector`` names to ``driver``, in one process kept between them."""

    selector: str
    timeout: float = 120.0
    driver: str = "sycl"
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _log: IO[bytes] | None = field(default=None, init=False)
    #: whether the last build was stopped for taking too long
    _stopped: bool = field(default=False, init=False)
    _lock: forks.Lock = field(default_factory=lambda: forks.Lock(waits=False), init=False, repr=False)

    def __post_init__(self) -> None:
        forks.in_child(self._abandon)

    def check(self, name: str, data: bytes, options: str) -> None:
        """Build kernel ``name`` of SPIR-V module ``data``; ToolchainError, with the driver's log, on failure."""
        request = json.dumps(
            {"driver": self.driver, "device": self.selector, "name": name, "options": options}
        ).encode()
        with self._lock:
            fresh = self._process is None
            answer = self._ask(request, data)
            if answer is None and not fresh and not self._stopped:
                # what earlier builds left in the driver may have ended it: the verdict is a fresh process's
                self._reap()
                answer = self._ask(request, data)
            if answer == b"built":
                return
            log = self._take_log()
            if answer is not None:
                raise _refused(name, answer.decode(errors="replace"), log)
            code = self._reap()
            raise _too_slow(name, self.timeout) if self._stopped else _died(name, code, log)

    def close(self) -> None:
        """End the helper process."""
        atexit.unregister(self.close)
        self._reap()

    def _abandon(self) -> None:
        """In a forked child: the helper process is the parent's."""
        atexit.unregister(self.close)
        self._process = self._log = None

    def _ask(self, request: bytes, data: bytes) -> bytes | None:
        """The helper's answer, None when it died or was stopped for taking too long."""
        process = self._started()
        self._stopped = False
        watchdog = threading.Timer(self.timeout, self._stop, (process,))
        watchdog.start()
        try:
            write_frames(cast(IO[bytes], process.stdin), request, data)
            return read_frame(cast(IO[bytes], process.stdout))
        except BrokenPipeError:
            return None
        finally:
            watchdog.cancel()

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        self._stopped = True
        process.kill()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._reap()
            atexit.register(self.close)
            self._log = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the process
            environment = {**os.environ, "DPCTL_VERBOSITY": "error"}
            self._process = subprocess.Popen(
                [sys.executable, "-m", _WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=environment,
            )
        return self._process

    def _take_log(self) -> str:
        if self._log is None:
            return ""
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")
        self._log.seek(0)
        self._log.truncate()
        return text

    def _reap(self) -> int | None:
        process, self._process = self._process, None
        log, self._log = self._log, None
        if log is not None:
            log.close()
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        return process.wait(timeout=10)


class Trials:
    """Images that have been tried; a passed trial is remembered in tri's store, also for later processes."""

    def __init__(self) -> None:
        self._builders: dict[tuple[str, str], TrialBuilder] = {}

    def refuse_wrong(self, image: KernelImage, device: FoundDevice) -> None:
        """ToolchainError when ``device`` is known to compute something in ``image`` wrong, unless trials are off."""
        if device.is_cpu and knobs.get("INTEL_TRIAL_BUILD") != "never":
            builtin = wrong_on_cpu(image.data)
            if builtin is not None:
                raise _wrong(image.metadata.name, builtin)

    def before_build(self, image: KernelImage, device: FoundDevice, options: str) -> None:
        """Try ``image`` as the knob ``INTEL_TRIAL_BUILD`` says; ToolchainError when the driver cannot build it."""
        when = knobs.get("INTEL_TRIAL_BUILD")
        # what the user wrote for the machine ends a driver's compiler where it is wrong
        assembly = when == "auto" and "AsmINTEL" in read_module(image.data).capabilities
        if when == "never" or (when == "auto" and not device.is_cpu and not assembly):
            return
        if when == "auto" and not assembly:
            options = _QUICK
        identity = f"{device.info.name}|{device.facts.driver_version}|{options}|{image.metadata.name}|"
        key = "intel-trial-" + hashlib.sha256(identity.encode() + image.data).hexdigest()
        store = default_store()
        if store.get(key) is None:
            self._builder(device).check(image.metadata.entry, image.data, options)
            store.put(key, b"built")

    def _builder(self, device: FoundDevice) -> TrialBuilder:
        key = device.driver, device.facts.selector
        if key not in self._builders:
            timeout = knobs.get("CODEGEN_TIMEOUT")
            self._builders[key] = TrialBuilder(device.facts.selector, timeout, device.driver)
        return self._builders[key]


def _too_slow(name: str, seconds: float) -> ToolchainError:
    return ToolchainError(
        f"the driver's compiler took longer than {seconds:g} s for kernel {name} and was stopped",
        remedy="use more warps or smaller blocks, which make less code; TRI_CODEGEN_TIMEOUT allows more time",
        tool="SYCL",
        returncode=None,
        log="",
    )


def _died(name: str, code: int | None, log: str) -> ToolchainError:
    words = (
        f"the driver's compiler died while it built kernel {name} (exit status {code}); this process lives on"
    )
    return ToolchainError(
        f"{words}\n{log.strip()}".rstrip(),
        remedy="a bug of the driver: change the kernel or the driver's version",
        tool="SYCL",
        returncode=code,
        log=log,
    )


def _wrong(name: str, builtin: str) -> ToolchainError:
    return ToolchainError(
        f"kernel {name} calls {builtin} of 64-bit integers, which this driver computes wrong in masked lanes",
        remedy="use tl.umulhi, which needs no builtin; TRI_INTEL_TRIAL_BUILD=never runs the kernel as it is",
        tool="SYCL",
        returncode=None,
        log="",
    )


def _refused(name: str, reason: str, log: str) -> ToolchainError:
    return ToolchainError(
        f"the driver cannot compile kernel {name}: {reason}\n{log.strip()}".rstrip(),
        remedy="the SPIR-V is in the compiled kernel's asm['spv']",
        tool="SYCL",
        returncode=None,
        log=log,
    )
