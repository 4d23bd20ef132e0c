"""``python -m tri_conformance``."""

from __future__ import annotations

import sys

from tri_conformance.cli import main

if __name__ == "__main__":  # processes that run cases import this module
    sys.exit(main())
