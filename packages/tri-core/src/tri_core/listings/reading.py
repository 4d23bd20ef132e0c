"""Syntax of source locations in a listing."""

from __future__ import annotations

import re

from tri_core.listings.assembly import read_assembly
from tri_core.listings.llvm import read_llvm
from tri_core.listings.modules import read_module
from tri_core.listings.places import Listing

__all__ = ["read_listing"]

_MODULE = re.compile(r'(?:#[^\n]*\n|//[^\n]*\n|\s)*"?(?:builtin\.)?module\b')
_LLVM = re.compile(r"^(?:define|declare|source_filename|target (?:triple|datalayout)|; ModuleID)\b", re.M)


def read_listing(text: str) -> Listing:
    """The lines of MLIR, LLVM IR or assembly with their places; none for a text of another kind."""
    if _MODULE.match(text):
        return read_module(text)
    if _LLVM.search(text):
        return read_llvm(text)
    return read_assembly(text)
