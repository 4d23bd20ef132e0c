"""New packages out of templates: ``tri new-backend``."""

from __future__ import annotations

from tri.scaffolding.backend_project import TIERS, BackendProject, new_backend

__all__ = ["TIERS", "BackendProject", "new_backend"]
