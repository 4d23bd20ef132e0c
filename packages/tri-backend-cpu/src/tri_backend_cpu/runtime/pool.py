"""The thread pool: helper threads that live in compiled code and never hold Python's lock there."""

from __future__ import annotations

import ctypes
import logging
import platform
import sys
import threading
from collections.abc import Callable

from tri_backend_cpu.runtime.arena import Arena
from tri_backend_cpu.runtime.pool_ir import ENTRY_LAUNCH, ENTRY_WORK, POOL_BYTES, POOL_IR
from tri_core import forks
from tri_runtime.loader import LoadedObject, load_ir

__all__ = ["ThreadPool"]

logger = logging.getLogger(__name__)

_PAUSE = {
    "x86_64": 'call void asm sideeffect "pause", ""()',
    "aarch64": 'call void asm sideeffect "yield", ""()',
}
_Launch = Callable[[int, int, int, int, int], None]


class ThreadPool:
    """Helpers for the threads that launch kernels; one launch at a time uses them, others run alone."""

    def __init__(self) -> None:
        self._busy = forks.Lock(waits=False)
        self._own = threading.local()
        self._helpers: list[Arena] = []
        self._slots: list[ctypes.c_void_p] = []
        self._memory = ctypes.create_string_buffer(POOL_BYTES + 64)
        self._pool = -(-ctypes.addressof(self._memory) // 64) * 64
        self._code: LoadedObject | None = None
        self._launch: _Launch | None = None
        self._work = 0
        self._most = sys.maxsize

    def run(
        self, kernel: int, alone: Callable[[int, int], None], task: int, arena_bytes: int, threads: int
    ) -> None:
        """Run the kernel at address ``kernel`` (``alone``: the same as a function) on ``threads`` threads."""
        own = self._arena(arena_bytes)
        if threads <= 1 or not self._busy.acquire(blocking=False):
            alone(task, own)
            return
        try:
            launch = self._launch or self._start()
            self._prepare(threads - 1, arena_bytes)
            launch(self._pool, kernel, task, own, threads - 1)
        finally:
            self._busy.release()

    def _arena(self, nbytes: int) -> int:
        """This thread's scratch memory."""
        arena: Arena | None = getattr(self._own, "arena", None)
        if arena is None:
            arena = self._own.arena = Arena()
        if nbytes > arena.size:
            arena.reserve(nbytes)
        return arena.address

    def _start(self) -> _Launch:
        """Compile the pool's code and set up its locks (zeroed memory is not one everywhere)."""
        text = POOL_IR.replace(
            "PAUSE", _PAUSE.get(platform.machine().lower().replace("arm64", "aarch64"), "")
        )
        self._code = load_ir(text, (ENTRY_WORK, ENTRY_LAUNCH))
        self._work, launch_address = self._code.addresses
        libc = ctypes.CDLL(None)
        libc.pthread_mutex_init(ctypes.c_void_p(self._pool), None)
        for offset in (128, 256):
            libc.pthread_cond_init(ctypes.c_void_p(self._pool + offset), None)
        kind = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 4, ctypes.c_int)
        self._launch = launch = kind(launch_address)
        return launch

    def _prepare(self, count: int, arena_bytes: int) -> None:
        """Have ``count`` helpers with scratch memory; nobody works now, since ``_busy`` is held."""
        while len(self._helpers) < min(count, self._most) and self._hire(arena_bytes):
            pass
        if self._helpers and arena_bytes > self._helpers[0].size:
            for arena, slot in zip(self._helpers, self._slots, strict=True):
                arena.reserve(arena_bytes)
                slot.value = arena.address

    def _hire(self, arena_bytes: int) -> bool:
        """Start one more helper; False where the system has no more threads, and those that there are do the work."""
        arena, slot = Arena(), ctypes.c_void_p(0)
        arena.reserve(arena_bytes)
        slot.value = arena.address
        work = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self._work)
        name = f"tri-cpu-{len(self._helpers) + 1}"
        helper = threading.Thread(
            target=work, args=(self._pool, ctypes.addressof(slot)), name=name, daemon=True
        )
        try:
            helper.start()
        except RuntimeError as error:
            self._most = len(self._helpers)
            logger.warning("kernels run on %d threads: %s", self._most + 1, error)
            return False
        if not self._helpers:
            # helpers use this memory and code until the process ends, longer than Python keeps what modules hold
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        self._helpers.append(arena)
        self._slots.append(slot)
        return True
