"""Choosing a configuration of a kernel: ``autotune``, ``heuristics``, ``Config``."""

from __future__ import annotations

from tri.tuning.autotuner import Autotuner, autotune
from tri.tuning.config import Config
from tri.tuning.heuristics import Heuristics, heuristics

__all__ = ["Autotuner", "Config", "Heuristics", "autotune", "heuristics"]
