"""``python -m tri_conformance``."""

from __future__ import annotations

import sys

from tri_conformance.cli import main

sys.exit(main())
