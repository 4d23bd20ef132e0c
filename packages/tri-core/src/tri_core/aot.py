"""Ahead of time: how a C program gets at compiled kernels, as data that a backend contributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from tri_core.image import KernelImage
from tri_core.lazy_dataclasses import dataclass

__all__ = ["AotLauncher", "AotParameter"]


@dataclass(frozen=True)
class AotParameter:
    """A run-time parameter in C: its name, Triton's type (``*fp32``, ``i32``) and how C passes it."""

    name: str
    type: str
    ctype: str


@dataclass(frozen=True, kw_only=True)
class AotLauncher:
    """Template of a C launcher for images of a target.

    ``template``: jinja2 text of the C source (see ``docs/design/aot.md`` for what it is given).
    ``facts``: what the templates need to know of an image, JSON-able.  ``image_suffix``: the suffix of the
    image's file.  ``embed``: whether the image's bytes go into the source, else the file is linked.
    ``pointer`` and ``stream``: the C types of a pointer argument and of a stream; ``includes``: what the
    header includes for them; ``build``: how to make a program of the files, for people.  ``settled``: options that are so where
    nobody sets them (None), since C cannot launch what a backend would choose.
    """

    template: str
    facts: Callable[[KernelImage], Mapping[str, Any]]
    image_suffix: str
    embed: bool = True
    pointer: str = "void *"
    stream: str = "void *"
    includes: Sequence[str] = field(default_factory=tuple)
    build: str = ""
    settled: Mapping[str, Any] = field(default_factory=dict)
