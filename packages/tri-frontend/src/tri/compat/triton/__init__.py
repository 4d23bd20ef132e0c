"""``import triton`` means tri, for code that cannot be edited.

::

    import tri.compat.triton
    tri.compat.triton.install()       # before anything imports triton

    import triton
    import triton.language as tl      # tri.language, under Triton's names

Processes that this one starts afterwards have it, too (:mod:`tri.compat.triton.paths`).
``python -m tri.compat.triton script.py ...`` does it for a script, ``pytest -p tri.compat.triton.plugin`` for
a test-suite.  What is there, and what is refused, is written in ``docs/compat.md`` and, as data, in
:mod:`tri.compat.triton.table`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tri.compat.triton.current import current_target
from tri.compat.triton.finder import Finder, StandIn
from tri.compat.triton.paths import reach_children, release_children
from tri.compat.triton.table import VERSION
from tri.context import set_without_arrays
from tri_core import forks
from tri_core.errors import TriError, tell_places_in_functions

__all__ = ["TYPINGS", "VERSION", "install", "installed", "is_installed", "uninstall"]

#: stubs of the modules that stand in for Triton's: a folder for mypy's ``mypy_path``, pyright's ``stubPath``
TYPINGS = Path(__file__).parent / "typings"

_NAME = "triton"
_finder = Finder()
_lock = forks.RLock()


def is_installed() -> bool:
    """True if ``import triton`` means tri in this process, now."""
    return _finder in sys.meta_path


def install() -> None:
    """Make ``import triton`` and its submodules mean tri, from now on; once more does nothing.

    Raises TriError when the real package has been imported already: modules that hold its functions would
    go on using them.
    """
    with _lock:
        if is_installed():
            return
        present = sys.modules.get(_NAME)
        if present is not None and not isinstance(present, StandIn):
            where = getattr(present, "__file__", None) or "no file"
            raise TriError(
                f"triton has been imported already, from {where}",
                remedy="call tri.compat.triton.install() before anything imports triton (PyTorch's "
                "torch.compile and torch._inductor do), or start the program with "
                "python -m tri.compat.triton script.py",
            )
        # first: an installed triton must not be found before
        sys.meta_path.insert(0, _finder)
        reach_children()
        _settings().link()
        tell_places_in_functions(True)
        set_without_arrays(current_target)


def uninstall() -> None:
    """Undo :func:`install`: modules that imported the names keep them, new imports find what is installed."""
    with _lock:
        if _finder in sys.meta_path:
            sys.meta_path.remove(_finder)
            release_children()
            _settings().unlink()
            tell_places_in_functions(False)
            set_without_arrays(None)
        for name in [n for n, m in sys.modules.copy().items() if isinstance(m, StandIn)]:
            del sys.modules[name]


def _settings() -> Any:
    from tri.compat.triton import knobs

    return knobs


@contextmanager
def installed() -> Iterator[None]:
    """:func:`install` for a ``with`` block; leaves it installed when it was before."""
    before = is_installed()
    install()
    try:
        yield
    finally:
        if not before:
            uninstall()
