"""Ahead of time: kernels as an image, a C header, a C launcher and a manifest, for programs without Python."""

from __future__ import annotations

from tri.aot.build import build
from tri.aot.link import link
from tri.aot.manifest import CParameter, Manifest
from tri.aot.signature import AotSource, parse

__all__ = ["AotSource", "CParameter", "Manifest", "build", "link", "parse"]
