"""The thread pool: helper threads that live in compiled code and never hold Python's lock there."""

from __future__ import annotations

import ctypes
import logging
import platform
import sys
import threading
from collections.abc import Callable
from threading import get_ident

from tri_backend_cpu.runtime.arena import Arena
from tri_backend_cpu.runtime.pool_ir import ENTRIES, POOL, POOL_IR
from tri_backend_cpu.runtime.watch import Watch
from tri_core import forks
from tri_runtime.loader import LoadedObject, load_ir

__all__ = ["ThreadPool"]

logger = logging.getLogger(__name__)

_PAUSE = {
    "x86_64": 'call void asm sideeffect "pause", ""()',
    "aarch64": 'call void asm sideeffect "yield", ""()',
}
#: (pool, kernel, task, arena, helpers, flag)
_Run = Callable[[int, int, int, int, int, int], None]


class _Own(threading.local):
    """State of a launching thread."""

    arena: Arena | None = None


class ThreadPool:
    """Helpers for the threads that launch kernels; one launch at a time uses them, others run alone.

    A forked child has none of them, and hires its own.
    """

    def __init__(self) -> None:
        self._watch = Watch()
        self._starting = forks.Lock()
        self._code: LoadedObject | None = None
        self._run: _Run | None = None
        self._take: Callable[[int], int] = lambda pool: 0
        self._give: Callable[[int], None] = lambda pool: None
        self._work = self._start_address = 0
        # the same in a forked child, as compiled code that launches knows where it is
        self._memory = ctypes.create_string_buffer(POOL.size + 64)
        self._pool = -(-ctypes.addressof(self._memory) // 64) * 64
        self._state = POOL.structure.from_address(self._pool)
        self._renew()
        forks.in_child(self._renew)

    def _renew(self) -> None:
        """No helper yet."""
        ctypes.memset(self._pool, 0, POOL.size)
        self._own = _Own()
        #: scratch memory of launches by compiled code
        self._shared: Arena | None = None
        self._helpers: list[Arena] = []
        #: bytes of scratch memory that every helper has
        self._arena_bytes = 0
        self._slots: list[ctypes.c_void_p] = []
        self._most = sys.maxsize
        if self._code is not None:
            self._init_locks()

    def run(self, kernel: int, task: int, arena_bytes: int, threads: int) -> None:
        """Run the kernel at address ``kernel`` on ``threads`` threads, this one among them.

        In the main thread, signals are handled meanwhile; what a handler raises is raised here when no thread works
        on the task any more.
        """
        run = self._run or self._start()
        watch, own, flag = self._watch, self._own, 0
        counts = watch.counts
        main = get_ident() == watch.main
        if main:
            counts.begun += 1
            counts.depth += 1
            flag = watch.address if counts.awake or watch.wake() else 0
        # not to be found by a launch in a signal's handler, while this one uses it
        arena, own.arena = own.arena or Arena(), None
        try:
            if arena_bytes > arena.size:
                arena.reserve(arena_bytes)
            if (threads <= 1 and self._is_ready(arena_bytes)) or not self._take(self._pool):
                run(self._pool, kernel, task, arena.address, 0, flag)
                return
            try:
                self._prepare(threads - 1, arena_bytes)
                run(self._pool, kernel, task, arena.address, threads - 1, flag)
            finally:
                self._give(self._pool)
        finally:
            own.arena = arena
            if main:
                counts.depth -= 1

    def _start(self) -> _Run:
        """Load the pool's code, once, and set up its locks (zeroed memory is not one everywhere)."""
        with self._starting:
            return self._run or self._loaded()

    def _loaded(self) -> _Run:
        text = POOL_IR.replace(
            "PAUSE", _PAUSE.get(platform.machine().lower().replace("arm64", "aarch64"), "")
        )
        self._code = load_ir(text, ENTRIES)
        self._work, address, take, give, self._start_address = self._code.addresses
        self._init_locks()
        self._take = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(take)
        self._give = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(give)
        # it gives Python's lock back itself
        kind = ctypes.PYFUNCTYPE(None, *(ctypes.c_void_p,) * 4, ctypes.c_int, ctypes.c_void_p)
        self._run = run = kind(address)
        return run

    def _init_locks(self) -> None:
        libc = ctypes.CDLL(None)
        libc.pthread_mutex_init(ctypes.c_void_p(self._pool), None)
        for signal in ("task_signal", "done_signal"):
            libc.pthread_cond_init(ctypes.c_void_p(self._pool + POOL.offset(signal)), None)

    def places(self) -> tuple[int, int, int]:
        """Addresses of the function that launches for compiled code, of the pool, and of what the watch counts."""
        _ = self._run or self._start()
        return self._start_address, self._pool, self._watch.address

    def _is_ready(self, arena_bytes: int) -> bool:
        """True if compiled code finds the scratch memory that such a launch needs."""
        return self._shared is not None and arena_bytes <= self._arena_bytes

    def _prepare(self, count: int, arena_bytes: int) -> None:
        """Have ``count`` helpers with scratch memory; nobody works now, since the pool is taken."""
        if arena_bytes > self._arena_bytes:
            for arena, slot in zip(self._helpers, self._slots, strict=True):
                arena.reserve(arena_bytes)
                slot.value = arena.address
            self._arena_bytes = arena_bytes
        shared = self._shared = self._shared or Arena()
        shared.reserve(self._arena_bytes)
        while len(self._helpers) < min(count, self._most) and self._hire():
            pass
        state = self._state
        state.arena, state.arena_bytes, state.hired = shared.address, self._arena_bytes, len(self._helpers)

    def _hire(self) -> bool:
        """Start one more helper; False where the system has no more threads, and those that there are do the work."""
        arena, slot = Arena(), ctypes.c_void_p(0)
        arena.reserve(self._arena_bytes)
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
