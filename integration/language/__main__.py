"""``python -m integration.language``: probe all backends (or those named), and write ``docs/language.md``.

``coverage`` alone writes which rows of the conformance kit reach which name.
"""

from __future__ import annotations

import sys

from integration.language import coverage
from integration.language.probing import BACKENDS, probe_all
from integration.language.table import DOCUMENT, render, write_states


def main(arguments: list[str]) -> None:
    """Probe the backends in ``arguments``, all by default; ``table`` alone only writes the document."""
    if arguments == ["coverage"]:
        coverage.write()
        return
    for backend in (b for b in (arguments or BACKENDS) if b in BACKENDS):
        write_states(backend, probe_all(backend))
    DOCUMENT.write_text(render())


if __name__ == "__main__":
    main(sys.argv[1:])
