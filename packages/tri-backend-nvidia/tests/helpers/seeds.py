"""Random numbers by what a test is of."""

from __future__ import annotations

import numpy as np


def seeded(*parts) -> np.random.Generator:
    return np.random.default_rng([ord(c) for part in parts for c in str(part)])
