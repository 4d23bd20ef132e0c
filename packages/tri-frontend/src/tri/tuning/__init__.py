"""Choosing a configuration of a kernel: ``autotune``, ``heuristics``, ``Config``."""

from __future__ import annotations

from tri.tuning.autotuner import Autotuner, autotune
from tri.tuning.computed import Heuristics, heuristics
from tri.tuning.config import Config

__all__ = ["Autotuner", "Config", "Heuristics", "autotune", "heuristics"]
