"""``python -m integration.strangers.timed.worker IMPLEMENTATION FOLDER DEVICE KEPT [--small]``: a process that runs units on request.

A line of JSON comes for each request, and one goes back, after :data:`ANSWER`.  ``check`` runs a unit once in poisoned memory and compares it with its
reference; ``turn`` times it; ``keep`` writes what its kernels were compiled to below ``KEPT``.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from integration.published.limits import limited

__all__ = ["ANSWER", "IMPLEMENTATIONS", "Worker", "main"]

ANSWER = "@timed "
IMPLEMENTATIONS = ("tri", "triton")
#: seconds for one request
_LIMIT = 45
#: configurations of tuners that are tried
_CONFIGURATIONS = 4
_SAMPLES = 2048
#: what a device says after which it does nothing more in this process
_DEAD = ("CUDA error", "CUDA_ERROR", "KernelFault", "misaligned address", "illegal memory", "launch failure")
_TEXTS = ("ttgir", "ptx")


class Worker:
    """The units in this process, and the trials of the one that it runs."""

    def __init__(
        self, folder: Path, device: str, kept: Path, *, wide: bool, tuners: Any, functions: Any
    ) -> None:
        from integration.strangers.timed.units import units

        self.device, self.kept = device, kept
        self.tuners, self.functions = tuners, functions
        self.units = {unit.name: unit for unit in units(folder, device, wide=wide)}
        self._now: tuple[str, int, int] | None = None
        self._trials: list[Any] = []

    def listed(self) -> dict[str, Any]:
        """All units."""
        return {"units": {name: unit.heavy for name, unit in self.units.items()}}

    def _take(self, name: str, config: int, level: int) -> None:
        if self._now == (name, config, level):
            return
        import torch

        from integration.strangers.timed import clock

        self._now, self._trials = None, []
        clock.freed(self.device)
        torch.manual_seed(0)
        self.tuners.use(config)
        self._trials = self.units[name].trials(level)
        if not self._trials:
            raise LookupError("nothing is compared")
        self._now = name, config, level

    def check(self, unit: str, config: int = 0, level: int = 0, *, judge: bool = True) -> dict[str, Any]:
        """Run ``unit`` with configuration ``config``, or the next one that works."""
        for number in range(config, config + _CONFIGURATIONS):
            try:
                return {"config": number, **self._checked(unit, number, level, judge=judge)}
            except Exception as error:
                last = number == config + _CONFIGURATIONS - 1
                if last or "OutOfResources" not in f"{type(error).__name__} {error}":
                    raise
        raise AssertionError

    def _checked(self, unit: str, config: int, level: int, *, judge: bool) -> dict[str, Any]:
        from integration.strangers.timed import clock, trials

        errors: list[tuple[str, float, float]] = []
        samples: list[list[float]] = []
        shapes = []
        self._take(unit, config, level)
        for number, trial in enumerate(self._trials):
            clock.poison(self.device)
            got = trial.run()
            made = trials.tensors(got)
            samples += [_sampled(t) for t in made]
            shapes.append([list(t.shape) for t in made])
            want = trial.wanted() if judge else None
            if want is not None:
                errors += [(f"{number}.{n}", e, t) for n, e, t in trials.judged(got, want)]
        file = self.kept / f"{hashlib.sha256(unit.encode()).hexdigest()[:16]}-{os.getpid()}.json"
        file.write_text(json.dumps(samples))
        wide = [trial.wide for trial in self._trials]
        return {"errors": errors, "samples": str(file), "shapes": shapes, "wide": wide}

    def turn(self, unit: str, config: int = 0, level: int = 0, repeats: int = 3) -> dict[str, Any]:
        """Microseconds of the unit's kernels by name."""
        from integration.strangers.timed import clock

        self._take(unit, config, level)

        def run() -> None:
            for trial in self._trials:
                trial.run()

        run()
        return {"times": clock.by_kernel(run, self._names(), self.device, repeats)}

    def _kernels(self) -> Iterator[Any]:
        """Kernels compiled in this process."""
        for function in self.functions:
            for caches in list(getattr(function, "device_caches", {}).values()):
                yield from list((caches[0] if isinstance(caches, tuple) else caches).values())

    def _names(self) -> set[str]:
        made = {str(kernel.name) for kernel in self._kernels() if hasattr(kernel, "name")}
        return made | {str(f.__name__) for f in self.functions}

    def keep(self, unit: str, names: list[str]) -> dict[str, Any]:
        """Write the texts of the kernels ``names``, and what is known of each version."""
        found: dict[str, list[dict[str, Any]]] = {}
        for kernel in self._kernels():
            name = getattr(kernel, "name", "")
            if name not in names:
                continue
            versions = found.setdefault(name, [])
            place = self.kept / unit.replace("/", "_") / name
            place.mkdir(parents=True, exist_ok=True)
            for text in _TEXTS:
                if text in kernel.asm:
                    (place / f"{len(versions)}.{text}").write_text(str(kernel.asm[text]))
            versions.append(_facts(kernel))
        return {"versions": found}


