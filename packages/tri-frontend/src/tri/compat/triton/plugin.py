"""For pytest: ``-p tri.compat.triton.plugin`` makes ``import triton`` mean tri before tests are collected."""

from __future__ import annotations

from tri.compat.triton import install

install()
