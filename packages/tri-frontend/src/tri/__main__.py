"""``python -m tri``: the ``tri`` command."""

from __future__ import annotations

from tri.cli import main

if __name__ == "__main__":
    main()
