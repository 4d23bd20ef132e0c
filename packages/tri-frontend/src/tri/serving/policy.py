"""Policy for compiles while a bundle is served, and the launches that the bundle covers."""

from __future__ import annotations

import logging
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from tri_core import forks, knobs
from tri_core.errors import CompileRefused
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.cache.bundle import Bundle
    from tri_core.compiler import Attempt

__all__ = ["Coverage", "Missing", "Served", "gate", "serve"]

logger = logging.getLogger("tri.serving")

_lock = forks.Lock()
_missing: list[Missing] = []


@dataclass(frozen=True)
class Missing:
    """A compile that the bundle did not spare: the ``kernel``, its ``target``, and the ``reasons`` that made it new."""

    kernel: str
    target: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kernel} for {self.target}: {'; '.join(self.reasons)}"


@dataclass(frozen=True)
class Coverage:
    """Kernels of the bundle that this process has ``used`` and those that are ``unused``, and what was ``missing``."""

    used: tuple[str, ...]
    unused: tuple[str, ...]
    missing: tuple[Missing, ...]

    def __str__(self) -> str:
        count = len(self.used) + len(self.unused)
        lines = [
            f"{len(self.used)} of {count} kernels of the bundle used, {len(self.missing)} compiles it did not spare"
        ]
        return "\n".join([*lines, *(f"  {item}" for item in self.missing)])


class Served:
    """A bundle that is served until :meth:`close`, or the end of a ``with`` block; made by :func:`serve`."""

    def __init__(self, bundle: Bundle, before: dict[str, str | None]) -> None:
        self._bundle = bundle
        self._before = before
        self._first = len(_missing)

    def coverage(self) -> Coverage:
        """Versions that launches of this process used and missed since it is served."""
        names = self._bundle.kernels
        used = tuple(name for key, name in names.items() if key in self._bundle.used)
        unused = tuple(name for key, name in names.items() if key not in self._bundle.used)
        with _lock:
            return Coverage(used, unused, tuple(_missing[self._first :]))

    def close(self) -> None:
        """Serve it no more; kernels that were launched stay."""
        for name, value in self._before.items():
            knobs.assign(name, value)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve(
    bundle: str | Path,
    *,
    missing: Literal["refuse", "log", "background"] = "refuse",
    key: str | Path | None = None,
) -> Served:
    """Have launches, in this process and those that it starts, find their kernels in ``bundle``; BundleError where it is of no use.

    ``missing``: what a compile is from now on: refused (CompileRefused), logged with its reasons, or refused and done by
    a worker in the background, for later launches.  ``key``: a file with the key that the bundle has to be signed by.
    """
    from tri_core.cache.default import forget_bundles, open_bundle, served_bundle

    path = Path(bundle).expanduser().absolute()
    secret = None if key is None else Path(key).expanduser().absolute()
    open_bundle(path, secret, shared=knobs.get("CACHE_SHARED"))
    before = {name: knobs.assigned(name) for name in ("BUNDLE", "BUNDLE_KEY", "BUNDLE_MISSING")}
    forget_bundles()
    knobs.assign("BUNDLE", path)
    knobs.assign("BUNDLE_KEY", secret)
    knobs.assign("BUNDLE_MISSING", missing)
    served = served_bundle()
    assert served is not None
    return Served(served, before)


def gate(attempt: Attempt) -> None:
    """Note a compile that a served bundle did not spare, and log or refuse it."""
    from tri_core.cache.default import served_bundle

    if served_bundle() is None:
        return
    found = Missing(attempt.source.name, str(attempt.target), _reasons(attempt))
    with _lock:
        _missing.append(found)
    how = knobs.get("BUNDLE_MISSING")
    if how == "log":
        logger.warning("%s is compiled while a bundle is served: %s", found.kernel, "; ".join(found.reasons))
        return
    remedy = "record such a launch, and make the bundle again"
    if how == "background":
        from tri.serving.background import compile_meanwhile

        if compile_meanwhile(attempt):
            remedy = "launch it again later: it is compiled meanwhile"
    lines = "".join(f"\n  {line}" for line in found.reasons)
    raise CompileRefused(
        f"{found.kernel} would be compiled for {found.target} while a bundle is served:{lines}",
        remedy=remedy,
        reasons=found.reasons,
    )


def _reasons(attempt: Attempt) -> tuple[str, ...]:
    from tri.compile_reasons import reasons_of

    return reasons_of(attempt)