def _facts(kernel: Any) -> dict[str, Any]:
    """Warps, stages, shared memory and registers, as far as known."""
    options = getattr(kernel.metadata, "options", {})
    found = {}
    for fact in ("num_warps", "num_stages", "num_ctas", "shared"):
        value = getattr(kernel.metadata, fact, None)
        found[fact] = options.get(fact) if value is None and isinstance(options, dict) else value
    return found | {n: getattr(kernel, n, None) for n in ("n_regs", "n_spills")}


def _sampled(tensor: Any) -> list[float]:
    """Numbers of a tensor, evenly spaced."""
    flat = tensor.detach().reshape(-1)
    if not flat.numel() or flat.is_complex():
        return []
    found: list[float] = flat[:: max(1, flat.numel() // _SAMPLES)].cpu().double().tolist()
    return found


def _reason(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/integration/" not in f.filename and "/triton/" not in f.filename]
    last = (own or frames)[-1]
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words[:240]} ({Path(last.filename).name}:{last.lineno})"


def _answer(worker: Worker, request: dict[str, Any]) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        with limited(_LIMIT):
            made = getattr(worker, request.pop("do"))(**request)
        state, reason = "ok", ""
    except Exception as error:
        if os.environ.get("PUBLISHED_TRACEBACKS"):
            traceback.print_exc()
        made, reason = {}, _reason(error)
        from integration.published.operators.operator import NoArguments

        state = "no arguments" if isinstance(error, NoArguments) else "fails"
    dead = any(words in reason for words in _DEAD)
    return {"state": state, "reason": reason, "dead": dead, "seconds": time.perf_counter() - started, **made}


def _allocated(size: int, alignment: int, stream: int | None) -> Any:
    """Memory that a kernel asks for, such as for descriptors that it makes."""
    del alignment, stream
    import torch

    return torch.empty(size, dtype=torch.int8, device="cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def _functions() -> Iterator[list[Any]]:
    """All kernels that are made in the ``with`` block."""
    kind = importlib.import_module("triton.runtime.jit").JITFunction
    whole, made = kind.__init__, list[Any]()

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        whole(self, *args, **kwargs)
        made.append(self)

    with mock.patch.object(kind, "__init__", init):
        yield made


def main(implementation: str, folder: Path, device: str, kept: Path, *, wide: bool) -> None:
    """Answer requests until there are no more."""
    logging.disable(logging.WARNING)
    if implementation == "tri":
        importlib.import_module("tri.compat.triton").install()
    importlib.import_module("triton").set_allocator(_allocated)
    from integration.published.guards import guarded
    from integration.published.tuning import untuned

    # packages print, too
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.path.append(str(folder))
    kept.mkdir(parents=True, exist_ok=True)
    with guarded(device), _functions() as functions, untuned() as tuners:
        worker = Worker(folder, device, kept, wide=wide, tuners=tuners, functions=functions)
        for line in sys.stdin:
            answer = _answer(worker, json.loads(line))
            answers.write(f"{ANSWER}{json.dumps(answer)}\n")
            answers.flush()
            if answer["dead"]:
                return


if __name__ == "__main__":
    main(
        sys.argv[1],
        Path(sys.argv[2]).resolve(),
        sys.argv[3],
        Path(sys.argv[4]),
        wide="--small" not in sys.argv,
    )
